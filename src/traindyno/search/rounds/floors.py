"""When a run is ended early: where it is worse at half its length than half of its arm's runs were."""

import math
from collections.abc import Iterable, Sequence
from statistics import median_high, median_low

from traindyno.core.learning import Evaluation, Learning
from traindyno.core.records import TrialRecord
from traindyno.core.rounds import Floor, Round

FEWEST_RUNS = 5
"""That have come to their end before any is ended early."""


def floors_for(round: Round, arm: str, finished: Iterable[TrialRecord]) -> tuple[Floor, ...]:
    """What a new run of an arm must have reached half-way.

    The arm's other runs set it, those that were themselves ended early among them: if only survivors did, it would
    rise with every run.
    """
    metric = round.metric.name
    if not round.prune or round.job.function is not None or metric not in ("accuracy", "loss"):
        return ()
    runs = [run for record in finished if (run := _learning(record, arm)) is not None]
    lengths = [run.examples for run in runs if not run.pruned]
    if len(lengths) < FEWEST_RUNS:
        return ()
    half = math.ceil(median_low(lengths) / 2)
    values = _values_at(half, runs, metric)
    if len(values) < FEWEST_RUNS:
        return ()
    middle = median_low(values) if metric == "accuracy" else median_high(values)
    return (Floor(examples=half, metric="accuracy" if metric == "accuracy" else "loss", value=middle),)


def _learning(record: TrialRecord, arm: str) -> Learning | None:
    """A searching run of the arm that kept its numbers."""
    draw, measurement = record.spec.draw, record.measurement
    if draw is None or draw.arm != arm or draw.phase not in ("search", "exploit") or not record.ok:
        return None
    learning = None if measurement is None else measurement.learning
    return None if learning is None or learning.diverged else learning


def _values_at(examples: int, runs: Sequence[Learning], metric: str) -> list[float]:
    places = (next((each for each in run.evaluations if each.examples >= examples), None) for run in runs)
    values = (_value(place, metric) for place in places if place is not None)
    return [value for value in values if value is not None and math.isfinite(value)]


def _value(evaluation: Evaluation, metric: str) -> float | None:
    return evaluation.accuracy if metric == "accuracy" else evaluation.loss
