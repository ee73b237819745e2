"""From the turns of a group to its measurement and the readings of its ranks."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from msgspec.structs import replace

from traindyno.analysis.intervals import median, median_interval, t_interval
from traindyno.core.answers.interval import Interval
from traindyno.core.records import Measurement, Memory, TrialSpec
from traindyno.core.scaling import Backend, ExchangeReading, RankReading, Scaling
from traindyno.worker.devices import Device
from traindyno.worker.image_data import image_size_of
from traindyno.worker.job import Job
from traindyno.worker.kinds.summary import measurement_of
from traindyno.worker.ranks.turns import TurnsTaken, blocks_of

FEWEST_FOR_MEDIAN = 6


class Sent(NamedTuple):
    """What a group's step sends: all gradients, in buckets; and what exchanges take with nothing beside them."""

    backend: Backend
    gradient_bytes: int
    bucket_bytes: tuple[int, ...]
    whole: tuple[float, Interval] | None
    exchanges: tuple[ExchangeReading, ...]


def group_measurement(
    spec: TrialSpec,
    job: Job,
    taken: TurnsTaken,
    sent: Sent,
    memory: Memory,
    start_up_seconds: float,
    device: Device,
) -> Measurement:
    """The measurement but for the readings of the ranks, which their captain adds."""
    measurement = measurement_of(
        spec,
        device,
        blocks_of(taken.readings),
        blocks_of(taken.counted),
        taken.loss,
        steady=taken.steady_from is not None,
        start_up_seconds=start_up_seconds,
        first_step_seconds=taken.first_step_seconds,
        memory=memory,
        examples_in_data=job.examples_in_data,
        image_size=image_size_of(job.source),
    )
    return replace(measurement, scaling=_scaling(spec, taken, sent, device))


def _scaling(spec: TrialSpec, taken: TurnsTaken, sent: Sent, device: Device) -> Scaling:
    assert spec.group is not None, "a trial of several devices has a group"
    turns = tuple(reading.turn for reading in taken.counted)
    alone = [turn.alone for turn in turns]
    exposed = [turn.together - turn.alone for turn in turns]
    exchange_seconds, exchange_ci95 = sent.whole or (None, None)
    return Scaling(
        devices=spec.group.devices,
        nodes=spec.group.nodes,
        backend=sent.backend,
        ranks=(),
        turns=turns,
        alone_seconds=median(alone),
        alone_ci95=median_interval(alone),
        exposed_seconds=median(exposed),
        exposed_ci95=difference_interval(exposed),
        gradient_bytes=sent.gradient_bytes,
        bucket_bytes=sent.bucket_bytes,
        exchange_seconds=exchange_seconds,
        exchange_ci95=exchange_ci95,
        exchanges=sent.exchanges,
        threads=threads_of(device),
    )


def difference_interval(values: Sequence[float]) -> Interval:
    """The interval of the median of values that may be negative."""
    return median_interval(values) if len(values) >= FEWEST_FOR_MEDIAN else t_interval(values)


def rank_reading(taken: TurnsTaken, rank: int, host: str, device: Device, memory: Memory, fed: bool) -> RankReading:
    """This rank's own step without communication, over the turns that count."""
    own = [reading.own_seconds[rank] for reading in taken.counted]
    waits = [reading.load_seconds[rank] for reading in taken.counted]
    return RankReading(
        rank=rank,
        node=host,
        device=str(device.torch_device),
        step_seconds=median(own),
        ci95=median_interval(own),
        load_seconds=median(waits) if fed else None,
        peak_memory_bytes=memory.peak_bytes,
    )


def threads_of(device: Device) -> int | None:
    """Threads that torch computes with on a CPU."""
    return torch.get_num_threads() if device.torch_device.type == "cpu" else None
