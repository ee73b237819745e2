"""From the turns of a group to its measurement and the readings of its ranks."""

from statistics import fmean
from typing import NamedTuple

import torch
from msgspec.structs import replace

from traindyno.core.answers.interval import Interval
from traindyno.core.records import Measurement, Memory, TrialSpec
from traindyno.core.scaling import Backend, ExchangeReading, RankReading, Scaling
from traindyno.worker.devices import Device
from traindyno.worker.image_data import image_size_of
from traindyno.worker.job import Job
from traindyno.worker.kinds.summary import measurement_of
from traindyno.worker.ranks.figures import difference_of, figure_of
from traindyno.worker.ranks.turns import TurnsTaken, blocks_of


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
        fed=taken.fed,
    )
    return replace(measurement, scaling=_scaling(spec, taken, sent, device))


def _scaling(spec: TrialSpec, taken: TurnsTaken, sent: Sent, device: Device) -> Scaling:
    assert spec.group is not None, "a trial of several devices has a group"
    turns = tuple(reading.turn for reading in taken.counted)
    alone_seconds, alone_ci95 = figure_of([turn.alone for turn in turns], taken.fed)
    exposed_seconds, exposed_ci95 = difference_of([turn.together - turn.alone for turn in turns], taken.fed)
    exchange_seconds, exchange_ci95 = sent.whole or (None, None)
    return Scaling(
        devices=spec.group.devices,
        nodes=spec.group.nodes,
        backend=sent.backend,
        ranks=(),
        turns=turns,
        alone_seconds=alone_seconds,
        alone_ci95=alone_ci95,
        exposed_seconds=exposed_seconds,
        exposed_ci95=exposed_ci95,
        gradient_bytes=sent.gradient_bytes,
        bucket_bytes=sent.bucket_bytes,
        exchange_seconds=exchange_seconds,
        exchange_ci95=exchange_ci95,
        exchanges=sent.exchanges,
        threads=threads_of(device),
    )


def rank_reading(taken: TurnsTaken, rank: int, host: str, device: Device, memory: Memory) -> RankReading:
    """This rank's own step without communication, and its waits with and without, over the turns that count."""
    step_seconds, ci95 = figure_of([reading.own_seconds[rank] for reading in taken.counted], taken.fed)
    waits = [(reading.load_seconds[rank], reading.together_load_seconds[rank]) for reading in taken.counted]
    return RankReading(
        rank=rank,
        node=host,
        device=str(device.torch_device),
        step_seconds=step_seconds,
        ci95=ci95,
        load_seconds=fmean(alone for alone, _ in waits) if taken.fed else None,
        together_load_seconds=fmean(together for _, together in waits) if taken.fed else None,
        peak_memory_bytes=memory.peak_bytes,
    )


def threads_of(device: Device) -> int | None:
    """Threads that torch computes with on a CPU."""
    return torch.get_num_threads() if device.torch_device.type == "cpu" else None
