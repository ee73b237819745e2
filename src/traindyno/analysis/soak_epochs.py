"""What epochs do to a run: a first one that is unlike the others, and the pause between two."""

from collections.abc import Sequence
from itertools import pairwise

from traindyno.analysis.intervals import median, median_interval
from traindyno.analysis.soak_drift import Point
from traindyno.analysis.soak_run import SoakRun
from traindyno.core.base import Record

LEAST_EFFECT = 0.02
LEAST_PART = 0.5
FEWEST_POINTS = 3
LEAST_LEVEL = 0.1


class FirstEpoch(Record, frozen=True):
    """`ratio` above 1: the first epoch was faster than the later ones. `clear`: it is not chance."""

    ratio: float
    clear: bool


class Pause(Record, frozen=True):
    """The usual pause between epochs, and its share of the time from one edge to the next."""

    seconds: float
    share: float | None
    edges: int


def first_epoch(run: SoakRun, drift_percent: float = 0.0) -> FirstEpoch | None:
    """The first epoch's rate by that of the later ones; null before a second one is half over.

    A drift, in percent per minute, is taken out: what is lost bit by bit would make the first epoch look fast.
    """
    first, *later = _epochs(run, drift_percent)
    later = [points for points in later if len(points) >= max(FEWEST_POINTS, LEAST_PART * len(first))]
    if not later or len(first) < FEWEST_POINTS:
        return None
    rates = [median([rate for _, rate in points]) for points in later]
    own = median([rate for _, rate in first])
    apart = own < min(rates) * (1 - LEAST_EFFECT) or own > max(rates) * (1 + LEAST_EFFECT)
    return FirstEpoch(ratio=own / median(rates), clear=apart and _intervals_apart(first, later))


def pause_between(run: SoakRun) -> Pause | None:
    """The median pause; null in a run without an edge."""
    edges = run.soak.epochs
    if not edges:
        return None
    seconds = median([edge.pause_seconds for edge in edges])
    lengths = [b.at_seconds - a.at_seconds for a, b in pairwise(edges)] or [edges[0].at_seconds]
    return Pause(seconds=seconds, share=seconds / median(lengths) if median(lengths) > 0 else None, edges=len(edges))


def _epochs(run: SoakRun, drift_percent: float) -> list[list[Point]]:
    """The points of each epoch without the drift, the last epoch maybe unfinished."""
    cuts = [0.0, *(edge.at_seconds for edge in run.soak.epochs), run.seconds]
    middle = (run.settled_from + run.seconds) / 2
    level = [(at, rate / max(LEAST_LEVEL, 1 + drift_percent * (at - middle) / 6000)) for at, rate in run.points]
    return [[point for point in level if start <= point[0] < end] for start, end in pairwise(cuts)]


def _intervals_apart(first: Sequence[Point], later: Sequence[Sequence[Point]]) -> bool:
    one = median_interval([rate for _, rate in first])
    other = median_interval([rate for points in later for _, rate in points])
    return one[1] < other[0] or one[0] > other[1]
