"""Who is first, and whether that can be told: the one with the least median against each of the others.

A crossing is known only to lie between two evaluations. Whoever is called sooner is so even if all the others crossed
right after the evaluation before.

The leader is chosen by the same data. To be told from all others is so rare by chance that correcting for as many
others suffices for a winner. Where there is none, each single difference is one of those between any two.
"""

import math
from collections.abc import Mapping, Sequence

import msgspec

from traindyno.analysis.survival import LEVEL, Difference, compare_times, holm, median_time, needed_seeds
from traindyno.core.answers import RowComparison
from traindyno.core.base import Record

FIRST, NOT_TOLD_APART, BEHIND = "sooner", "not told apart", "later"
TOO_NEAR = "nearer than evaluations tell"


class Crossings(Record, frozen=True):
    """When each run was seen to have arrived, and when it had not yet at the latest; infinite for those that missed."""

    seen: tuple[float, ...]
    not_before: tuple[float, ...]


class Standing(Record, frozen=True):
    """`leader` has the least median; `winner` is the same, once all others can be told from it.

    `needed_seeds` are about how many would tell the leader from those that differ by chance alone; null where there
    are none of these, or where no sensible number would do.
    """

    leader: str | None
    winner: str | None = None
    comparisons: tuple[RowComparison, ...] = ()
    needed_seeds: int | None = None

    def others(self, verdict: str) -> list[str]:
        """Those that compare with the leader in this way."""
        return [each.second for each in self.comparisons if each.verdict == verdict]


def standing_of(crossings: Mapping[str, Crossings]) -> Standing:
    """The leader against each of the others by the log-rank test, corrected for how many there are."""
    medians = {label: median_time(of_label.seen) for label, of_label in crossings.items()}
    leader = min(medians, key=lambda label: medians[label], default=None)
    if leader is None or math.isinf(medians[leader]):
        return Standing(leader=None)
    first, others = crossings[leader], [label for label in crossings if label != leader]
    found = [_compared(first, crossings[label]) for label in others]
    told = _corrected(found, len(others))
    wins = bool(others) and all(each.verdict == FIRST for each in told)
    if not wins:
        told = _corrected(found, math.comb(len(crossings), 2))
    equals = [label for label, each in zip(others, told, strict=True) if each.verdict == NOT_TOLD_APART]
    return Standing(
        leader=leader,
        winner=leader if wins else None,
        comparisons=tuple(
            RowComparison(
                first=leader,
                second=label,
                difference=medians[label] - medians[leader],
                ci95=None,
                p_value=each.at_worst.p_value,
                verdict=each.verdict,
            )
            for label, each in zip(others, told, strict=True)
        ),
        needed_seeds=_needed(first.seen, [crossings[label].seen for label in equals], len(others)),
    )


class _Compared(Record, frozen=True):
    """The first as seen against what the second may have been at its soonest, both as seen, and the other way round."""

    at_worst: Difference
    as_seen: Difference
    at_best: Difference

    @property
    def verdict(self) -> str:
        """The least median may belong to one that misses so often that another is sooner on the whole."""
        if self.at_worst.p_value < LEVEL and self.at_worst.sooner:
            return FIRST
        if self.at_best.p_value < LEVEL and not self.at_best.sooner:
            return BEHIND
        return TOO_NEAR if self.as_seen.p_value < LEVEL and self.as_seen.sooner else NOT_TOLD_APART


def _compared(first: Crossings, second: Crossings) -> _Compared:
    return _Compared(
        at_worst=compare_times(first.seen, second.not_before),
        as_seen=compare_times(first.seen, second.seen),
        at_best=compare_times(first.not_before, second.seen),
    )


def _corrected(found: Sequence[_Compared], tests: int) -> list[_Compared]:
    """The same, had there been so many tests."""
    at_worst = _holm([each.at_worst for each in found], tests)
    as_seen = _holm([each.as_seen for each in found], tests)
    at_best = _holm([each.at_best for each in found], tests)
    parts = zip(at_worst, as_seen, at_best, strict=True)
    return [_Compared(at_worst=worst, as_seen=seen, at_best=best) for worst, seen, best in parts]


def _holm(found: Sequence[Difference], tests: int) -> list[Difference]:
    p_values = holm([each.p_value for each in found], tests)
    return [msgspec.structs.replace(each, p_value=p_value) for each, p_value in zip(found, p_values, strict=True)]


def _needed(first: Sequence[float], equals: Sequence[Sequence[float]], comparisons: int) -> int | None:
    needed = [needed_seeds(first, each, comparisons) for each in equals]
    known = [seeds for seeds in needed if seeds is not None]
    return max(known) if known and len(known) == len(needed) else None
