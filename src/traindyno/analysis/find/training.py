"""How long training takes, before and after, and what another batch asks of the learning rate."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from traindyno.analysis.find.beside import baseline_beside
from traindyno.analysis.find.forecast import EpochEdge
from traindyno.analysis.find.learning import examples_needed
from traindyno.analysis.intervals import median, ratio_interval
from traindyno.analysis.noise_scale import NoiseEstimate
from traindyno.analysis.noise_verdicts import figure
from traindyno.analysis.rate_rules import scaled_rate
from traindyno.core.answers.find import Finalist, TrainingTime
from traindyno.core.answers.interval import Interval
from traindyno.core.records import OptimizerName, TrialRecord
from traindyno.core.requests import FindRequest

_KINDS: tuple[OptimizerName, OptimizerName] = ("sgd", "adam")


class Trained(NamedTuple):
    """A way to train, its runs, and what the edges of its epochs should cost."""

    found: Finalist
    runs: Sequence[TrialRecord]
    edge: EpochEdge = EpochEdge()


def training_time(
    request: FindRequest,
    examples: int | None,
    baseline: Trained,
    recommended: Trained,
    noise: NoiseEstimate | None = None,
) -> TrainingTime | None:
    """Null where no epochs were asked for, or nobody knows how many examples an epoch has.

    Where the noise scale is known, what is recommended trains until it should have the same loss. Both follow the
    rates that the answer names, so that their times give the gain too.
    """
    if request.epochs is None or examples is None:
        return None
    needed, ends = _needed(recommended.found, request, noise)
    as_told = baseline._replace(found=_as_told(baseline.found, recommended.found))
    before = _seconds(request.epochs, examples, as_told)
    after = _seconds(request.epochs * needed, examples, recommended, (ends[0] / needed, ends[1] / needed))
    return TrainingTime(
        epochs=request.epochs,
        examples=examples,
        baseline_seconds=before[0],
        baseline_ci95=before[1],
        seconds=after[0],
        ci95=after[1],
        epoch_seconds=after[0] / (needed * request.epochs),
        epochs_needed=None if needed == 1.0 else needed * request.epochs,
    )


def _as_told(baseline: Finalist, found: Finalist) -> Finalist:
    """The baseline at its rate beside what is recommended, with an interval as wide as its own."""
    told = baseline_beside(baseline, found)
    low, high = (end * told / baseline.examples_per_second for end in baseline.ci95)
    return msgspec.structs.replace(baseline, examples_per_second=told, ci95=(low, high))


def _needed(found: Finalist, request: FindRequest, noise: NoiseEstimate | None) -> tuple[float, Interval]:
    if noise is None or noise.value is None:
        return 1.0, (1.0, 1.0)
    return examples_needed(found.batch_size, request.settings.batch_size, noise.value, noise.ci95)


def _seconds(
    epochs: float, examples: int, trained: Trained, open_length: Interval = (1.0, 1.0)
) -> tuple[float, Interval]:
    """All examples at the rate, and what the loader costs at the edge of every epoch.

    `open_length` says by which factors the number of examples may be another.
    """
    found, waiting = trained.found, _waiting_seconds(max(1, math.ceil(epochs)), trained)
    low, high = found.ci95
    total = epochs * examples
    if open_length != (1.0, 1.0):
        rate = found.examples_per_second
        low, high = (rate * end for end in ratio_interval(1.0, open_length, 1.0, (low / rate, high / rate))[1])
    slowest = total / low if low > 0 else math.inf
    return total / found.examples_per_second + waiting, (total / high + waiting, slowest + waiting)


def _waiting_seconds(epochs: int, trained: Trained) -> float:
    """Workers start at every epoch, or at the first where they persist, and at all of them have nothing ahead.

    How much of the first batch's load that leaves to be waited for, the edge says: a loader that is the limit anyway
    loads the others meanwhile, and what it gives is counted by its rate.
    """
    if not trained.found.settings["num_workers"]:
        return 0.0
    starts = 1 if trained.found.settings["persistent_workers"] else epochs
    starting = max(0.0, _start_up_seconds(trained.runs) - trained.edge.first_batch_seconds)
    return starts * starting + epochs * trained.edge.end_seconds


def _start_up_seconds(records: Sequence[TrialRecord]) -> float:
    told = [record.measurement.loading for record in records if record.measurement is not None]
    known = [each.start_up_seconds for each in told if each is not None and each.start_up_seconds is not None]
    return median(known) if known else 0.0


def rate_factor(batch_size: int, own: int, optimizer: OptimizerName, noise_scale: float | None = None) -> float:
    """By rule: linear for SGD, the square root for Adam and its kin; by the gain rule where a noise scale is known."""
    if noise_scale is not None:
        return scaled_rate("gain", 1.0, own, batch_size, optimizer, noise_scale)
    grown = batch_size / own
    return grown if optimizer == "sgd" else math.sqrt(grown)


def with_rate(found: Finalist, request: FindRequest, noise_scale: float | None = None) -> Finalist:
    """A finalist of another batch says what that asks of the learning rate, and of the rest.

    By the gain rule where the gradients' noise scale is known.
    """
    own, workload = request.settings.batch_size, request.workload
    if found.batch_size == own or workload.mode == "infer":
        return found
    factor = None if workload.runs_user_code else rate_factor(found.batch_size, own, workload.optimizer, noise_scale)
    advice = _advice(found.batch_size, own, None if factor is None else workload.optimizer, noise_scale)
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


def _advice(batch_size: int, own: int, optimizer: OptimizerName | None, noise_scale: float | None) -> str:
    """The factor with its rule; of code that brings its own optimiser, both."""
    linear, root = (f"{rate_factor(batch_size, own, name, noise_scale):.3g}" for name in _KINDS)
    if noise_scale is not None:
        return _advice_by_gain(linear, root, optimizer, noise_scale)
    if optimizer is None:
        return f"{linear} for SGD (linear rule) or {root} for Adam and its kin (square-root rule)"
    return f"{linear} (linear rule for SGD)" if optimizer == "sgd" else f"{root} (square-root rule for {optimizer})"


def _advice_by_gain(plain: str, root: str, optimizer: OptimizerName | None, noise_scale: float) -> str:
    rule = f"gain rule, noise scale {figure(noise_scale)}"
    if optimizer is None:
        return f"{plain} for SGD or {root} for Adam and its kin ({rule})"
    return f"{plain if optimizer == 'sgd' else root} ({rule}, for {optimizer})"
