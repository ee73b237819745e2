"""How long training takes, before and after, and what another batch asks of the learning rate."""

import math
from collections.abc import Sequence

import msgspec

from traindyno.analysis.intervals import median
from traindyno.core.answers.find import Finalist, TrainingTime
from traindyno.core.answers.interval import Interval
from traindyno.core.records import OptimizerName, TrialRecord
from traindyno.core.requests import FindRequest


def training_time(
    request: FindRequest,
    examples: int | None,
    baseline: tuple[Finalist, Sequence[TrialRecord]],
    recommended: tuple[Finalist, Sequence[TrialRecord]],
) -> TrainingTime | None:
    """Null where no epochs were asked for, or nobody knows how many examples an epoch has."""
    if request.epochs is None or examples is None:
        return None
    before, after = (_seconds(request.epochs, examples, *each) for each in (baseline, recommended))
    return TrainingTime(
        epochs=request.epochs,
        examples=examples,
        baseline_seconds=before[0],
        baseline_ci95=before[1],
        seconds=after[0],
        ci95=after[1],
        epoch_seconds=after[0] / request.epochs,
    )


def _seconds(epochs: float, examples: int, found: Finalist, records: Sequence[TrialRecord]) -> tuple[float, Interval]:
    """All examples at the rate, and the loader's start at every epoch, or once where its workers persist."""
    starts = 1.0 if found.settings["persistent_workers"] else max(1.0, math.ceil(epochs))
    waiting = starts * _start_up_seconds(records) if found.settings["num_workers"] else 0.0
    low, high = found.ci95
    total = epochs * examples
    return total / found.examples_per_second + waiting, (total / high + waiting, total / low + waiting)


def _start_up_seconds(records: Sequence[TrialRecord]) -> float:
    told = [record.measurement.loading for record in records if record.measurement is not None]
    known = [each.start_up_seconds for each in told if each is not None and each.start_up_seconds is not None]
    return median(known) if known else 0.0


def rate_factor(batch_size: int, own: int, optimizer: OptimizerName) -> float:
    """By rule: linear for SGD, the square root for Adam and its kin."""
    grown = batch_size / own
    return grown if optimizer == "sgd" else math.sqrt(grown)


def with_rate(found: Finalist, request: FindRequest) -> Finalist:
    """A finalist of another batch says what that asks of the learning rate, and of the rest."""
    own, workload = request.settings.batch_size, request.workload
    if found.batch_size == own or workload.mode == "infer":
        return found
    factor = None if workload.runs_user_code else rate_factor(found.batch_size, own, workload.optimizer)
    advice = _advice(found.batch_size, own, None if factor is None else workload.optimizer)
    warning = (
        f"the batch changes from {own} to {found.batch_size}: multiply the learning rate by {advice}, "
        "and tune momentum and regularisation again"
    )
    return msgspec.structs.replace(
        found,
        learning_rate_factor=factor,
        learning_rate=_scaled(request.learning_rate, factor),
        warnings=(*found.warnings, warning),
    )


def _scaled(rate: float | None, factor: float | None) -> float | None:
    return None if rate is None or factor is None else factor * rate


def _advice(batch_size: int, own: int, optimizer: OptimizerName | None) -> str:
    """The factor with its rule; of code that brings its own optimiser, both."""
    linear, root = f"{rate_factor(batch_size, own, 'sgd'):.3g}", f"{rate_factor(batch_size, own, 'adam'):.3g}"
    if optimizer is None:
        return f"{linear} for SGD (linear rule) or {root} for Adam and its kin (square-root rule)"
    return f"{linear} (linear rule for SGD)" if optimizer == "sgd" else f"{root} (square-root rule for {optimizer})"
