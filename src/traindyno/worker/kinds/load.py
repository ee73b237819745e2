"""How fast is the loader alone? One who always asks takes batch after batch and does nothing with them."""

import time
from itertools import chain
from statistics import fmean

from traindyno.analysis.flow_pace import pace_of
from traindyno.core.loading import Loading
from traindyno.core.records import Measurement, TrialSpec
from traindyno.worker.batches import host_bytes
from traindyno.worker.building import prepare
from traindyno.worker.channel import Channel
from traindyno.worker.data.bad import SkippedExamples
from traindyno.worker.data.flow import dropping
from traindyno.worker.data.stopwatch import Stopwatch
from traindyno.worker.data.supply import LoaderSupply
from traindyno.worker.data.usage import Usage
from traindyno.worker.devices import Device
from traindyno.worker.flow_timing import FlowTimer
from traindyno.worker.kinds.loads import bad_of, budget_of, disk_note, intervals_of, open_loadable, skipping
from traindyno.worker.kinds.summary import measurement_of


def measure_load(spec: TrialSpec, device: Device, channel: Channel) -> Measurement:
    """Start-up apart, then steady seconds per batch, then the start of another epoch."""
    with skipping(spec) as skipped:
        return _measure(spec, device, channel, skipped)


def _measure(spec: TrialSpec, device: Device, channel: Channel, skipped: SkippedExamples | None) -> Measurement:
    began = time.monotonic()
    prepare(spec, device, channel)
    source = open_loadable(spec, channel)
    with LoaderSupply(source, spec, skipped, lambda: channel.step(0)) as supply:
        set_up_seconds = time.monotonic() - began
        first_seconds, first = supply.start()
        batch_bytes, fill_seconds = host_bytes(first), getattr(first, "fill_seconds", None)
        del first
        waits, computing, usage = Stopwatch(), Stopwatch(time.thread_time), Usage()
        step = waits.around(computing.around(dropping(supply.take)))
        pace = pace_of(spec.settings)
        timer = FlowTimer(step, supply, waits, pace, device, channel, lambda: usage.begin(supply.flow))
        told = timer.run(budget_of(spec))
        used, timing = usage.end(supply.flow), told.timing
        batches = sum(block.steps for block in timing.blocks)
        own_seconds = fmean(computing.take()[-sum(block.steps for block in told.counted) :])
        channel.phase("next epoch")
        next_epoch_seconds = None if spec.feed.cold else supply.flow.next_epoch_seconds()
    workers, warmth = spec.settings.num_workers, supply.warmth
    return measurement_of(
        spec,
        device,
        timing.after_first_step,
        told.counted,
        None,
        steady=timing.steady_from is not None,
        start_up_seconds=set_up_seconds,
        first_step_seconds=first_seconds,
        examples_in_data=source.examples,
        loading=Loading(
            start_up_seconds=first_seconds,
            next_epoch_seconds=next_epoch_seconds,
            fill_seconds=fill_seconds,
            intervals=intervals_of(list(chain.from_iterable(told.waits))),
            batch_bytes=batch_bytes,
            # Without workers the main process does their work; with pinning, a thread of its own takes the batches.
            hand_off_seconds=own_seconds if workers and not spec.settings.pin_memory else None,
            worker_cpu_seconds=used.cpu_seconds_per(batches) if workers else own_seconds,
            cached_share=warmth.cached_share,
            **bad_of(skipped),
        ),
        fed=True,
        notes=[*source.notes, *warmth.notes, *disk_note(spec, used.disk_bytes, batches)],
    )
