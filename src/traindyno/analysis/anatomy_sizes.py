"""The step at one batch size: what several processes saw, made into one."""

from collections.abc import Iterable, Sequence

from traindyno.analysis.anatomy_bounds import bound_of
from traindyno.analysis.intervals import combine_processes, median
from traindyno.core.anatomy import Anatomy, Phase, PhaseName, Work
from traindyno.core.answers import AnatomySize, PhaseCost, TransferCost, Utilization
from traindyno.core.answers.interval import Interval
from traindyno.core.base import Record
from traindyno.core.records import TrialRecord

PHASES: tuple[PhaseName, ...] = ("load", "transfer", "forward", "backward", "optimizer", "communication", "other")


class Ceilings(Record, frozen=True):
    """The most that a device was seen to do; null where it could not be seen."""

    flops_per_second: float | None = None
    bytes_per_second: float | None = None


def answer_size(asked: int, sizes: Sequence[int]) -> int | None:
    """The batch size that an answer is about: the one asked for, else the largest there is."""
    return asked if asked in sizes else max(sizes, default=None)


def anatomies(records: Iterable[TrialRecord], batch_size: int) -> tuple[Anatomy, ...]:
    """What each process saw at a batch size."""
    found = [record.measurement for record in records if record.batch_size == batch_size]
    return tuple(each.anatomy for each in found if each is not None and each.anatomy is not None)


def measured_sizes(records: Iterable[TrialRecord]) -> tuple[int, ...]:
    taken = {record.batch_size for record in records if record.measurement and record.measurement.anatomy}
    return tuple(sorted(taken))


def ceilings_of(records: Iterable[TrialRecord]) -> Ceilings:
    """The best that any process of the study saw this device do: there is one ceiling, whatever the batch size."""
    found = [record.measurement.anatomy for record in records if record.measurement is not None]
    works = [each.work for each in found if each is not None]
    return Ceilings(
        flops_per_second=_best(work.flops_per_second_ceiling for work in works),
        bytes_per_second=_best(work.bytes_per_second_ceiling for work in works),
    )


def combine_size(batch_size: int, seen: Sequence[Anatomy], ceilings: Ceilings, on_cpu: bool) -> AnatomySize:
    """One batch size over all of its processes."""
    step, ci95 = combine_processes([each.plain_step_seconds for each in seen], [each.plain_ci95 for each in seen])
    shares = shares_of(seen)
    phases: dict[str, PhaseCost] = {name: _phase(name, seen, batch_size, share) for name, share in shares.items()}
    busy, host = middle(each.busy_seconds for each in seen), middle(each.host_step_seconds for each in seen)
    idle_share = None if busy is None else min(1.0, max(0.0, 1 - busy / step))
    host_share = None if host is None else host / step
    utilization = utilization_of([each.work for each in seen], step, ceilings)
    return AnatomySize(
        batch_size=batch_size,
        step_seconds=step,
        ci95=ci95,
        phases=phases,
        transfers=tuple(_transfers(seen, batch_size)),
        idle_share=idle_share,
        host_share=host_share,
        bound=bound_of(phases, idle_share, host_share, utilization, on_cpu),
        utilization=utilization,
        examples_per_second=batch_size / step,
        coverage=coverage(seen),
        instrument_cost=instrument_cost(seen)[0],
    )


def shares_of(seen: Sequence[Anatomy]) -> dict[PhaseName, float]:
    """What each phase is of the step that it was seen in; those that take time add up to 1.

    That is the step with instruments: one without them may have had another neighbour. Of several processes each share
    is the middle one, and these are scaled to add up, too.
    """
    within = [{phase.phase: phase.seconds / _whole(each) for phase in each.phases} for each in seen]
    middles = {
        name: median(found) for name in PHASES if (found := [shares[name] for shares in within if name in shares])
    }
    total = sum(max(0.0, share) for share in middles.values())
    return {name: share / total for name, share in middles.items()}


def coverage(seen: Sequence[Anatomy]) -> float:
    """How much of its step without instruments the named phases of a process explain: the usual one of them."""
    return median([sum(phase.seconds for phase in _named(each)) / each.plain_step_seconds for each in seen])


def instrument_cost(seen: Sequence[Anatomy]) -> tuple[float, Interval]:
    """What the instruments add to the step, as a share of it. As a ratio of two times it is combined on logarithms."""
    within = [(1 + each.instrument_cost_ci95[0], 1 + each.instrument_cost_ci95[1]) for each in seen]
    ratio, (low, high) = combine_processes([1 + each.instrument_cost for each in seen], within)
    return ratio - 1, (low - 1, high - 1)


def middle(values: Iterable[float | None]) -> float | None:
    """The median of what is known."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def utilization_of(works: Sequence[Work], step_seconds: float, ceilings: Ceilings) -> Utilization:
    """What was achieved of what this device was seen to do."""
    flops, bytes_moved = middle(work.flops_per_step for work in works), middle(work.bytes_per_step for work in works)
    achieved_flops = None if flops is None else flops / step_seconds
    achieved_bytes = None if bytes_moved is None else bytes_moved / step_seconds
    return Utilization(
        flops_per_second=achieved_flops,
        flops_per_second_ceiling=ceilings.flops_per_second,
        flops_share=_share(achieved_flops, ceilings.flops_per_second),
        bytes_per_second=achieved_bytes,
        bytes_per_second_ceiling=ceilings.bytes_per_second,
        bytes_share=_share(achieved_bytes, ceilings.bytes_per_second),
        unknown_because=next((work.uncounted_because for work in works if work.uncounted_because), None),
    )


def _phase(name: PhaseName, seen: Sequence[Anatomy], batch_size: int, share: float) -> PhaseCost:
    found = [phase for each in seen for phase in each.phases if phase.phase == name]
    seconds, ci95 = _combine([phase.seconds for phase in found], [phase.ci95 for phase in found])
    return PhaseCost(
        seconds=seconds,
        ci95=ci95,
        share=share,
        seconds_per_example=seconds / batch_size,
        host_seconds=median([phase.host_seconds for phase in found]),
    )


def _transfers(seen: Sequence[Anatomy], batch_size: int) -> Iterable[TransferCost]:
    for pinned in (False, True):
        found = [transfer for each in seen for transfer in each.transfers if transfer.pinned == pinned]
        if found:
            seconds, ci95 = _combine([each.seconds for each in found], [each.ci95 for each in found])
            yield TransferCost(
                pinned=pinned,
                seconds=seconds,
                ci95=ci95,
                seconds_per_example=seconds / batch_size,
                bytes_per_second=median([each.bytes for each in found]) / seconds if seconds > 0 else 0.0,
            )


def _combine(values: Sequence[float], within: Sequence[Interval]) -> tuple[float, Interval]:
    """As of any time; one of nothing, or a remainder below it, has no logarithm and keeps the widest interval seen."""
    if min(values) > 0:
        return combine_processes(values, within)
    return median(values), (min(low for low, _ in within), max(high for _, high in within))


def _whole(anatomy: Anatomy) -> float:
    """The step with instruments, which its phases part without a gap; a remainder below nothing is none of it."""
    return sum(max(0.0, phase.seconds) for phase in anatomy.phases)


def _named(anatomy: Anatomy) -> list[Phase]:
    return [phase for phase in anatomy.phases if phase.phase != "other"]


def _best(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _share(achieved: float | None, ceiling: float | None) -> float | None:
    return None if achieved is None or not ceiling else achieved / ceiling
