"""What one rank measures: with others, its steps together and alone by turns; without, the plain step."""

import contextlib
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from msgspec.structs import replace
from torch.nn.parallel import DistributedDataParallel

from traindyno.core.records import TrialSpec
from traindyno.worker.building import build, prepare
from traindyno.worker.channel import Channel
from traindyno.worker.data.loadable import loadable
from traindyno.worker.data.placed import PlacedSupply
from traindyno.worker.data.stopwatch import Stopwatch
from traindyno.worker.data.supply import LoaderSupply
from traindyno.worker.devices import Device
from traindyno.worker.job import Job
from traindyno.worker.kinds.loads import budget_of, skipping
from traindyno.worker.knobs.layout import laid_out
from traindyno.worker.learning.processes import Processes
from traindyno.worker.ranks.alone import measure_alone
from traindyno.worker.ranks.crew import Crew, met
from traindyno.worker.ranks.exchanges import Exchanger
from traindyno.worker.ranks.launching import ranks_per_node
from traindyno.worker.ranks.members import RankResult
from traindyno.worker.ranks.reporting import RankChannel
from traindyno.worker.ranks.sharing import SharedJob, bucket_bytes, buffer_sharing, gradient_bytes, share_gradients
from traindyno.worker.ranks.step_times import Arrivals
from traindyno.worker.ranks.summary import Sent, group_measurement, rank_reading
from traindyno.worker.ranks.turns import Pace, Turns
from traindyno.worker.steps import Marks, Step, make_fed_step, make_step


def measure_rank(spec: TrialSpec, processes: Processes, device: Device, channel: RankChannel) -> RankResult:
    """The whole of a rank's work, on its own share of the batch."""
    own = own_share(spec, processes, device)
    if processes.alone:
        return measure_alone(own, device, channel)
    return _measure_together(spec, own, processes, device, channel)


def own_share(spec: TrialSpec, processes: Processes, device: Device) -> TrialSpec:
    """The trial as one rank has it: its part of the batch, and of memory where the ranks of a machine share that."""
    settings = replace(spec.settings, batch_size=processes.share_of(spec.settings.batch_size))
    limit = spec.memory_limit_bytes
    if limit is not None and device.torch_device.type == "cpu":
        limit //= ranks_per_node(spec)
    return replace(spec, settings=settings, memory_limit_bytes=limit)


def _measure_together(
    spec: TrialSpec, own: TrialSpec, processes: Processes, device: Device, channel: RankChannel
) -> RankResult:
    """Weights are those of the trial's seed on every rank; batches are each rank's own."""
    assert spec.group is not None, "a trial of several devices has a group"
    start, position = time.monotonic(), channel.position
    prepare(own, device, channel)
    with met(processes, device, channel, position) as crew:
        job = build(own, device, channel)
        job, wrapped = share_gradients(job, spec.group.bucket_mib, device)
        torch.manual_seed(spec.seed + processes.rank)
        with supplied(replace(own, seed=spec.seed + processes.rank), job, device, channel, position) as supply:
            start_up_seconds = time.monotonic() - start
            turns = Turns(supply.step, wrapped, crew, device, channel, position, supply.arrivals, supply.pace)
            taken = turns.take(budget_of(spec))
        memory = device.memory()
        # What is exchanged by itself takes the memory of the gradients and of the batch, which may have taken all.
        del turns, supply
        wrapped.zero_grad(set_to_none=True)
        channel.phase("exchanges")
        sent = _sent(job, wrapped, crew, device)
    reading = rank_reading(taken, processes.rank, socket.gethostname(), device, memory)
    measurement = None
    if processes.first:
        measurement = group_measurement(spec, job, taken, sent, memory, start_up_seconds, device)
    return RankResult(reading=reading, memory=memory, measurement=measurement, notes=tuple(job.notes))


def _sent(job: Job, wrapped: DistributedDataParallel, crew: Crew, device: Device) -> Sent:
    """What a step sends, and how long that and other sizes take by themselves. A user's own hook may send otherwise."""
    dtype = next(each.dtype for each in job.model.parameters() if each.requires_grad)
    exchanger, buckets = Exchanger(crew, device, dtype), bucket_bytes(wrapped)
    whole = None if job.communication_hook is not None else exchanger.time_of(buckets, buffer_sharing(wrapped))
    return Sent(crew.backend, gradient_bytes(wrapped), buckets, whole, exchanger.readings())


@dataclass(frozen=True)
class Supplied:
    """A step with its batches; `arrivals` are those of a loader's."""

    step: Step
    pace: Pace
    arrivals: Arrivals | None = None


@contextlib.contextmanager
def supplied(spec: TrialSpec, job: SharedJob, device: Device, channel: Channel, marks: Marks) -> Iterator[Supplied]:
    """The step on one resident batch, or on those of this rank's own loader."""
    assert spec.feed.supply != "cached", "a group has resident batches or loaders"
    assert not spec.feed.cold, "what is read once cannot be taken by turns"
    channel.phase("data")
    settings = spec.settings
    if spec.feed.supply == "resident":
        batch = laid_out(job.batch(settings.batch_size, device.torch_device, spec.seed), settings)
        yield Supplied(make_step(job, batch, spec.workload, settings, device, marks), Pace())
        return
    with (
        skipping(spec) as skipped,
        LoaderSupply(loadable(job.source), spec, skipped, lambda: channel.step(0)) as supply,
    ):
        supply.start()
        waits = Stopwatch()
        with PlacedSupply(supply, job.source, settings, device.torch_device, waits) as placed:
            arrivals, ahead = Arrivals(waits), settings.num_workers * settings.prefetch_factor
            step = make_fed_step(job, arrivals.of(placed.next), spec.workload, settings, device, marks)
            turn = max(1, settings.num_workers)
            yield Supplied(step, Pace(1 + turn, 1 + 2 * ahead, turn, workers=settings.num_workers > 0), arrivals)
