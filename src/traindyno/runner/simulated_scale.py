"""A simulated group of devices: each computes like one alone, and all hand their gradients around a ring.

A ring of W devices passes every message 2 (W - 1) times, a W-th of it each time. The backward pass hides the share
`overlap` of that, and never more than it is long.
"""

import math
import random
from collections.abc import Sequence

import msgspec

from traindyno.analysis.intervals import median, median_interval
from traindyno.core.records import Block, Measurement, TrialSpec
from traindyno.core.scaling import ExchangeReading, Group, RankReading, Scaling, Turn
from traindyno.runner.profile import Profile

MEBIBYTE = 2**20
EXCHANGED_BYTES = tuple(4096 * 2**power for power in (0, 4, 8, 11, 14))
FIRST_BUCKET_MIB = 1.0
BACKWARD_SHARE = 0.62
DDP_COST = 0.008
CLOSE = 0.01


def one_of(profile: Profile, spec: TrialSpec) -> TrialSpec:
    """What one of the group's devices does by itself; its loader has its share of the CPUs."""
    group = _group(spec)
    settings = msgspec.structs.replace(spec.settings, batch_size=spec.settings.batch_size // group.devices)
    cpus = max(1, (spec.feed.cpus or profile.cpus) * group.nodes // group.devices)
    return msgspec.structs.replace(spec, settings=settings, feed=msgspec.structs.replace(spec.feed, cpus=cpus))


def grouped(spec: TrialSpec) -> TrialSpec:
    """The trial with the group that its settings ask for, where it has none of its own."""
    return msgspec.structs.replace(spec, group=spec.group or Group(devices=spec.settings.devices))


def with_scaling(
    profile: Profile, spec: TrialSpec, one: Measurement, resident_seconds: float, chance: random.Random
) -> Measurement:
    """The measurement of the whole group, from that of `one` of its devices."""
    group, buckets = _group(spec), _bucket_bytes(profile, _group(spec))
    exchange = sum(exchange_seconds(profile, group.devices, size) for size in buckets)
    hidden = min(profile.overlap * exchange, BACKWARD_SHARE * one.step_seconds)
    rounds = [[_rank_seconds(profile, group, rank, block, chance) for rank in _ranks(group)] for block in one.blocks]
    turns = tuple(_turn(seconds, (exchange - hidden) * _noisy(profile, chance)) for seconds in rounds)
    together = [turn.together for turn in turns]
    load = max(0.0, one.step_seconds - resident_seconds) if spec.feed.supply == "loader" else None
    pairs = zip(turns, one.blocks, strict=True)
    return msgspec.structs.replace(
        one,
        batch_size=spec.settings.batch_size,
        step_seconds=median(together),
        ci95=median_interval(together),
        blocks=tuple(Block(steps=block.steps, seconds=turn.together * block.steps) for turn, block in pairs),
        scaling=_scaling(profile, spec, rounds, turns, buckets, load, chance),
    )


def exchange_seconds(profile: Profile, devices: int, size: int) -> float:
    """An all-reduce of so many bytes with nothing beside it."""
    hops = 2 * (devices - 1)
    return hops * (profile.latency + size / devices / profile.bandwidth)


def _scaling(
    profile: Profile,
    spec: TrialSpec,
    rounds: Sequence[Sequence[float]],
    turns: Sequence[Turn],
    buckets: Sequence[int],
    load_seconds: float | None,
    chance: random.Random,
) -> Scaling:
    group = _group(spec)
    alone, exposed = [turn.alone for turn in turns], [turn.together - turn.alone for turn in turns]
    several = group.devices > 1
    exchange = sum(exchange_seconds(profile, group.devices, size) for size in buckets) * _noisy(profile, chance)
    return Scaling(
        devices=group.devices,
        nodes=group.nodes,
        backend=("gloo" if spec.settings.device == "cpu" else "nccl") if several else None,
        ranks=tuple(_reading(spec, rank, [each[rank] for each in rounds], load_seconds) for rank in _ranks(group)),
        turns=tuple(turns),
        alone_seconds=median(alone),
        alone_ci95=median_interval(alone),
        exposed_seconds=median(exposed),
        exposed_ci95=median_interval(exposed),
        gradient_bytes=round(profile.gradient_bytes),
        bucket_bytes=tuple(buckets) if several else (),
        exchange_seconds=exchange if several else None,
        exchange_ci95=_around(exchange) if several else None,
        exchanges=tuple(_exchanges(profile, group, chance)) if several else (),
        ddp_ratio=None if several else 1 + DDP_COST,
        ddp_ratio_ci95=None if several else (1 + DDP_COST / 2, 1 + DDP_COST * 1.5),
        threads=spec.settings.threads,
    )


def _turn(seconds: Sequence[float], exposed: float) -> Turn:
    return Turn(together=max(seconds) + exposed, alone=max(seconds), mean=sum(seconds) / len(seconds))


def _rank_seconds(profile: Profile, group: Group, rank: int, block: Block, chance: random.Random) -> float:
    """A block's time per step on one rank. All do the same, but for what chance and a straggler do."""
    slower = 1 + profile.straggler if rank == group.devices - 1 and group.devices > 1 else 1.0
    varied = _noisy(profile, chance) if group.devices > 1 else 1.0
    return block.seconds / block.steps * slower * varied


def _reading(spec: TrialSpec, rank: int, seconds: Sequence[float], load_seconds: float | None) -> RankReading:
    group = _group(spec)
    node, number = divmod(rank, group.devices // group.nodes)
    device = spec.settings.device if spec.settings.device == "cpu" else f"{spec.settings.device.split(':')[0]}:{number}"
    return RankReading(
        rank=rank,
        node=f"node-{node}",
        device=device,
        step_seconds=median(seconds),
        ci95=median_interval(seconds),
        load_seconds=load_seconds,
        together_load_seconds=load_seconds,
    )


def _exchanges(profile: Profile, group: Group, chance: random.Random) -> list[ExchangeReading]:
    times = [exchange_seconds(profile, group.devices, size) * _noisy(profile, chance) for size in EXCHANGED_BYTES]
    pairs = zip(EXCHANGED_BYTES, times, strict=True)
    return [ExchangeReading(bytes=size, seconds=seconds, ci95=_around(seconds)) for size, seconds in pairs]


def _bucket_bytes(profile: Profile, group: Group) -> tuple[int, ...]:
    """As torch fills them: the first is small, so that sending begins early."""
    first, whole = min(FIRST_BUCKET_MIB, group.bucket_mib) * MEBIBYTE, group.bucket_mib * MEBIBYTE
    rest = max(0.0, profile.gradient_bytes - first)
    full, last = divmod(rest, whole)
    sizes = (min(first, profile.gradient_bytes), *([whole] * int(full)), last)
    return tuple(round(size) for size in sizes if size >= 1)


def _group(spec: TrialSpec) -> Group:
    assert spec.group is not None, "a trial of several devices says how many"
    return spec.group


def _ranks(group: Group) -> range:
    return range(group.devices)


def _noisy(profile: Profile, chance: random.Random) -> float:
    return math.exp(chance.gauss(0, profile.noise))


def _around(seconds: float) -> tuple[float, float]:
    return seconds * (1 - CLOSE), seconds * (1 + CLOSE)
