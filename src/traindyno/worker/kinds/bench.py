"""What every kind of trial sets up: the device, the job, one resident batch and the step."""

import time
from dataclasses import dataclass
from typing import Any

from traindyno.core.records import TrialSpec
from traindyno.worker.building import build, prepare
from traindyno.worker.channel import Channel
from traindyno.worker.devices import Device
from traindyno.worker.flow_timing import DEFAULT_SECONDS
from traindyno.worker.job import Job
from traindyno.worker.knobs.layout import has_images, laid_out
from traindyno.worker.later_steps import with_one_optimizer
from traindyno.worker.steps import Step, make_step
from traindyno.worker.timing import Timing, time_steps

RESIDENT_SHARE = 0.5


@dataclass(frozen=True)
class Bench:
    """A workload on its device, ready for the first step. `has_images` says whether a memory format can matter."""

    job: Job
    batch: Any
    step: Step
    start_up_seconds: float
    has_images: bool


def set_up(spec: TrialSpec, device: Device, channel: Channel, *, one_optimizer: bool = False) -> Bench:
    """Build the workload on the device. The clock of start-up runs from here.

    `one_optimizer` is for jobs of which further steps are made while this one stays.
    """
    start = time.monotonic()
    prepare(spec, device, channel)
    job = build(spec, device, channel)
    return furnish(spec, with_one_optimizer(job) if one_optimizer else job, device, channel, start)


def furnish(spec: TrialSpec, job: Job, device: Device, channel: Channel, start: float) -> Bench:
    """Put one batch on the device, and make the step."""
    channel.phase("data")
    batch = laid_out(job.batch(spec.settings.batch_size, device.torch_device, spec.seed), spec.settings)
    step = make_step(job, batch, spec.workload, spec.settings, device)
    device.synchronize()
    return Bench(
        job=job,
        batch=batch,
        step=step,
        start_up_seconds=time.monotonic() - start,
        has_images=has_images(job.model, batch),
    )


def time_resident(spec: TrialSpec, bench: Bench, device: Device, channel: Channel) -> Timing:
    """The step on its resident batch, in trials that measure something else besides."""
    seconds = DEFAULT_SECONDS if spec.budget.seconds is None else spec.budget.seconds
    return time_steps(bench.step, device, channel, RESIDENT_SHARE * seconds, spec.budget.relative_interval)
