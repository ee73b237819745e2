"""How many batches of a loader a trial takes: those that were ready before the clock started must not count."""

from msgspec.structs import replace

from traindyno.core.base import Record
from traindyno.core.loading import GPU_DECODER
from traindyno.core.records import Settings

LEAST_BLOCKS = 8
OVERTIME = 2.0
"""What a slow step may not fit often enough into the trial's time for is given so many times that on top."""

BLOCK_SECONDS = 0.25
LONG_TURN_SECONDS = 1.0
HARDLY_WAITED = 0.01
"""A share of the step."""

SETTLING_SECONDS = 1.5
"""On top for a GPU that decodes: its first dozens of batches take longer than those that follow."""

UNCOUNTED = 5
"""One block in so many, the first ones, is left to what is not yet as it will be."""


class Pace(Record, frozen=True):
    """Workers run ahead of the clock, so `discarded` batches go first, and more for `settling_seconds`; they deliver
    in turn, so blocks of about `block_seconds` are multiples of `turn` batches; and at least `measured` are timed.
    """

    discarded: int
    turn: int
    measured: int
    settling_seconds: float = 0.0
    block_seconds: float = BLOCK_SECONDS


def pace_of(settings: Settings) -> Pace:
    """Discard twice what workers may have ready, and measure three times that."""
    ahead = settings.num_workers * settings.prefetch_factor
    settling = SETTLING_SECONDS if settings.decoder == GPU_DECODER else 0.0
    return Pace(
        discarded=max(2, 2 * ahead),
        turn=max(1, settings.num_workers),
        measured=max(3, 3 * ahead),
        settling_seconds=settling,
    )


def block_steps(pace: Pace, step_seconds: float) -> int:
    """Whole turns that last long enough for the clock; one at least."""
    return max(1, round(pace.block_seconds / max(step_seconds, 1e-6) / pace.turn)) * pace.turn


def pace_of_slow_steps(pace: Pace, step_seconds: float, waited_seconds: float) -> Pace:
    """Where a turn is long and hardly anything is waited for, blocks need not be whole turns.

    Whose turn it is makes no difference then, and whole turns would be too few to tell how far they differ.
    """
    is_long = pace.turn * step_seconds > LONG_TURN_SECONDS
    if not is_long or waited_seconds > HARDLY_WAITED * step_seconds:
        return pace
    return replace(pace, turn=1, block_seconds=LONG_TURN_SECONDS)


def flow_seconds(settings: Settings, step_seconds: float, seconds: float) -> float:
    """What a trial of so many seconds takes from its first batch on, if its steps take so long and are hard to tell."""
    pace = pace_of(settings)
    blocks = max(LEAST_BLOCKS * block_steps(pace, step_seconds), pace.measured * UNCOUNTED / (UNCOUNTED - 1))
    timed = min(max(seconds, blocks * step_seconds), (1 + OVERTIME) * seconds)
    return pace.discarded * step_seconds + pace.settling_seconds + timed
