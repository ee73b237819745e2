"""The inside of one arm: builds, warms up and measures a block, each only when it is told to."""

import contextlib
import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from traindyno.core.loading import Loading
from traindyno.core.records import Block, TrialSpec
from traindyno.worker.batches import host_bytes
from traindyno.worker.building import build, prepare
from traindyno.worker.classify import failure_of
from traindyno.worker.data.placed import PlacedSupply
from traindyno.worker.data.stopwatch import Stopwatch
from traindyno.worker.data.supply import CachedSupply, host_batches
from traindyno.worker.devices import Device, open_device
from traindyno.worker.job import Job
from traindyno.worker.kinds.bench import set_up
from traindyno.worker.kinds.loads import bad_of, skipping
from traindyno.worker.pairing.messages import ArmChannel, Ready, Turn
from traindyno.worker.steps import Step, finite_loss, make_fed_step
from traindyno.worker.timing import time_block, time_steps


@dataclass(frozen=True)
class Readied:
    """A step that can be repeated, on resident data or on batches from host memory."""

    job: Job
    step: Step
    start_up_seconds: float
    loading: Loading | None = None
    has_images: bool | None = None


def serve(spec: TrialSpec, channel: ArmChannel, commands: int) -> int:
    """Answer each command with one turn; the return value is the exit code.

    Between turns the arm waits in a read, which costs neither the processor nor the device anything.
    """
    device: Device | None = None
    try:
        if os.read(commands, 1):
            device = open_device(spec.settings.device)
            _take_turns(spec, device, channel, commands)
    except BaseException as error:  # noqa: BLE001 - user code may raise anything; nothing is hidden, all is reported
        channel.error(failure_of(error, device, channel.phase_name))
        return 1
    return 0


def _take_turns(spec: TrialSpec, device: Device, channel: ArmChannel, commands: int) -> None:
    with _readied(spec, device, channel) as readied:
        ready, block_steps = _warm_up(readied, device, channel)
        channel.answer(ready)
        while os.read(commands, 1):
            block, loss = time_block(readied.step, block_steps, device, alive=channel.alive)
            value = finite_loss(loss)
            device.check_memory()
            channel.step(channel.steps_done + block_steps, block.seconds / block.steps)
            channel.answer(Turn(block=block, loss=value, memory=device.memory()))


def _warm_up(readied: Readied, device: Device, channel: ArmChannel) -> tuple[Ready, int]:
    """The first step, and steps up to one whole block; whether that was enough is seen from the turns."""
    start = time.monotonic()
    timing = time_steps(readied.step, device, channel, seconds=0.0, relative_interval=math.inf)
    seconds = time.monotonic() - start - timing.first_step_seconds
    ready = Ready(
        start_up_seconds=readied.start_up_seconds,
        first_step_seconds=timing.first_step_seconds,
        warm_up=Block(steps=channel.steps_done - 1, seconds=seconds),
        examples_in_data=readied.job.examples_in_data,
        loading=readied.loading,
        has_images=readied.has_images,
        notes=tuple(readied.job.notes),
    )
    return ready, timing.blocks[-1].steps


@contextlib.contextmanager
def _readied(spec: TrialSpec, device: Device, channel: ArmChannel) -> Iterator[Readied]:
    assert spec.feed.supply != "loader", "the workers of an arm would go on while the other has the turn"
    if spec.feed.supply == "resident":
        bench = set_up(spec, device, channel)
        yield Readied(
            job=bench.job, step=bench.step, start_up_seconds=bench.start_up_seconds, has_images=bench.has_images
        )
    else:
        with _fed(spec, device, channel) as fed:
            yield fed


@contextlib.contextmanager
def _fed(spec: TrialSpec, device: Device, channel: ArmChannel) -> Iterator[Readied]:
    """Every step moves a finished batch; the loader that made them is closed before the first."""
    start = time.monotonic()
    prepare(spec, device, channel)
    job = build(spec, device, channel)
    channel.phase("data")
    with skipping(spec) as skipped:
        batches = host_batches(job.source, spec, skipped, lambda: channel.step(0))
        loading = Loading(batch_bytes=host_bytes(batches[0]), **bad_of(skipped))
    with PlacedSupply(CachedSupply(batches), job.source, spec.settings, device.torch_device, Stopwatch()) as placed:
        step = make_fed_step(job, placed.next, spec.workload, spec.settings, device)
        device.synchronize()
        yield Readied(job=job, step=step, start_up_seconds=time.monotonic() - start, loading=loading)
