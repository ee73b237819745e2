"""The conclusion of one run that learnt, or that was stopped on its way."""

import math
from collections.abc import Iterator

from traindyno.core.answers import Interval, TrainAnswer
from traindyno.core.learning import Evaluation, Learning
from traindyno.core.outcomes import REMEDIES, Outcome
from traindyno.core.records import TrialRecord
from traindyno.core.requests import TrainRequest
from traindyno.core.units import count_of

TWO_SIDED_95 = 1.959963984540054
FEW_TO_NORMALISE = 16
NEVER_FINITE = "Look for NaN in the data and in what model and loss return."


def conclude_train(
    request: TrainRequest, record: TrialRecord, *, data: str, seconds: float, simulated: bool = False
) -> TrainAnswer:
    """What the run came to, and what a reader should know of it. `data` is what to call the data."""
    assert record.measurement is not None
    assert record.measurement.learning is not None
    learning = record.measurement.learning
    last, best = learning.evaluations[-1], best_of(learning)
    return TrainAnswer(
        model=request.workload.model,
        data=data,
        batch_size=record.batch_size,
        learning_rate=request.recipe.learning_rate,
        accuracy=last.accuracy,
        accuracy_ci95=accuracy_interval(last.accuracy, learning.evaluation_examples),
        loss=last.loss,
        best_accuracy=None if best is None else best.accuracy,
        evaluations=learning.evaluations,
        epochs=learning.examples / learning.training_examples,
        steps=learning.steps,
        planned_steps=learning.planned_steps,
        examples=learning.examples,
        training_examples=learning.training_examples,
        evaluation_examples=learning.evaluation_examples,
        training_seconds=learning.seconds,
        evaluation_seconds=learning.evaluation_seconds,
        examples_per_second=learning.examples / learning.seconds,
        diverged=learning.diverged,
        checkpoint=learning.checkpoint,
        tensorboard=None if simulated else request.tensorboard,
        resumed_from=learning.resumed_from,
        norm_examples=learning.norm_examples,
        processes=learning.processes,
        verdicts=tuple(_verdicts(request, record, learning)),
        seconds=seconds,
        simulated=simulated,
    )


def best_of(learning: Learning) -> Evaluation | None:
    """The evaluation with the highest accuracy, the first of equals; null where there are no classes."""
    told = [each for each in learning.evaluations if each.accuracy is not None]
    return max(told, key=lambda each: each.accuracy or 0.0, default=None)


def accuracy_interval(accuracy: float | None, examples: int) -> Interval | None:
    """Wilson's interval: how far the accuracy on other examples of the same kind may be from that on these."""
    if accuracy is None or examples < 1:
        return None
    squared = TWO_SIDED_95**2
    middle = (accuracy + squared / (2 * examples)) / (1 + squared / examples)
    spread = math.sqrt(accuracy * (1 - accuracy) / examples + squared / (4 * examples**2))
    half = TWO_SIDED_95 * spread / (1 + squared / examples)
    return max(0.0, middle - half), min(1.0, middle + half)


def _verdicts(request: TrainRequest, record: TrialRecord, learning: Learning) -> Iterator[str]:
    if record.outcome is Outcome.INTERRUPTED:
        yield f"Stopped after {learning.steps:,} of {learning.planned_steps:,} steps: this is how far it was."
    if learning.diverged:
        yield _diverged(request, learning)
    elif learnt_nothing(learning):
        yield "Nothing was learnt: guessing would have been as good. Another rate, or more epochs, may change that."
    elif _may_be_guessing(learning):
        yield _too_few(learning)
    else:
        yield from _fallen(learning)
    yield from _normalised(request, learning)
    yield from learning.remarks


def was_finite(learning: Learning) -> bool:
    """Whether any training loss is known to have been a number: then a lower rate may keep it one."""
    return bool(learning.began_finite) or any(math.isfinite(each.training_loss) for each in learning.evaluations)


def never_finite(learning: Learning) -> bool:
    """Whether the loss is known to have been no number from the first step on: then no rate is at fault."""
    return learning.diverged and learning.began_finite is False and not was_finite(learning)


def _diverged(request: TrainRequest, learning: Learning) -> str:
    """The loss is looked at now and then, so that the step at which it was lost is not known."""
    looked_at = f"by step {learning.steps:,}, when it was next looked at"
    if was_finite(learning):
        return (
            f"Diverged: the loss was no number any more {looked_at}. Lower the rate, to --lr "
            f"{request.recipe.learning_rate / 10:g} say, or let it rise over --warm-up-epochs."
        )
    if never_finite(learning):
        return f"The loss was no number from the first step on. {NEVER_FINITE}"
    return f"The loss was no number {looked_at}, and may never have been one. {REMEDIES[Outcome.NONFINITE]}"


def learnt_nothing(learning: Learning) -> bool:
    """Whether the accuracy is that of guessing, and what chance may have hidden is little."""
    interval = _last_interval(learning)
    return _may_be_guessing(learning) and interval is not None and interval[1] <= _near_guessing(learning)


def _may_be_guessing(learning: Learning) -> bool:
    interval = _last_interval(learning)
    return interval is not None and learning.classes is not None and interval[0] <= 1 / learning.classes


def _near_guessing(learning: Learning) -> float:
    """The highest accuracy that is as good as guessing: twice it, or a quarter of the way from it to certainty."""
    guessing = 1 / (learning.classes or 1)
    return min(2 * guessing, guessing + (1 - guessing) / 4)


def _too_few(learning: Learning) -> str:
    interval = _last_interval(learning)
    assert interval is not None
    assert learning.classes is not None
    return (
        f"{learning.evaluation_examples:,} examples to evaluate on are too few to tell whether anything was learnt: "
        f"the accuracy may be {interval[0]:.1%} to {interval[1]:.1%}, and guessing has {1 / learning.classes:.1%}."
    )


def _last_interval(learning: Learning) -> Interval | None:
    return accuracy_interval(learning.evaluations[-1].accuracy, learning.evaluation_examples)


def _fallen(learning: Learning) -> Iterator[str]:
    """A best that lies above what chance may make of the end says that training went on for too long."""
    best, last = best_of(learning), learning.evaluations[-1]
    interval = _last_interval(learning)
    if best is None or best.accuracy is None or last.accuracy is None or interval is None:
        return
    if best.accuracy > interval[1]:
        epochs = count_of(best.examples / learning.training_examples, "epoch")
        yield f"It was better before: {best.accuracy:.1%} after {epochs}, {last.accuracy:.1%} at the end."


def _normalised(request: TrainRequest, learning: Learning) -> Iterator[str]:
    together, devices = learning.norm_examples, request.recipe.emulated_devices
    if together is None:
        return
    if devices > 1:
        yield f"Emulated: batch normalisation as on {devices} devices, over {together} examples at once on each."
    if together < FEW_TO_NORMALISE:
        yield (
            f"Batch normalisation saw {together} examples at once; fewer than {FEW_TO_NORMALISE} cost accuracy. "
            "--batch-norm sync, or a larger batch on each device, may win it back."
        )
