"""What every kind of trial sets up: the device, the job, one resident batch and the step."""

import time
from dataclasses import dataclass
from typing import Any

import torch

from traindyno.core.records import TrialSpec
from traindyno.core.setting_checks import check_settings
from traindyno.worker.channel import Channel
from traindyno.worker.data.affinity import restrict_to_cpus
from traindyno.worker.devices import Device
from traindyno.worker.flow_timing import DEFAULT_SECONDS
from traindyno.worker.job import Job, build_job
from traindyno.worker.knobs.checkpointing import checkpoint_activations
from traindyno.worker.knobs.compiling import compile_model, use_own_cache
from traindyno.worker.knobs.flags import set_before_cuda, set_flags
from traindyno.worker.knobs.layout import laid_out, lay_out_model
from traindyno.worker.steps import Step, make_step
from traindyno.worker.timing import Timing, time_steps

RESIDENT_SHARE = 0.5


@dataclass(frozen=True)
class Bench:
    """A workload on its device, ready for the first step."""

    job: Job
    batch: Any
    step: Step
    start_up_seconds: float


def set_up(spec: TrialSpec, device: Device, channel: Channel) -> Bench:
    """Build the workload on the device. The clock of start-up runs from here."""
    start = time.monotonic()
    prepare(spec, device, channel)
    job = build(spec, device, channel)
    return furnish(spec, job, device, channel, start)


def prepare(spec: TrialSpec, device: Device, channel: Channel) -> None:
    """The trial's limits, and what must be settled before CUDA and the compiler start."""
    channel.phase("device")
    check_settings(spec.settings, spec.workload.mode, str(device.torch_device))
    set_before_cuda(spec.settings)
    use_own_cache(spec)
    if spec.feed.cpus is not None:
        restrict_to_cpus(spec.feed.cpus)
    device.prepare(spec)
    torch.manual_seed(spec.seed)


def build(spec: TrialSpec, device: Device, channel: Channel) -> Job:
    """The workload with its model on the device, as the settings want it."""
    channel.phase("model")
    job = build_job(spec.workload, device.torch_device, lambda _done, _total: channel.step(0))
    job.criterion.seed = spec.seed
    job.model.to(device.torch_device)
    set_flags(spec.settings)
    lay_out_model(job.model, spec.settings)
    if spec.settings.activation_checkpointing:
        job.notes.extend(checkpoint_activations(job.model))
    compile_model(job.model, spec.settings)
    return job


def furnish(spec: TrialSpec, job: Job, device: Device, channel: Channel, start: float) -> Bench:
    """Put one batch on the device, and make the step."""
    channel.phase("data")
    batch = laid_out(job.batch(spec.settings.batch_size, device.torch_device, spec.seed), spec.settings)
    step = make_step(job, batch, spec.workload, spec.settings, device)
    device.synchronize()
    return Bench(job=job, batch=batch, step=step, start_up_seconds=time.monotonic() - start)


def time_resident(spec: TrialSpec, bench: Bench, device: Device, channel: Channel) -> Timing:
    """The step on its resident batch, in trials that measure something else besides."""
    seconds = DEFAULT_SECONDS if spec.budget.seconds is None else spec.budget.seconds
    return time_steps(bench.step, device, channel, RESIDENT_SHARE * seconds, spec.budget.relative_interval)
