"""The target by itself: the best that each of its values can be expected to give, its nuisances optimised away.

Arms are compared at an equal number of draws, for the best of more is better. Only the plain search counts: runs that
were placed where others had been good are no draws from the same space. Arms with the same parameters have the same
points, so their difference is known better than either: a lucky point is lucky for both.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from traindyno.analysis.rounds.best_of_k import expected_best, half_widths, turned_scores
from traindyno.analysis.rounds.words import bounds_of
from traindyno.core.answers.rounds import IsolationRow
from traindyno.core.round_space import arms_of, incumbent_of, label_of
from traindyno.core.rounds import Round, RoundTrial, Value


def isolate(
    round_: Round, draws: Mapping[str, Sequence[RoundTrial]], seed_spread: float | None = None
) -> tuple[IsolationRow, ...]:
    """One row for each arm, from its draws; an arm without a single score has no figures."""
    k = min((len(each) for each in draws.values() if each), default=0)
    reference = reference_arm(round_)
    rows = {arm: _row(round_, arm, k, draws[arm], seed_spread) for arm in arms_of(round_)}
    return tuple(
        row if arm == reference else _beside(round_, row, rows[reference], draws, seed_spread)
        for arm, row in rows.items()
    )


def reference_arm(round_: Round) -> str:
    """The arm that others are compared with: the incumbent's, or the first where it is in none."""
    arms = arms_of(round_)
    own = incumbent_arm(round_)
    return arms[0] if own is None else own


def incumbent_arm(round_: Round) -> str | None:
    """The arm whose value of the target the incumbent has; null where it is in none."""
    if round_.target is None:
        return arms_of(round_)[0]
    value = incumbent_of(round_).get(round_.target.field)
    return label_of(value) if value is not None and label_of(value) in arms_of(round_) else None


def _row(round_: Round, arm: str, k: int, draws: Sequence[RoundTrial], seed_spread: float | None) -> IsolationRow:
    found = expected_best(round_, draws, seed_spread)
    if not found.expected:
        return IsolationRow(arm=arm, k=k, expected_best=None, ci95=None)
    value, half = found.expected[k - 1], found.half_width[k - 1]
    low, high = bounds_of(round_.metric)
    return IsolationRow(arm=arm, k=k, expected_best=value, ci95=(max(low, value - half), min(high, value + half)))


def _beside(
    round_: Round,
    row: IsolationRow,
    reference: IsolationRow,
    draws: Mapping[str, Sequence[RoundTrial]],
    seed_spread: float | None,
) -> IsolationRow:
    if row.expected_best is None or reference.expected_best is None:
        return row
    first, second = draws[reference.arm], draws[row.arm]
    common = _common(round_, first, second)
    if common.shape[1] == min(len(first), len(second)):
        half = half_widths(common, seed_spread)[row.k - 1]
    else:
        half = math.hypot(*(expected_best(round_, each, seed_spread).half_width[row.k - 1] for each in (first, second)))
    difference = row.expected_best - reference.expected_best
    around = (difference - half, difference + half)
    return msgspec.structs.replace(row, difference=difference, difference_ci95=around)


def _common(round_: Round, first: Sequence[RoundTrial], second: Sequence[RoundTrial]) -> Any:
    """Both arms' scores, one row each, at the points that they have in common."""
    import numpy

    places = {_point(round_, each): place for place, each in enumerate(first)}
    pairs = [(places.get(_point(round_, each)), place) for place, each in enumerate(second)]
    found = [(one, two) for one, two in pairs if one is not None]
    one, two = turned_scores(round_, first), turned_scores(round_, second)
    return numpy.array([[one[place] for place, _ in found], [two[place] for _, place in found]])


def _point(round_: Round, trial: RoundTrial) -> tuple[str, int, frozenset[tuple[str, Value]]]:
    """What a draw was made of, apart from the target."""
    target = None if round_.target is None else round_.target.name
    values = frozenset((name, value) for name, value in trial.draw.values.items() if name != target)
    return trial.draw.branch, trial.draw.index, values
