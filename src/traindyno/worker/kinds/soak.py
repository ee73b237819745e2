"""How does training go on for minutes? One long run, on a resident batch or fed epoch after epoch by the loader."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec

from traindyno.analysis.steady import steady_from
from traindyno.core.loading import Loading
from traindyno.core.records import Block, Measurement, TrialSpec
from traindyno.core.soaking import SOAKING, Soak
from traindyno.worker.batches import host_bytes
from traindyno.worker.building import build, prepare
from traindyno.worker.channel import Channel
from traindyno.worker.data.bad import SkippedExamples
from traindyno.worker.data.epochs import Epochs, EpochSupply, EpochsUsed, NoEpochs
from traindyno.worker.data.loadable import loadable
from traindyno.worker.data.placed import PlacedSupply
from traindyno.worker.data.stopwatch import Stopwatch
from traindyno.worker.devices import Device
from traindyno.worker.ending import ending_on_request
from traindyno.worker.job import Job
from traindyno.worker.kinds.bench import set_up
from traindyno.worker.kinds.loads import bad_of, skipping
from traindyno.worker.kinds.summary import measurement_of
from traindyno.worker.soak_timing import SoakTimer
from traindyno.worker.steps import Step, finite_loss, make_fed_step
from traindyno.worker.timing import time_block


@dataclass(frozen=True)
class Training:
    """Everything a long run needs, ready for its first step."""

    job: Job
    step: Step
    start_up_seconds: float
    epochs: Epochs
    waits: Stopwatch | None = None
    loading: Loading | None = None
    load_ahead: Callable[[], None] = lambda: None


def measure_soak(spec: TrialSpec, device: Device, channel: Channel) -> Measurement:
    """The clock starts behind the first step, which compiles and allocates; all that comes later is part of the run."""
    assert spec.budget.seconds is not None, "a soak has a length"
    with skipping(spec) as skipped, _training(spec, device, channel, skipped) as training:
        channel.phase("first step")
        first, loss = time_block(training.step, 1, device)
        finite_loss(loss)
        device.check_memory()
        with ending_on_request() as asked_to_end:
            channel.phase(SOAKING)
            timer = SoakTimer(
                training.step,
                training.epochs,
                training.waits,
                device,
                channel,
                asked_to_end,
                ahead=training.load_ahead,
            )
            soak, value = timer.run(spec.budget.seconds)
        loading = training.loading and msgspec.structs.replace(training.loading, **bad_of(skipped))
        return _measurement(spec, device, training, soak, first.seconds, value, loading)


@contextmanager
def _training(spec: TrialSpec, device: Device, channel: Channel, skipped: SkippedExamples | None) -> Iterator[Training]:
    if spec.feed.supply == "loader":
        with _fed(spec, device, channel, skipped) as training:
            yield training
    else:
        bench = set_up(spec, device, channel)
        yield Training(bench.job, bench.step, bench.start_up_seconds, NoEpochs())


@contextmanager
def _fed(spec: TrialSpec, device: Device, channel: Channel, skipped: SkippedExamples | None) -> Iterator[Training]:
    """Training fed by the loader. What is ready before the first step is only the first batch, which is dropped."""
    start = time.monotonic()
    prepare(spec, device, channel)
    job = build(spec, device, channel)
    channel.phase("data")
    source, waits = loadable(job.source), Stopwatch()
    with EpochSupply(source, spec, skipped) as supply:
        loader_seconds, first = supply.start()
        loading = Loading(start_up_seconds=loader_seconds, batch_bytes=host_bytes(first))
        del first
        with PlacedSupply(supply, source, spec.settings, device.torch_device, waits) as placed:
            used = EpochsUsed(supply, placed.next, placed.renew)
            step = make_fed_step(job, used.next, spec.workload, spec.settings, device)
            yield Training(job, step, time.monotonic() - start, used, waits, loading, placed.load_ahead)


def _measurement(
    spec: TrialSpec,
    device: Device,
    training: Training,
    soak: Soak,
    first_step_seconds: float,
    loss: float | None,
    loading: Loading | None,
) -> Measurement:
    blocks = [Block(steps=block.steps, seconds=block.seconds) for block in soak.blocks]
    length = training.epochs.length
    measurement = measurement_of(
        spec,
        device,
        blocks,
        blocks,
        loss,
        steady=steady_from([block.seconds / block.steps for block in blocks]) is not None,
        start_up_seconds=training.start_up_seconds,
        first_step_seconds=first_step_seconds,
        examples_in_data=training.job.examples_in_data,
        loading=loading,
        notes=training.job.notes,
    )
    examples = None if length == math.inf else int(length) * spec.settings.batch_size
    return msgspec.structs.replace(measurement, soak=msgspec.structs.replace(soak, epoch_examples=examples))
