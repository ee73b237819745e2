"""One step of training or inference, as a plain loop would write it."""

import math
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, Protocol, TypeVar

import torch

from traindyno.core.anatomy import PhaseName
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.worker.devices import Device
from traindyno.worker.job import Job
from traindyno.worker.knobs.accumulation import parts_of, shares_of
from traindyno.worker.knobs.compiling import with_fresh_graphs
from traindyno.worker.knobs.explaining import explained
from traindyno.worker.knobs.layout import laid_out
from traindyno.worker.updates import Update, make_update

P = ParamSpec("P")
T = TypeVar("T")
Step = Callable[[], torch.Tensor | None]
_AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}


class NonfiniteLossError(Exception):
    """The loss is NaN or infinite: what is being timed is no longer training."""


class Marks(Protocol):
    """Is told when a phase of the step begins; the one before ends there. A phase may come more than once in a step."""

    def mark(self, phase: PhaseName) -> None: ...


class _NoMarks:
    def mark(self, phase: PhaseName) -> None:
        raise AssertionError("a step without marks does not call them")


NO_MARKS: Marks = _NoMarks()


def make_step(
    job: Job, batch: Any, workload: WorkloadSpec, settings: Settings, device: Device, marks: Marks = NO_MARKS
) -> Step:
    """The step that the trial repeats. It never waits for the device, but for the loss scale's check in fp16."""
    if workload.mode == "infer":
        return make_evaluation_step(job, batch, settings, device, marks)
    model = job.model.train()
    shared = zip(parts_of(batch, settings), shares_of(settings), strict=True)
    bound = [job.bound_loss(model, part, share) for part, share in shared]
    forward = mixed(lambda loss_of_part: loss_of_part(), settings, device)
    return _training_step(lambda: bound, forward, settings, make_update(job, settings, device), marks)


def make_fed_step(
    job: Job,
    next_batch: Callable[[], Any],
    workload: WorkloadSpec,
    settings: Settings,
    device: Device,
    marks: Marks = NO_MARKS,
    update: Update | None = None,
) -> Step:
    """The same step on a fresh batch each time; to get the batch is part of the step. `update` may be made before."""
    load = _marked(marks, "load", next_batch)
    if workload.mode == "infer":
        model = job.model.eval()
        predict = _marked(marks, "forward", mixed(lambda batch: job.predict(model, batch), settings, device))
        return _evaluation_step(lambda: predict(laid_out(load(), settings)), settings, marks)
    model = job.model.train()
    shares = shares_of(settings)
    forward = mixed(lambda part_and_share: job.loss(model, *part_and_share), settings, device)

    def take() -> Sequence[Any]:
        return list(zip(parts_of(laid_out(load(), settings), settings), shares, strict=True))

    return _training_step(take, forward, settings, update or make_update(job, settings, device), marks)


def _training_step(
    take: Callable[[], Sequence[Any]],
    forward: Callable[[Any], torch.Tensor],
    settings: Settings,
    update: Update,
    marks: Marks,
) -> Step:
    """A step over the parts that `take` gives. Reading the loss comes after all else, where a loop would print it."""
    step = _step(take, _marked(marks, "forward", forward), _marked_update(marks, update), settings.accumulation_steps)
    step = _ending(marks, step)
    return explained(with_fresh_graphs(_reading(step) if settings.read_metrics else step, settings), settings)


def _step(
    take: Callable[[], Sequence[Any]], forward: Callable[[Any], torch.Tensor], update: Update, parts: int
) -> Step:
    clear, backward, apply = update.clear, update.backward, update.apply

    def step() -> torch.Tensor:
        clear()
        (part,) = take()
        loss = forward(part)
        backward(loss)
        apply()
        return loss

    def accumulated() -> torch.Tensor:
        clear()
        losses = []
        for part in take():
            loss = forward(part) / parts
            backward(loss)
            losses.append(loss.detach())
        apply()
        return torch.stack(losses).sum()

    return step if parts == 1 else accumulated


def make_evaluation_step(job: Job, batch: Any, settings: Settings, device: Device, marks: Marks = NO_MARKS) -> Step:
    """A forward pass as in evaluation: no gradients, batch-norm and dropout in inference mode."""
    model = job.model.eval()
    predict = mixed(lambda: job.predict(model, batch), settings, device)
    return _evaluation_step(_marked(marks, "forward", predict), settings, marks)


def _evaluation_step(predict: Callable[[], Any], settings: Settings, marks: Marks) -> Step:
    def step() -> None:
        with torch.inference_mode():
            predict()

    return explained(with_fresh_graphs(_ending(marks, step), settings), settings)


def _marked(marks: Marks, phase: PhaseName, function: Callable[P, T]) -> Callable[P, T]:
    """The function with a mark before it; the function itself, at no cost, where there are no marks."""
    if marks is NO_MARKS:
        return function

    def marked(*arguments: P.args, **keywords: P.kwargs) -> T:
        marks.mark(phase)
        return function(*arguments, **keywords)

    return marked


def _marked_update(marks: Marks, update: Update) -> Update:
    return Update(
        clear=_marked(marks, "optimizer", update.clear),
        backward=_marked(marks, "backward", update.backward),
        apply=_marked(marks, "optimizer", update.apply),
    )


def _ending(marks: Marks, step: Step) -> Step:
    """The step with the mark of what is left after its last phase."""
    if marks is NO_MARKS:
        return step

    def ended() -> torch.Tensor | None:
        loss = step()
        marks.mark("other")
        return loss

    return ended


def _reading(step: Step) -> Step:
    """The step and then its loss as a number, for which the host waits until the device is done."""

    def read() -> torch.Tensor | None:
        loss = step()
        assert loss is not None, "only training steps have a loss to read"
        loss.item()
        return loss

    return read


def mixed(compute: Callable[P, T], settings: Settings, device: Device) -> Callable[P, T]:
    """The same computation in the precision that the settings ask for; fp32 is left as it is."""
    dtype = _AUTOCAST.get(settings.precision)
    if dtype is None:
        return compute
    kind = device.torch_device.type

    def computed(*arguments: P.args, **keywords: P.kwargs) -> T:
        with torch.autocast(kind, dtype=dtype):
            return compute(*arguments, **keywords)

    return computed


def finite_loss(loss: torch.Tensor | None) -> float | None:
    """The loss as a number. Reading it waits for the device, so call this at block edges only."""
    if loss is None:
        return None
    value = float(loss.detach().float().mean())
    if not math.isfinite(value):
        raise NonfiniteLossError(f"the loss is {value}")
    return value
