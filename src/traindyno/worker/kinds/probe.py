"""What does an example cost in one process, stage by stage? And what its step and the way to the device?

Both are asked of a workload with a model whose batches are to be resident; else only the first.
"""

import functools
import time
from dataclasses import dataclass, field
from typing import Any

import msgspec
import torch

from traindyno.analysis.intervals import median, median_interval
from traindyno.analysis.steady import precise_enough, steady_from
from traindyno.analysis.sustained import sustained_seconds
from traindyno.core.loading import Loading, StageCost, StageName
from traindyno.core.records import Block, Measurement, TrialSpec
from traindyno.worker.batches import host_bytes
from traindyno.worker.building import build, prepare
from traindyno.worker.channel import Channel
from traindyno.worker.data.hand_over import hand_off_seconds, transfer_seconds
from traindyno.worker.data.loadable import loadable
from traindyno.worker.data.staged import Staged, Stages
from traindyno.worker.devices import Device
from traindyno.worker.flow_timing import DEFAULT_SECONDS
from traindyno.worker.job import Job
from traindyno.worker.kinds.bench import furnish, time_resident
from traindyno.worker.kinds.loads import bad_of, open_loadable, skipping
from traindyno.worker.kinds.summary import measurement_of
from traindyno.worker.steps import Step

LEAST_BATCHES, LEAST_IN_TIME = 6, 4
"""Fewer where they are so large that time is up before."""
STEPS_FOR_CPU_TIME, LEAST_STEPS_FOR_CPU_TIME = 7, 3
SECONDS_FOR_CPU_TIME = 1.0
"""Fewer steps where they take longer than this."""


@dataclass
class StageReadings:
    """The seconds of whole batches in each stage, by the wall's clock and by that of the process's CPU time."""

    walls: list[Stages] = field(default_factory=list)
    cpus: list[Stages] = field(default_factory=list)

    def costs(self, batch_size: int) -> tuple[StageCost, ...]:
        """Per example, in the order of the work."""
        return tuple(self._cost(stage, batch_size) for stage in self.walls[0])

    def _cost(self, stage: StageName, batch_size: int) -> StageCost:
        walls = [stages.get(stage, 0.0) / batch_size for stages in self.walls]
        interval = median_interval(walls) if min(walls) > 0 else (min(walls), max(walls))
        computing = median([stages.get(stage, 0.0) / batch_size for stages in self.cpus])
        return StageCost(stage=stage, seconds=median(walls), ci95=interval, cpu_seconds=computing)


def measure_probe(spec: TrialSpec, device: Device, channel: Channel) -> Measurement:
    """The step first, in a fresh process as in other trials; then loading by one thread, as in a worker."""
    began = time.monotonic()
    prepare(spec, device, channel)
    job = build(spec, device, channel) if spec.workload.model and spec.feed.supply == "resident" else None
    source = open_loadable(spec, channel) if job is None else loadable(job.source)
    set_up_seconds = time.monotonic() - began
    loading = Loading() if job is None else _time_step(spec, job, device, channel)
    with skipping(spec) as skipped:
        readings, batch = _time_stages(source.staged(spec.settings, spec.seed, skipped), spec, channel)
        left_out = bad_of(skipped)
    channel.phase("hand-over")
    loading = msgspec.structs.replace(
        loading,
        stages=readings.costs(spec.settings.batch_size),
        batch_bytes=host_bytes(batch),
        most_workers=source.most_workers,
        hand_off_seconds=hand_off_seconds(batch, spec.settings),
        transfer_seconds=None if job is None else transfer_seconds(batch, source, spec.settings, device),
        **left_out,
    )
    blocks = [Block(steps=1, seconds=sum(stages.values())) for stages in readings.walls]
    return measurement_of(
        spec,
        device,
        blocks,
        blocks,
        None,
        steady=steady_from([block.seconds for block in blocks]) is not None,
        start_up_seconds=set_up_seconds,
        examples_in_data=source.examples,
        loading=loading,
        notes=source.notes if job is None else job.notes,
    )


def _time_step(spec: TrialSpec, job: Job, device: Device, channel: Channel) -> Loading:
    bench = furnish(spec, job, device, channel, time.monotonic())
    timing = time_resident(spec, bench, device, channel)
    seconds, interval = sustained_seconds(timing.counted)
    return Loading(
        resident_step_seconds=seconds,
        resident_ci95=interval,
        step_cpu_seconds=_step_cpu_seconds(bench.step, device),
    )


def _time_stages(staged: Staged, spec: TrialSpec, channel: Channel) -> tuple[StageReadings, Any]:
    """Batch after batch, by turns with either clock; the data of each is read once before. The first does not count."""
    channel.phase("data")
    alive = functools.partial(channel.step, 0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    staged.touch(alive)
    staged.make(time.perf_counter)
    channel.phase("stages")
    readings = StageReadings()
    wall, cpu = (readings.walls, time.perf_counter), (readings.cpus, time.process_time)
    deadline = time.monotonic() + (DEFAULT_SECONDS if spec.budget.seconds is None else spec.budget.seconds)
    while True:
        for kept, clock in (wall, wall, cpu):
            staged.touch(alive)
            stages, batch = staged.make(clock)
            kept.append(stages)
            channel.step(len(readings.walls))
        seconds = [sum(each.values()) for each in readings.walls]
        late = time.monotonic() >= deadline
        if late and len(seconds) >= LEAST_IN_TIME:
            break
        if len(seconds) >= LEAST_BATCHES and precise_enough(seconds, spec.budget.relative_interval):
            break
    torch.set_num_threads(threads)
    return readings, batch


def _step_cpu_seconds(step: Step, device: Device) -> float:
    """CPU time of the whole process for one step; of a GPU's step, to launch it, without waiting for the GPU."""
    readings: list[float] = []
    deadline = time.monotonic() + SECONDS_FOR_CPU_TIME
    while len(readings) < STEPS_FOR_CPU_TIME:
        device.synchronize()
        if len(readings) >= LEAST_STEPS_FOR_CPU_TIME and time.monotonic() > deadline:
            break
        start = time.process_time()
        step()
        readings.append(time.process_time() - start)
    return median(readings)
