"""What is a step made of? Fed steps with instruments and without by turns; then what a step computes and moves."""

import time
from dataclasses import dataclass
from itertools import chain
from statistics import fmean

import msgspec

from traindyno.analysis.flow_pace import pace_of
from traindyno.analysis.sustained import sustained_seconds
from traindyno.core.anatomy import Anatomy, Transfer, Work
from traindyno.core.events import CEILINGS
from traindyno.core.loading import Loading
from traindyno.core.records import Measurement, Memory, TrialSpec
from traindyno.worker.anatomy.ceilings import bytes_per_second_ceiling, flops_per_second_ceiling
from traindyno.worker.anatomy.counting import count_work
from traindyno.worker.anatomy.extras import Extras
from traindyno.worker.anatomy.feeding import FedSteps, Source, open_source
from traindyno.worker.anatomy.instruments import open_instruments
from traindyno.worker.anatomy.phases import instrument_cost, phases_of
from traindyno.worker.anatomy.profiling import BUSY_STEPS, TRACED_STEPS, NamedSpans, busy_seconds, write_trace
from traindyno.worker.anatomy.queueing import queue_seconds
from traindyno.worker.anatomy.transfers import time_transfers
from traindyno.worker.anatomy.turns import Turns
from traindyno.worker.building import build, prepare
from traindyno.worker.channel import Channel
from traindyno.worker.devices import Device
from traindyno.worker.flow_timing import FlowTiming
from traindyno.worker.job import Job
from traindyno.worker.kinds.bench import furnish
from traindyno.worker.kinds.feed import CACHED_PACE
from traindyno.worker.kinds.loads import bad_of, budget_of, intervals_of, skipping
from traindyno.worker.kinds.summary import measurement_of
from traindyno.worker.later_steps import of_later_steps, with_one_optimizer
from traindyno.worker.steps import Step, finite_loss
from traindyno.worker.timing import time_block

NOT_PROFILED = "how long the GPU computes is not known: torch's profiler saw nothing of it (CUPTI missing or forbidden)"
NO_STEP = "no step could be made to count"
NOT_QUEUED = "the host waits for the GPU in every step, so how long it takes to queue one cannot be told"


@dataclass(frozen=True)
class Fed:
    """What was seen of the steps while they were fed."""

    first_step_seconds: float
    told: FlowTiming
    turns: Turns
    memory: Memory
    loading: Loading
    host_step_seconds: float | None
    transfers: tuple[Transfer, ...]
    busy_seconds: float | None
    notes: tuple[str, ...]


def measure_anatomy(spec: TrialSpec, device: Device, channel: Channel) -> Measurement:
    """Timing first, undisturbed; what counts, profiles or fills memory comes after it, and may fail by itself."""
    assert spec.feed.supply != "resident", "the anatomy of a step begins with its batch"
    assert spec.feed.depth == "examples", "a model takes whole examples"
    start = time.monotonic()
    prepare(spec, device, channel)
    job = with_one_optimizer(build(spec, device, channel))
    start_up_seconds = time.monotonic() - start
    extras = Extras()
    with skipping(spec) as skipped:
        with open_source(spec, job, channel, skipped) as source:
            fed = _measure_fed(spec, job, source, device, channel, extras)
        left_out = bad_of(skipped)
    work = _work(spec, job, device, channel, extras)
    timing = fed.told.timing
    return measurement_of(
        spec,
        device,
        timing.after_first_step,
        fed.told.counted,
        timing.loss,
        steady=timing.steady_from is not None,
        start_up_seconds=start_up_seconds,
        first_step_seconds=fed.first_step_seconds,
        memory=fed.memory,
        examples_in_data=job.examples_in_data,
        loading=msgspec.structs.replace(fed.loading, **left_out),
        anatomy=_anatomy(fed, work),
        fed=True,
        notes=[*job.notes, *fed.notes, *extras.notes],
    )


