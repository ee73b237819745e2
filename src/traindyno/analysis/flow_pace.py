"""How many batches of a loader a trial takes: those that were ready before the clock started must not count."""

from traindyno.core.base import Record
from traindyno.core.loading import GPU_DECODER
from traindyno.core.records import Settings

LEAST_BLOCKS = 8
OVERTIME = 2.0
"""What a slow step may not fit often enough into the trial's time for is given so many times that on top."""

BLOCK_SECONDS = 0.25
SETTLING_SECONDS = 1.5
"""On top for a GPU that decodes: its first dozens of batches take longer than those that follow."""

UNCOUNTED = 5
"""One block in so many, the first ones, is left to what is not yet as it will be."""


class Pace(Record, frozen=True):
    """Workers run ahead of the clock, so `discarded` batches go first, and more for `settling_seconds`; they deliver
    in turn, so blocks are multiples of `turn` batches; and at least `measured` batches are timed.
    """

    discarded: int
    turn: int
    measured: int
    settling_seconds: float = 0.0


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
    return max(1, round(BLOCK_SECONDS / max(step_seconds, 1e-6) / pace.turn)) * pace.turn


def flow_seconds(settings: Settings, step_seconds: float, seconds: float) -> float:
    """What a trial of so many seconds takes from its first batch on, if its steps take so long and are hard to tell."""
    pace = pace_of(settings)
    blocks = max(LEAST_BLOCKS * block_steps(pace, step_seconds), pace.measured * UNCOUNTED / (UNCOUNTED - 1))
    timed = min(max(seconds, blocks * step_seconds), (1 + OVERTIME) * seconds)
    return pace.discarded * step_seconds + pace.settling_seconds + timed
