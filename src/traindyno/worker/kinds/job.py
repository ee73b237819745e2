"""A whole training job of the user's own: their function is called once, and what it returns is the metric."""

import time

import torch

from traindyno.core.records import Block, Measurement, TrialSpec
from traindyno.core.rounds import JobResult
from traindyno.worker.building import prepare
from traindyno.worker.channel import Channel
from traindyno.worker.devices import Device
from traindyno.worker.knobs.flags import set_flags
from traindyno.worker.learning.randomness import seed_others
from traindyno.worker.own_jobs import Reports, job_result, load_job
from traindyno.worker.user_file import place_of


def measure_job(spec: TrialSpec, device: Device, channel: Channel) -> Measurement:
    """All that the function draws at random comes from the seed, unless it sets another. Nothing ends it early."""
    start = time.monotonic()
    prepare(spec, device, channel)
    channel.phase("model")
    reports = Reports(channel)
    call, promised = load_job(spec, reports)
    set_flags(spec.settings)
    torch.manual_seed(spec.seed)
    seed_others(spec.seed)
    start_up_seconds = time.monotonic() - start
    reports.begin(promised)
    returned = call()
    device.synchronize()
    result = job_result(returned, place_of(spec.workload.model), reports, reports.seconds)
    device.check_memory()
    return _measurement(result, device, start_up_seconds)


def _measurement(result: JobResult, device: Device, start_up_seconds: float) -> Measurement:
    """What one example or one step of the job is, only the job knows: the whole of it counts as one."""
    seconds = result.seconds
    return Measurement(
        batch_size=1,
        steps=1,
        step_seconds=seconds,
        ci95=(seconds, seconds),
        steady=False,
        blocks=(Block(steps=1, seconds=seconds),),
        memory=device.memory(),
        start_up_seconds=start_up_seconds,
        first_step_seconds=result.points[0].seconds if result.points else seconds,
        warm_up_seconds=0.0,
        warm_up_steps=0,
        training_seconds=seconds,
        job=result,
    )