def _measure_fed(spec: TrialSpec, job: Job, source: Source, device: Device, channel: Channel, extras: Extras) -> Fed:
    pace = pace_of(spec.settings) if spec.feed.supply == "loader" else CACHED_PACE
    instruments, spans = open_instruments(device.torch_device), NamedSpans()
    with FedSteps(spec, job, source.supply, device) as steps:
        plain, instrumented, named = steps.step(), steps.step(instruments), steps.step(spans)
        channel.phase("first step")
        first, loss = time_block(plain, 1, device)
        finite_loss(loss)
        placed = steps.placed
        turns = Turns(
            plain,
            instrumented,
            instruments,
            placed,
            steps.waits,
            pace,
            device,
            channel,
            ahead=placed.load_ahead,
            ready=source.ready,
            skip=placed.next,
        )
        told = turns.run(budget_of(spec))
        memory = device.memory()
        # Before the profiler, which leaves every later launch a little slower.
        queued = _queue_seconds(spec, job, device, channel, extras)
        channel.phase("profile")
        _trace(spec, named, spans, steps, device, extras)
        busy = _busy_seconds(plain, steps, device, extras)
        transfers = extras.attempt(
            "how long a batch takes to the device is not known",
            lambda: time_transfers(source.supply.take, spec.settings, device),
        )
    loading = msgspec.structs.replace(
        source.loading,
        wait_seconds=fmean(chain.from_iterable(told.waits)),
        intervals=intervals_of(list(chain.from_iterable(told.waits))),
    )
    return Fed(first.seconds, told, turns, memory, loading, queued, transfers or (), busy, source.notes)


def _queue_seconds(spec: TrialSpec, job: Job, device: Device, channel: Channel, extras: Extras) -> float | None:
    """Of a step on a resident batch, for which the host never waits."""
    if device.torch_device.type != "cuda":
        return None

    def queued() -> float | None:
        step = _resident_step(spec, job, device, channel)
        channel.phase("queueing")
        seconds = queue_seconds(step, device, lambda: channel.step(0))
        if seconds is None:
            extras.notes.append(NOT_QUEUED)
        return seconds

    return extras.attempt("how long the host takes to queue a step is not known", queued)


def _trace(spec: TrialSpec, named: Step, spans: NamedSpans, steps: FedSteps, device: Device, extras: Extras) -> None:
    """Write the trace, if one is wanted."""
    path = spec.trace_path
    if path is None:
        return

    def traced() -> None:
        steps.make_room(TRACED_STEPS)
        with steps.waits.marking(spans):
            write_trace(named, spans, path, device)

    extras.attempt("no trace was written", traced)


def _busy_seconds(step: Step, steps: FedSteps, device: Device, extras: Extras) -> float | None:
    if device.torch_device.type != "cuda":
        return None

    def busy() -> float | None:
        steps.make_room(BUSY_STEPS)
        seconds = busy_seconds(step, device)
        if seconds is None:
            extras.notes.append(NOT_PROFILED)
        return seconds

    return extras.attempt("how long the GPU computes is not known", busy)


def _work(spec: TrialSpec, job: Job, device: Device, channel: Channel, extras: Extras) -> Work:
    def counted() -> Work:
        step = _resident_step(spec, job, device, channel)
        channel.phase("counting")
        return count_work(step, spec.settings)

    work = extras.attempt("what a step computes was not counted", counted) or Work(uncounted_because=NO_STEP)
    channel.phase(CEILINGS)
    return msgspec.structs.replace(
        work,
        flops_per_second_ceiling=extras.attempt(
            "the most that the device computes is not known", lambda: flops_per_second_ceiling(spec.settings, device)
        ),
        bytes_per_second_ceiling=extras.attempt(
            "the most that the device moves is not known", lambda: bytes_per_second_ceiling(device)
        ),
    )


def _resident_step(spec: TrialSpec, job: Job, device: Device, channel: Channel) -> Step:
    return furnish(of_later_steps(spec), job, device, channel, time.monotonic()).step


def _anatomy(fed: Fed, work: Work) -> Anatomy:
    plain = fed.told.counted
    instrumented = fed.turns.instrumented_blocks[-len(plain) :]
    cost, cost_ci95 = instrument_cost(plain, instrumented)
    plain_seconds, plain_ci95 = sustained_seconds(plain)
    assert fed.loading.wait_seconds is not None
    return Anatomy(
        phases=phases_of(fed.turns.readings[-len(plain) :]),
        plain_step_seconds=plain_seconds,
        plain_ci95=plain_ci95,
        instrumented_step_seconds=sustained_seconds(instrumented)[0],
        instrument_cost=cost,
        instrument_cost_ci95=cost_ci95,
        load_wait_seconds=fed.loading.wait_seconds,
        host_step_seconds=fed.host_step_seconds,
        busy_seconds=fed.busy_seconds,
        transfers=fed.transfers,
        work=work,
    )
