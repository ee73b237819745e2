"""How many batches of a loader a trial takes: those that were ready before the clock started must not count."""

import msgspec

from traindyno.core.base import Record
from traindyno.core.loading import GPU_DECODER
from traindyno.core.records import Settings

LEAST_BLOCKS = 8
OVERTIME = 2.0
"""What a slow step may not fit often enough into the trial's time for is given so many times that on top."""

FIRST_STEPS = 3
"""They may compile, tune, allocate and record graphs for far longer than a step takes, while workers go on."""

BLOCK_SECONDS = 0.25
SETTLING_SECONDS = 1.5
"""On top for a GPU that decodes: its first dozens of batches take longer than those that follow."""

UNCOUNTED = 5
"""One block in so many, the first ones, is left to what is not yet as it will be."""

LEADING_WORKERS = 4
"""With fewer of them there is little to wait for, and what they have ready says little."""


class Pace(Record, frozen=True):
    """Workers run ahead of the clock, so `discarded` batches go first, and more for `settling_seconds`; they deliver
    in turn, so blocks are multiples of `turn` batches; and at least `measured` batches are timed.

    Workers that have `lead` batches ready wait for the step; null where that cannot be told so.
    """

    discarded: int
    turn: int
    measured: int
    settling_seconds: float = 0.0
    lead: int | None = None


def pace_of(settings: Settings) -> Pace:
    """Discard twice what workers may have ready, and measure three times that.

    Workers that are slower than the step finish a batch each while it takes as many, and have fewer than that ready.
    Where each has one ready beside the one that it is at, it is the step that is waited for.
    """
    ahead = settings.num_workers * settings.prefetch_factor
    may_lead = settings.num_workers >= LEADING_WORKERS and settings.prefetch_factor > 1
    settling = SETTLING_SECONDS if settings.decoder == GPU_DECODER else 0.0
    return Pace(
        discarded=max(2, 2 * ahead),
        turn=max(1, settings.num_workers),
        measured=max(3, 3 * ahead),
        settling_seconds=settling,
        lead=ahead - settings.num_workers if may_lead else None,
    )


def ahead_of_step(pace: Pace) -> Pace:
    """Where workers wait for the step it matters no more in which turns they deliver, once all of them have."""
    return msgspec.structs.replace(pace, turn=1, measured=pace.turn)


def block_steps(pace: Pace, step_seconds: float) -> int:
    """Whole turns that last long enough for the clock; one at least."""
    return max(1, round(BLOCK_SECONDS / max(step_seconds, 1e-6) / pace.turn)) * pace.turn


def flow_seconds(settings: Settings, step_seconds: float, seconds: float, *, waits: bool = True) -> float:
    """What a trial of so many seconds takes from its first batch on, if its steps take so long and are hard to tell.

    Where training does not wait for its data, workers are seen to be ahead after a turn in which they make what was let
    go, and another.
    """
    pace, first = pace_of(settings), FIRST_STEPS if settings.num_workers else 0
    if pace.lead is not None and not waits:
        pace = msgspec.structs.replace(ahead_of_step(pace), discarded=2 * pace.turn)
    blocks = max(LEAST_BLOCKS * block_steps(pace, step_seconds), pace.measured * UNCOUNTED / (UNCOUNTED - 1))
    timed = min(max(seconds, blocks * step_seconds), (1 + OVERTIME) * seconds)
    return (first + pace.discarded) * step_seconds + pace.settling_seconds + timed
