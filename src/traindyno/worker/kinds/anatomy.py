"""What is a step made of? Fed steps with instruments and without by turns; then what a step computes and moves."""

import time
from dataclasses import dataclass
from itertools import chain
from statistics import fmean

import msgspec

from traindyno.analysis.intervals import median, median_interval
from traindyno.core.anatomy import Anatomy, Transfer, Work
from traindyno.core.loading import Loading
from traindyno.core.records import Measurement, Memory, TrialSpec
from traindyno.worker.anatomy.ceilings import bytes_per_second_ceiling, flops_per_second_ceiling
from traindyno.worker.anatomy.counting import count_work
from traindyno.worker.anatomy.feeding import FedSteps, Source, of_later_steps, open_source, with_one_optimizer
from traindyno.worker.anatomy.instruments import open_instruments
from traindyno.worker.anatomy.phases import instrument_cost, phases_of, step_seconds_of
from traindyno.worker.anatomy.profiling import BUSY_STEPS, TRACED_STEPS, NamedSpans, busy_seconds, write_trace
from traindyno.worker.anatomy.queueing import queue_seconds
from traindyno.worker.anatomy.transfers import time_transfers
from traindyno.worker.anatomy.turns import Turns
from traindyno.worker.channel import Channel
from traindyno.worker.devices import Device
from traindyno.worker.flow_timing import FlowTiming, pace_of
from traindyno.worker.job import Job
from traindyno.worker.kinds.bench import build, furnish, prepare
from traindyno.worker.kinds.feed import CACHED_PACE
from traindyno.worker.kinds.loads import bad_of, intervals_of, skipping
from traindyno.worker.kinds.summary import measurement_of
from traindyno.worker.steps import Step, finite_loss
from traindyno.worker.timing import time_block

NOT_PROFILED = "how long the GPU computes is not known: torch's profiler saw nothing of it (CUPTI missing or forbidden)"
NOT_QUEUED = "the host waits for the GPU in every step, so how long it takes to queue one cannot be told"


@dataclass(frozen=True)
class Fed:
    """What was seen of the steps while they were fed."""

    first_step_seconds: float
    told: FlowTiming
    turns: Turns
    memory: Memory
    loading: Loading
    transfers: tuple[Transfer, ...]
    busy_seconds: float | None
    notes: tuple[str, ...]


def measure_anatomy(spec: TrialSpec, device: Device, channel: Channel) -> Measurement:
    """Timing first, undisturbed; what counts, profiles or fills memory comes after it."""
    assert spec.feed.supply != "resident", "the anatomy of a step begins with its batch"
    assert spec.feed.depth == "examples", "a model takes whole examples"
    start = time.monotonic()
    prepare(spec, device, channel)
    job = with_one_optimizer(build(spec, device, channel))
    start_up_seconds = time.monotonic() - start
    with skipping(spec) as skipped:
        with open_source(spec, job, channel, skipped) as source:
            fed = _measure_fed(spec, job, source, device, channel)
        left_out = bad_of(skipped)
    step = furnish(of_later_steps(spec), job, device, channel, start).step
    host_step_seconds = _queue_seconds(step, device, channel)
    notes = [*job.notes, *fed.notes, *_gaps(device, fed.busy_seconds, host_step_seconds)]
    timing = fed.told.timing
    return measurement_of(
        spec,
        device,
        timing.blocks,
        timing.counted,
        timing.loss,
        steady=timing.steady_from is not None,
        start_up_seconds=start_up_seconds,
        first_step_seconds=fed.first_step_seconds,
        memory=fed.memory,
        examples_in_data=job.examples_in_data,
        loading=msgspec.structs.replace(fed.loading, **left_out),
        anatomy=_anatomy(fed, host_step_seconds, _work(step, spec, device, channel)),
        notes=notes,
    )


def _measure_fed(spec: TrialSpec, job: Job, source: Source, device: Device, channel: Channel) -> Fed:
    pace = pace_of(spec.settings) if spec.feed.supply == "loader" else CACHED_PACE
    instruments, spans = open_instruments(device.torch_device), NamedSpans()
    with FedSteps(spec, job, source.supply, device) as steps:
        plain, instrumented, named = steps.step(), steps.step(instruments), steps.step(spans)
        channel.phase("first step")
        first, loss = time_block(plain, 1, device)
        finite_loss(loss)
        turns = Turns(plain, instrumented, instruments, steps.placed, steps.waits, pace, device, channel)
        told = turns.run(spec.budget)
        memory = device.memory()
        channel.phase("profile")
        notes = _trace(spec, named, spans, steps, device)
        busy = _busy_seconds(plain, steps, device)
        transfers = time_transfers(source.supply.take, spec.settings, device)
    loading = msgspec.structs.replace(
        source.loading,
        wait_seconds=median([fmean(waits) for waits in told.waits]),
        intervals=intervals_of(list(chain.from_iterable(told.waits))),
    )
    return Fed(first.seconds, told, turns, memory, loading, transfers, busy, (*source.notes, *notes))


def _trace(spec: TrialSpec, named: Step, spans: NamedSpans, steps: FedSteps, device: Device) -> tuple[str, ...]:
    """Write the trace, if one is wanted; a measurement is not lost with it."""
    if spec.trace_path is None:
        return ()
    steps.make_room(TRACED_STEPS)
    try:
        with steps.waits.marking(spans):
            write_trace(named, spans, spec.trace_path, device)
    except (OSError, RuntimeError) as error:
        return (f"no trace was written: {error}",)
    return ()


def _busy_seconds(step: Step, steps: FedSteps, device: Device) -> float | None:
    if device.torch_device.type != "cuda":
        return None
    steps.make_room(BUSY_STEPS)
    return busy_seconds(step, device)


def _queue_seconds(step: Step, device: Device, channel: Channel) -> float | None:
    channel.phase("queueing")
    return queue_seconds(step, device)


def _work(step: Step, spec: TrialSpec, device: Device, channel: Channel) -> Work:
    channel.phase("counting")
    work = count_work(step, spec.settings)
    channel.phase("ceilings")
    return msgspec.structs.replace(
        work,
        flops_per_second_ceiling=flops_per_second_ceiling(spec.settings, device),
        bytes_per_second_ceiling=bytes_per_second_ceiling(device),
    )


def _gaps(device: Device, busy: float | None, host_step_seconds: float | None) -> list[str]:
    """What could not be told of a GPU, and why."""
    if device.torch_device.type != "cuda":
        return []
    told = ((busy, NOT_PROFILED), (host_step_seconds, NOT_QUEUED))
    return [note for value, note in told if value is None]


def _anatomy(fed: Fed, host_step_seconds: float | None, work: Work) -> Anatomy:
    plain = fed.told.timing.counted
    instrumented = fed.turns.instrumented_blocks[-len(plain) :]
    cost, cost_ci95 = instrument_cost(plain, instrumented)
    plain_seconds = step_seconds_of(plain)
    assert fed.loading.wait_seconds is not None
    return Anatomy(
        phases=phases_of(fed.turns.readings[-len(plain) :]),
        plain_step_seconds=median(plain_seconds),
        plain_ci95=median_interval(plain_seconds),
        instrumented_step_seconds=median(step_seconds_of(instrumented)),
        instrument_cost=cost,
        instrument_cost_ci95=cost_ci95,
        load_wait_seconds=fed.loading.wait_seconds,
        host_step_seconds=host_step_seconds,
        busy_seconds=fed.busy_seconds,
        transfers=fed.transfers,
        work=work,
    )
