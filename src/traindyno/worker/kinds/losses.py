"""Does it still learn? A short training from a seed on a few batches, with the loss of every step."""

import contextlib
import itertools
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import torch

from traindyno.core.errors import UsageError
from traindyno.core.records import Block, Measurement, Settings, TrialSpec
from traindyno.machine.cpus import usable_cpus
from traindyno.worker.batches import own_copy, to_device
from traindyno.worker.building import build, prepare
from traindyno.worker.channel import Channel
from traindyno.worker.data.flow import Flow
from traindyno.worker.data.loadable import Loadable
from traindyno.worker.data.placed import PlacedSupply
from traindyno.worker.data.stopwatch import Stopwatch
from traindyno.worker.data.supply import DIFFERENT_BATCHES, CachedSupply
from traindyno.worker.devices import Device
from traindyno.worker.job import Job
from traindyno.worker.kinds.loads import skipping
from traindyno.worker.kinds.summary import measurement_of
from traindyno.worker.learning.randomness import seed_others
from traindyno.worker.steps import NonfiniteLossError, Step, make_fed_step
from traindyno.worker.timing import time_block

DEFAULT_STEPS = 100
STEPS_TOGETHER, SECONDS_TOGETHER = 10, 10.0
# In fp16 small gradients vanish if the loss is not scaled; torch's own first scale of 65,536 is too much for many
# models, whose first updates then overflow and are left out.
LOSS_SCALE = 1024.0

NextBatch = Callable[[], Any]


def measure_losses(spec: TrialSpec, device: Device, channel: Channel) -> Measurement:
    """Weights and batches come from the seed; the batches wait in host memory and take turns on the device."""
    if spec.workload.mode == "infer":
        raise UsageError("there are no losses without training", "use --mode train")
    start = time.monotonic()
    prepare(spec, device, channel)
    seed_others(spec.seed)
    job = build(spec, device, channel)
    job.first_loss_scale = LOSS_SCALE
    channel.phase("data")
    with _batches(spec, job, device) as next_batch:
        recorder = _Recorder(make_fed_step(job, next_batch, spec.workload, spec.settings, device))
        start_up_seconds = time.monotonic() - start
        blocks = _run(recorder, spec.budget.steps or DEFAULT_STEPS, device, channel)
    losses = recorder.losses()
    measurement = measurement_of(
        spec,
        device,
        blocks,
        blocks[1:] or blocks,
        losses[-1],
        steady=False,
        start_up_seconds=start_up_seconds,
        examples_in_data=job.examples_in_data,
        notes=job.notes,
    )
    return msgspec.structs.replace(measurement, losses=losses)


class _Recorder:
    """A step that keeps its losses on the device, each a copy: CUDA graphs overwrite what they returned."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._losses: list[torch.Tensor] = []

    def __call__(self) -> None:
        loss = self._step()
        assert loss is not None, "a training step has a loss"
        self._losses.append(loss.detach().float().mean())

    def losses(self) -> tuple[float, ...]:
        losses = torch.stack(self._losses).tolist()
        for number, value in enumerate(losses, start=1):
            if not math.isfinite(value):
                raise NonfiniteLossError(f"the loss is {value} at step {number}")
        return tuple(losses)


def _run(step: Step, steps: int, device: Device, channel: Channel) -> list[Block]:
    channel.phase("first step")
    blocks, done = [time_block(step, 1, device)[0]], 1
    channel.phase("steps")
    while done < steps:
        blocks.append(time_block(step, min(_together(blocks[-1]), steps - done), device)[0])
        device.check_memory()
        done += blocks[-1].steps
        channel.step(done, blocks[-1].seconds / blocks[-1].steps)
    return blocks


def _together(before: Block) -> int:
    """How many steps between two signs of life: fewer where they are slow, so that they are not taken for a hang."""
    return max(1, min(STEPS_TOGETHER, int(SECONDS_TOGETHER * before.steps / max(before.seconds, 1e-9))))


@contextlib.contextmanager
def _batches(spec: TrialSpec, job: Job, device: Device) -> Iterator[NextBatch]:
    if isinstance(job.source, Loadable):
        settings, source = _alike_in_all_trials(spec.settings, job.source), job.source
        supply = CachedSupply(_loaded(source, settings, spec))
        with PlacedSupply(supply, source, settings, device.torch_device, Stopwatch()) as placed:
            yield placed.next
        return
    taken = itertools.cycle(_made_up(job, spec, device.torch_device))
    yield lambda: to_device(next(taken), device.torch_device)


def _loaded(source: Loadable, settings: Settings, spec: TrialSpec) -> list[Any]:
    """The batches, by workers if they can: too little shared memory ends them, and an error of the data comes again."""
    if settings.num_workers:
        with contextlib.suppress(Exception):
            return _taken(source, settings, spec)
    return _taken(source, msgspec.structs.replace(settings, num_workers=0), spec)


def _taken(source: Loadable, settings: Settings, spec: TrialSpec) -> list[Any]:
    with skipping(spec) as skipped, Flow(source.endless(settings, spec.seed, skipped, "examples", None)) as flow:
        first = own_copy(flow.start()[1], pinned=False)
        return [first, *(own_copy(flow.take(), pinned=False) for _ in range(DIFFERENT_BATCHES - 1))]


def _made_up(job: Job, spec: TrialSpec, device: torch.device) -> list[Any]:
    seeds = range(DIFFERENT_BATCHES * spec.seed, DIFFERENT_BATCHES * (spec.seed + 1))
    return [to_device(job.batch(spec.settings.batch_size, device, seed), torch.device("cpu")) for seed in seeds]


def _alike_in_all_trials(settings: Settings, source: Loadable) -> Settings:
    """By workers where that changes nothing. Without them batches come in one order, from this process's seeds."""
    workers = min(int(usable_cpus().value), DIFFERENT_BATCHES) if source.same_from_workers else 0
    return msgspec.structs.replace(
        settings, num_workers=workers, prefetch_factor=1, persistent_workers=False, pin_memory=False
    )
