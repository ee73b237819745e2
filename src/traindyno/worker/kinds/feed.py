"""How fast is training when it is fed? The step on resident data first, then the same step on fresh batches.

On a CPU, whose speed may change with the load, the step by itself is looked at once more at the end.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean

import msgspec

from traindyno.analysis.flow_pace import Pace, pace_of
from traindyno.analysis.second_look import resident_of_looks
from traindyno.core.loading import Loading
from traindyno.core.records import Block, Measurement, TrialSpec
from traindyno.worker.batches import host_bytes
from traindyno.worker.channel import Channel
from traindyno.worker.data.bad import SkippedExamples
from traindyno.worker.data.loadable import loadable
from traindyno.worker.data.placed import PlacedSupply, Supply
from traindyno.worker.data.stopwatch import Stopwatch
from traindyno.worker.data.supply import CachedSupply, LoaderSupply, host_batches
from traindyno.worker.data.usage import Usage
from traindyno.worker.devices import Device
from traindyno.worker.flow_timing import DEFAULT_SECONDS, FlowTimer, FlowTiming
from traindyno.worker.image_data import image_size_of
from traindyno.worker.job import Job
from traindyno.worker.kinds.bench import set_up, time_resident
from traindyno.worker.kinds.loads import bad_of, budget_of, disk_note, intervals_of, skipping
from traindyno.worker.kinds.summary import measurement_of
from traindyno.worker.later_steps import of_later_steps
from traindyno.worker.lead import Ready, untold
from traindyno.worker.loaders import own_loader
from traindyno.worker.steps import Step, make_fed_step
from traindyno.worker.timing import Timing, time_block

CACHED_PACE = Pace(discarded=4, turn=1, measured=8)
SECOND_LOOK_BLOCKS = 3
SECOND_LOOK_SHARE = 0.1
"""Of a trial's time: a second look takes no further block after that."""


@dataclass(frozen=True)
class Fed:
    """The fed run, and what was learnt about loading on the way."""

    told: FlowTiming
    loading: Loading
    notes: tuple[str, ...] = ()


def measure_feed(spec: TrialSpec, device: Device, channel: Channel) -> Measurement:
    """Both runs are of one process and one model; on a GPU the resident batch is gone when the fed run begins.

    On a CPU the step stays for its second look, and shares its optimiser with the fed one.
    """
    assert spec.feed.supply != "resident", "a speed trial is the resident run"
    assert spec.feed.depth == "examples", "a model takes whole examples"
    looks_again = device.torch_device.type == "cpu"
    bench = set_up(spec, device, channel, one_optimizer=looks_again)
    job, set_up_seconds, resident = bench.job, bench.start_up_seconds, time_resident(spec, bench, device, channel)
    step, has_images = bench.step if looks_again else None, bench.has_images
    del bench
    with skipping(spec) as skipped:
        feed = _from_loader if spec.feed.supply == "loader" else _from_cache
        fed = feed(of_later_steps(spec) if looks_again else spec, job, device, channel, skipped)
        left_out = bad_of(skipped)
    after = () if step is None else _look_again(step, resident, spec, device, channel)
    timing, alone = fed.told.timing, resident_of_looks(resident.counted, after)
    return measurement_of(
        spec,
        device,
        (*resident.discarded, *timing.after_first_step),
        fed.told.counted,
        timing.loss,
        steady=timing.steady_from is not None,
        start_up_seconds=set_up_seconds,
        first_step_seconds=resident.first_step_seconds,
        examples_in_data=job.examples_in_data,
        image_size=image_size_of(job.source),
        has_images=has_images,
        loading=msgspec.structs.replace(
            fed.loading,
            resident_step_seconds=alone.step_seconds,
            resident_ci95=alone.ci95,
            resident_drift=alone.drift,
            wait_seconds=fmean(chain.from_iterable(fed.told.waits)),
            **left_out,
        ),
        fed=True,
        notes=[*job.notes, *fed.notes],
    )


def _look_again(step: Step, before: Timing, spec: TrialSpec, device: Device, channel: Channel) -> Sequence[Block]:
    """A few blocks like those before; the first step still finds the loader's leavings in the caches."""
    channel.phase("steps")
    seconds = DEFAULT_SECONDS if spec.budget.seconds is None else spec.budget.seconds
    steps, deadline = before.blocks[-1].steps, time.monotonic() + SECOND_LOOK_SHARE * seconds
    time_block(step, 1, device)
    blocks: list[Block] = []
    while not blocks or (len(blocks) < SECOND_LOOK_BLOCKS and time.monotonic() < deadline):
        block, _ = time_block(step, steps, device, alive=channel.alive)
        channel.step(steps * (len(blocks) + 1), block.seconds / steps)
        blocks.append(block)
    return blocks


def _from_loader(spec: TrialSpec, job: Job, device: Device, channel: Channel, skipped: SkippedExamples | None) -> Fed:
    channel.phase("data")
    with LoaderSupply(loadable(job.source), spec, skipped, lambda: channel.step(0)) as supply:
        start_up_seconds, first = supply.start()
        batch_bytes, fill_seconds = host_bytes(first), getattr(first, "fill_seconds", None)
        del first
        usage, pace = Usage(), pace_of(spec.settings)
        told = _timed(supply, pace, spec, job, device, channel, lambda: usage.begin(supply.flow), supply.ready)
        used, warmth = usage.end(supply.flow), supply.warmth
    batches, own = sum(block.steps for block in told.timing.blocks), own_loader(job.source)
    loading = Loading(
        start_up_seconds=start_up_seconds,
        intervals=intervals_of(list(chain.from_iterable(told.waits))),
        fill_seconds=fill_seconds,
        batch_bytes=batch_bytes,
        worker_cpu_seconds=used.cpu_seconds_per(batches),
        cached_share=warmth.cached_share,
        own_batch_size=None if own is None else own.batch_size,
        own_workers=None if own is None else own.num_workers,
    )
    return Fed(told, loading, (*warmth.notes, *disk_note(spec, used.disk_bytes, batches)))


def _from_cache(spec: TrialSpec, job: Job, device: Device, channel: Channel, skipped: SkippedExamples | None) -> Fed:
    channel.phase("data")
    batches = host_batches(job.source, spec, skipped, lambda: channel.step(0))
    told = _timed(CachedSupply(batches), CACHED_PACE, spec, job, device, channel, lambda: None)
    return Fed(told, Loading(batch_bytes=host_bytes(batches[0])))


def _timed(
    supply: Supply,
    pace: Pace,
    spec: TrialSpec,
    job: Job,
    device: Device,
    channel: Channel,
    at_start: Callable[[], None],
    ready: Ready = untold,
) -> FlowTiming:
    waits = Stopwatch()
    with PlacedSupply(supply, job.source, spec.settings, device.torch_device, waits) as placed:
        step = make_fed_step(job, placed.next, spec.workload, spec.settings, device)
        timer = FlowTimer(
            step,
            placed,
            waits,
            pace,
            device,
            channel,
            at_start,
            ahead=placed.load_ahead,
            ready=ready,
            skip=placed.next,
        )
        return timer.run(budget_of(spec))
