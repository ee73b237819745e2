"""What a fed step loses: time that it waits, and time that it takes longer without waiting.

On a CPU the wait is timed by the very process that computes, so the two are told apart. On a GPU the host runs ahead,
and what that waits says nothing of the device: all of the difference counts as waiting there.
"""

import math
from collections.abc import Sequence

from traindyno.analysis.intervals import median
from traindyno.analysis.loader_trials import measurement_of
from traindyno.analysis.second_look import has_drifted, slowest_look
from traindyno.analysis.stall_runs import COLD, HOST_CACHED, RESIDENT, WARM, Runs, measured, step_of
from traindyno.analysis.stall_shares import Difference, difference, half_of, over_rounds, rate_of, rounds_of
from traindyno.core.base import Record
from traindyno.core.loading import Loading
from traindyno.core.records import TrialRecord


class Losses(Record, frozen=True):
    """Of the step fed by the warm loader: `stall` is all that it waits, `loading` for the loader and `moving` for its
    batch to be moved. `slower` is what it takes longer beside the loader without waiting, null where that is not told.

    `drift` is how many times as long the step by itself took after its loader had run as before; null unless that may
    be all of `slower`. `moving_drift` is the same of cached batches and `moving`.
    """

    stall: Difference
    loading: Difference
    moving: Difference | None = None
    slower: Difference | None = None
    drift: float | None = None
    moving_drift: float | None = None


def losses_of(runs: Runs) -> Losses | None:
    """Null without the runs that show a stall."""
    stall, moving = difference(runs, WARM, RESIDENT, WARM), difference(runs, HOST_CACHED, RESIDENT, WARM)
    shorter = HOST_CACHED if measured(runs, HOST_CACHED) else RESIDENT
    loading = difference(runs, WARM, shorter, WARM)
    if stall is None or loading is None:
        return None
    moving_drift = _drift_behind(runs, HOST_CACHED, RESIDENT) if moving is not None and moving.counts else None
    parted = _parted(runs, WARM, shorter)
    if parted is None:
        return Losses(stall=stall, loading=loading, moving=moving, moving_drift=moving_drift)
    waiting, slower = parted
    return Losses(
        stall=_without_slower(runs, shorter),
        loading=waiting,
        moving=moving,
        slower=slower,
        drift=_drift_behind(runs, WARM, shorter) if slower.counts or slower.is_open else None,
        moving_drift=moving_drift,
    )


def storage_wait(runs: Runs) -> Difference | None:
    """What a cold step waits longer than a warm one, as a share of the cold; null without a cold run."""
    parted = _parted(runs, COLD, WARM)
    return difference(runs, COLD, WARM, COLD) if parted is None else parted[0]


def run_wait_seconds(runs: Runs, name: str) -> float | None:
    """What a step of a fed run waited for its batch; null on a GPU, and where it was not told."""
    fed = [record for record in measured(runs, name) if record.spec.kind == "feed"]
    known = [wait for record in fed if (wait := _wait_seconds(record)) is not None]
    return median(known) if known else None


def _wait_seconds(record: TrialRecord) -> float | None:
    """Nothing for a batch that stays on the device."""
    if record.spec.settings.device != "cpu":
        return None
    return _told(record).wait_seconds if record.spec.kind == "feed" else 0.0


def _parted(runs: Runs, longer: str, shorter: str) -> tuple[Difference, Difference] | None:
    """The part of a difference that is waited for, and the rest; null where one of the runs does not tell its wait.

    A step waits no more than it takes longer: beyond that the two runs differ by chance.
    """
    rounds = rounds_of(runs, (longer, shorter))
    waits = [_wait_share(long, short) for long, short in rounds]
    known = [wait for wait in waits if wait is not None]
    if not rounds or len(known) < len(rounds):
        return None
    shares = [_share(long, short, long) for long, short in rounds]
    waiting = [min(wait, share) for wait, share in zip(known, shares, strict=True)]
    slower = [share - wait for wait, share in zip(waiting, shares, strict=True)]
    steps = [rate_of(long).step_seconds for long, _ in rounds]
    own_halves = [half_of(rate_of(long)) / step for (long, _), step in zip(rounds, steps, strict=True)]
    return over_rounds(waiting, own_halves, steps), over_rounds(slower, _halves(rounds), steps)


def _without_slower(runs: Runs, shorter: str) -> Difference:
    """All that a step of the warm loader is waiting, be it for the loader or for its batch to be moved."""
    rounds = rounds_of(runs, (WARM, shorter, RESIDENT))
    shares, steps = [], [rate_of(warm).step_seconds for warm, _, _ in rounds]
    for warm, short, resident in rounds:
        slower = max(0.0, _share(warm, short, warm) - (_wait_share(warm, short) or 0.0))
        shares.append(_share(warm, resident, warm) - slower)
    return over_rounds(shares, _halves([(warm, resident) for warm, _, resident in rounds]), steps)


def _drift_behind(runs: Runs, longer: str, shorter: str) -> float | None:
    """The drift of a run's step by itself, if no more than that may be what it takes longer without waiting."""
    drifts = [drift for record in measured(runs, longer) if (drift := _told(record).resident_drift) is not None]
    alone, rounds = step_of(runs, RESIDENT), rounds_of(runs, (longer, shorter))
    if not drifts or alone is None or not has_drifted(drift := median(drifts)):
        return None
    beyond = [_slower_than_looks(long, short, alone[0]) for long, short in rounds]
    left = over_rounds(beyond, _halves(rounds), [rate_of(long).step_seconds for long, _ in rounds])
    return None if left.counts else drift


def _slower_than_looks(long: TrialRecord, short: TrialRecord, alone: float) -> float:
    """As a share of the step: what is left if the step by itself took as long as in the slower of its two looks."""
    told, step = _told(long), rate_of(long).step_seconds
    slowest = slowest_look(told.resident_step_seconds or alone, told.resident_drift)
    drifted = max(0.0, slowest - alone)
    return _share(long, short, long) - (_wait_share(long, short) or 0.0) - drifted / step


def _share(long: TrialRecord, short: TrialRecord, whole: TrialRecord) -> float:
    return (rate_of(long).step_seconds - rate_of(short).step_seconds) / rate_of(whole).step_seconds


def _wait_share(long: TrialRecord, short: TrialRecord) -> float | None:
    """What a step of one waits longer than a step of the other, as a share of it."""
    more, less = _wait_seconds(long), _wait_seconds(short)
    return None if more is None or less is None else (more - less) / rate_of(long).step_seconds


def _halves(rounds: Sequence[tuple[TrialRecord, ...]]) -> list[float]:
    """How far off the difference of two trials may be, as a share of the longer step."""
    rates = [(rate_of(long), rate_of(short)) for long, short in rounds]
    return [math.hypot(half_of(long), half_of(short)) / long.step_seconds for long, short in rates]


def _told(record: TrialRecord) -> Loading:
    return measurement_of(record).loading or Loading()
