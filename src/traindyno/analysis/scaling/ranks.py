"""The ranks of a group side by side, and which of them the others wait for.

Whatever disturbs a whole trial disturbs all of its ranks, so they are compared inside each trial.
"""

from collections.abc import Sequence

from traindyno.analysis.intervals import combine_processes, median, ratio_interval
from traindyno.analysis.scaling.ways import Way
from traindyno.core.answers.scaling import RankRow
from traindyno.core.base import Record
from traindyno.core.scaling import RankReading, Scaling
from traindyno.core.units import format_seconds

STRAGGLES = 0.05


class Seat(Record, frozen=True):
    """A place in the group, the same in every trial: nodes may be numbered anew each time."""

    node: str
    number: int


def rank_rows(way: Way) -> tuple[RankRow, ...]:
    """Every rank over all trials, with stragglers marked."""
    trials = [_by_seat(scaling) for scaling in way.scalings]
    seats = dict.fromkeys(seat for trial in trials for seat in trial)
    rows = [_row(seat, [trial for trial in trials if seat in trial]) for seat in seats]
    return tuple(sorted(rows, key=lambda row: row.rank))


def _by_seat(scaling: Scaling) -> dict[Seat, RankReading]:
    found: dict[Seat, RankReading] = {}
    for reading in sorted(scaling.ranks, key=lambda each: each.rank):
        number = sum(seat.node == reading.node for seat in found)
        found[Seat(reading.node, number)] = reading
    return found


def _row(seat: Seat, trials: Sequence[dict[Seat, RankReading]]) -> RankRow:
    own = [trial[seat] for trial in trials]
    seconds, interval = combine_processes([each.step_seconds for each in own], [each.ci95 for each in own])
    others = [[each for other, each in trial.items() if other != seat] for trial in trials]
    straggles = _is_slower(own, others)
    return RankRow(
        rank=own[0].rank,
        node=own[0].node,
        device=own[0].device,
        step_seconds=seconds,
        ci95=interval,
        load_seconds=_load(own),
        against_median=median([_against_all(each, trial) for each, trial in zip(own, trials, strict=True)]),
        straggles=straggles,
        because=_why(own, others) if straggles else None,
    )


def _against_all(own: RankReading, trial: dict[Seat, RankReading]) -> float:
    return own.step_seconds / median([each.step_seconds for each in trial.values()])


def _is_slower(own: Sequence[RankReading], others: Sequence[Sequence[RankReading]]) -> bool:
    """Than the one in the middle of the others of its trial, by 5 % and beyond chance."""
    if not all(others):
        return False
    pairs = [(_middle(rest), each) for each, rest in zip(own, others, strict=True)]
    ratios = [ratio_interval(one.step_seconds, one.ci95, other.step_seconds, other.ci95) for one, other in pairs]
    ratio, (low, _) = combine_processes([each[0] for each in ratios], [each[1] for each in ratios])
    return ratio > 1 + STRAGGLES and low > 1


def _why(own: Sequence[RankReading], others: Sequence[Sequence[RankReading]]) -> str:
    """Waiting for batches, if that is most of what it loses."""
    load, usual = _load(own), _load([each for rest in others for each in rest])
    lost = median([each.step_seconds - _middle(rest).step_seconds for each, rest in zip(own, others, strict=True)])
    if load is not None and usual is not None and load - usual > lost / 2:
        return f"waits {format_seconds(load)} per step for its batches"
    return "computes more slowly"


def _load(readings: Sequence[RankReading]) -> float | None:
    known = [each.load_seconds for each in readings if each.load_seconds is not None]
    return median(known) if known else None


def _middle(readings: Sequence[RankReading]) -> RankReading:
    return sorted(readings, key=lambda each: each.step_seconds)[(len(readings) - 1) // 2]
