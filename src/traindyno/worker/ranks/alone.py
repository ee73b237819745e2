"""A group of one: the plain step as any speed trial measures it, and what torch's wrapper would add to it."""

import math
import socket
import time
from collections.abc import Sequence
from typing import NamedTuple

import torch
from msgspec.structs import replace

from traindyno.analysis.flow_pace import pace_of
from traindyno.core.answers.interval import Interval
from traindyno.core.records import Block, Measurement, TrialSpec
from traindyno.core.scaling import RankReading, Scaling, Turn
from traindyno.worker.building import build, prepare
from traindyno.worker.data.loadable import loadable
from traindyno.worker.data.placed import PlacedSupply
from traindyno.worker.data.stopwatch import Stopwatch
from traindyno.worker.data.supply import LoaderSupply
from traindyno.worker.devices import Device
from traindyno.worker.flow_timing import FlowTimer, FlowTiming
from traindyno.worker.image_data import image_size_of
from traindyno.worker.job import Job
from traindyno.worker.kinds.bench import furnish
from traindyno.worker.kinds.loads import budget_of, skipping
from traindyno.worker.kinds.summary import measurement_of
from traindyno.worker.knobs.layout import laid_out
from traindyno.worker.later_steps import of_later_steps, with_one_optimizer
from traindyno.worker.learning.processes import ALONE
from traindyno.worker.pairing.messages import Turn as PairTurn
from traindyno.worker.pairing.turns import Measure, take_turns
from traindyno.worker.ranks.crew import met
from traindyno.worker.ranks.limits import FIRST_STEP
from traindyno.worker.ranks.members import RankResult
from traindyno.worker.ranks.reporting import RankChannel
from traindyno.worker.ranks.sharing import gradient_bytes, refusal_of, share_gradients
from traindyno.worker.ranks.step_times import Arrivals, step_times_of, ticking, waited
from traindyno.worker.ranks.summary import threads_of
from traindyno.worker.steps import Step, finite_loss, make_fed_step, make_step
from traindyno.worker.timing import Timing, time_block, time_steps

DEFAULT_SECONDS = 5.0
# Of the trial's time, for the turns of the plain step and the wrapped one.
WRAPPER_SHARE = 0.5


def measure_alone(spec: TrialSpec, device: Device, channel: RankChannel) -> RankResult:
    """The plain step first, in a process that knows nothing of others; then the wrapper against it."""
    start = time.monotonic()
    prepare(spec, device, channel)
    job = with_one_optimizer(build(spec, device, channel))
    plain = _plain(spec, job, device, channel, start)
    memory = device.memory()
    ratio, ratio_ci95 = _wrapper_cost(of_later_steps(spec), job, device, channel)
    measurement = measurement_of(
        spec,
        device,
        plain.timing.after_first_step,
        plain.counted,
        plain.timing.loss,
        steady=plain.timing.steady_from is not None,
        start_up_seconds=plain.start_up_seconds,
        first_step_seconds=plain.timing.first_step_seconds,
        memory=memory,
        examples_in_data=job.examples_in_data,
        image_size=image_size_of(job.source),
        fed=plain.load_seconds is not None,
    )
    scaling = _scaling(measurement, plain.counted, job, device)
    reading = RankReading(
        rank=0,
        node=socket.gethostname(),
        device=str(device.torch_device),
        step_seconds=measurement.step_seconds,
        ci95=measurement.ci95,
        load_seconds=plain.load_seconds,
        together_load_seconds=plain.load_seconds,
        peak_memory_bytes=memory.peak_bytes,
    )
    scaling = replace(scaling, ddp_ratio=ratio, ddp_ratio_ci95=ratio_ci95)
    return RankResult(reading, memory, replace(measurement, scaling=scaling), tuple(job.notes))


class Plain(NamedTuple):
    """The plain step: its blocks, those that count, and the wait for a batch where there are batches to wait for."""

    start_up_seconds: float
    timing: Timing
    counted: tuple[Block, ...]
    load_seconds: float | None


def _plain(spec: TrialSpec, job: Job, device: Device, channel: RankChannel, start: float) -> Plain:
    """As in every fed trial, the first step is on a resident batch, which is gone before the others come."""
    bench = furnish(spec, job, device, channel, start)
    if spec.feed.supply == "resident":
        timing = time_steps(bench.step, device, channel, seconds_of(spec), spec.budget.relative_interval)
        return Plain(bench.start_up_seconds, timing, timing.counted, None)
    channel.phase(FIRST_STEP)
    first, loss = time_block(bench.step, 1, device)
    finite_loss(loss)
    start_up_seconds = bench.start_up_seconds
    del bench
    told, load_seconds = _fed(of_later_steps(spec), job, device, channel)
    return Plain(start_up_seconds, replace(told.timing, first_step_seconds=first.seconds), told.counted, load_seconds)


