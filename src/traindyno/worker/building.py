"""What every trial begins with: its limits, and the workload on its device as the settings want it."""

import dataclasses
from collections.abc import Callable

import torch

from traindyno.core.records import TrialSpec
from traindyno.core.setting_checks import check_settings
from traindyno.worker.channel import Channel
from traindyno.worker.data.affinity import restrict_to_cpus
from traindyno.worker.devices import Device
from traindyno.worker.job import Job, build_job
from traindyno.worker.knobs.checkpointing import checkpoint_activations
from traindyno.worker.knobs.compiling import compile_model, use_own_cache
from traindyno.worker.knobs.flags import set_before_cuda, set_flags
from traindyno.worker.knobs.layout import lay_out_model
from traindyno.worker.knobs.streams import leave_default_stream
from traindyno.worker.loaders import DatasetSource, LoaderSource


def prepare(spec: TrialSpec, device: Device, channel: Channel) -> None:
    """The trial's limits, and what must be settled before CUDA and the compiler start."""
    channel.phase("device")
    check_settings(spec.settings, spec.workload.mode, str(device.torch_device))
    set_before_cuda(spec.settings)
    use_own_cache(spec)
    if spec.feed.cpus is not None:
        restrict_to_cpus(spec.feed.cpus)
    device.prepare(spec)
    leave_default_stream(spec.settings, device.torch_device)
    torch.manual_seed(spec.seed)


def build(spec: TrialSpec, device: Device, channel: Channel, adapt: Callable[[Job], None] = lambda _job: None) -> Job:
    """The workload with its model on the device, as the settings want it; what `adapt` changes comes before them."""
    channel.phase("model")
    job = build_job(spec.workload, device.torch_device, lambda _done, _total: channel.step(0))
    if spec.settings.num_workers and isinstance(job.source, DatasetSource | LoaderSource):
        job.source = dataclasses.replace(job.source, by_worker=True)
    job.criterion.seed = spec.seed
    job.model.to(device.torch_device)
    set_flags(spec.settings)
    adapt(job)
    lay_out_model(job.model, spec.settings)
    if spec.settings.activation_checkpointing:
        job.notes.extend(checkpoint_activations(job.model))
    compile_model(job.model, spec.settings)
    return job