def seconds_of(spec: TrialSpec) -> float:
    return DEFAULT_SECONDS if spec.budget.seconds is None else spec.budget.seconds


def _fed(spec: TrialSpec, job: Job, device: Device, channel: RankChannel) -> tuple[FlowTiming, float]:
    """The plain step on fresh batches, and how long it waits for each."""
    channel.phase("data")
    waits, times = Stopwatch(), step_times_of(device.torch_device)
    arrivals = Arrivals(waits)
    with (
        skipping(spec) as skipped,
        LoaderSupply(loadable(job.source), spec, skipped, lambda: channel.step(0)) as supply,
    ):
        supply.start()
        with PlacedSupply(supply, job.source, spec.settings, device.torch_device, waits) as placed:
            step = make_fed_step(job, arrivals.of(placed.next), spec.workload, spec.settings, device)
            timer = FlowTimer(ticking(step, times), placed, Stopwatch(), pace_of(spec.settings), device, channel)
            device.synchronize()
            start = time.perf_counter()
            times.tick()
            told = timer.run(budget_of(spec))
    counted = sum(block.steps for block in told.counted)
    return told, waited(times.read(), arrivals.take(start), last=counted)


def _wrapper_cost(
    spec: TrialSpec, job: Job, device: Device, channel: RankChannel
) -> tuple[float, Interval] | tuple[None, None]:
    """The ratio, or nothing where the wrapper does not fit the device or the model: the plain step does both."""
    try:
        return _wrapper_ratio(spec, job, device, channel)
    except torch.OutOfMemoryError:
        why = "it did not fit the device"
    except (RuntimeError, AttributeError) as error:
        if (refused := refusal_of(error)) is None:
            raise
        why = f"the model does not train in it. {refused}"
    job.notes.append(f"what the wrapper for several devices costs is not known: {why}")
    return None, None


def _wrapper_ratio(spec: TrialSpec, job: Job, device: Device, channel: RankChannel) -> tuple[float, Interval]:
    """How many times as long the step takes in torch's wrapper, from blocks of both by turns on a resident batch."""
    assert spec.group is not None, "a trial of several devices has a group"
    with met(ALONE, device, channel, channel.position):
        shared, _ = share_gradients(job, spec.group.bucket_mib, device)
        channel.phase("data")
        batch = laid_out(job.batch(spec.settings.batch_size, device.torch_device, spec.seed), spec.settings)
        plain = make_step(job, batch, spec.workload, spec.settings, device)
        wrapped = make_step(shared, batch, spec.workload, spec.settings, device)
        steps = max(_warm_up(step, device, channel) for step in (plain, wrapped))
        channel.phase("wrapper")
        budget = replace(spec.budget, seconds=WRAPPER_SHARE * seconds_of(spec))
        longer, usual = (_blocks(step, steps, device, channel) for step in (wrapped, plain))
        return take_turns(longer, usual, budget).ratio


def _warm_up(step: Step, device: Device, channel: RankChannel) -> int:
    """Make a step until it can be timed; how many of it make a block."""
    return time_steps(step, device, channel, seconds=0.0, relative_interval=math.inf).blocks[-1].steps


def _blocks(step: Step, steps: int, device: Device, channel: RankChannel) -> Measure:
    """Blocks of so many steps: the first of them comes after the other kind, and costs both alike."""

    def measure() -> PairTurn:
        block, loss = time_block(step, steps, device)
        finite_loss(loss)
        channel.step(steps, block.seconds / steps)
        return PairTurn(block=block, memory=device.memory())

    return measure


def _scaling(measurement: Measurement, counted: Sequence[Block], job: Job, device: Device) -> Scaling:
    """Nobody to wait for and nothing to send: together and alone are the same."""
    seconds = [block.seconds / block.steps for block in counted]
    return Scaling(
        devices=1,
        nodes=1,
        backend=None,
        ranks=(),
        turns=tuple(Turn(together=each, alone=each, mean=each) for each in seconds),
        alone_seconds=measurement.step_seconds,
        alone_ci95=measurement.ci95,
        exposed_seconds=0.0,
        exposed_ci95=(0.0, 0.0),
        gradient_bytes=gradient_bytes(job.model),
        threads=threads_of(device),
    )
