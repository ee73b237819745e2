"""The conclusion of a study of scaling: what more devices bring, what they lose, and where."""

from collections.abc import Mapping, Sequence

import msgspec

from traindyno.analysis.intervals import combine_processes
from traindyno.analysis.scaling.advice import advice
from traindyno.analysis.scaling.against import weak_base
from traindyno.analysis.scaling.break_even import break_even
from traindyno.analysis.scaling.choice import fastest_row, recommended_row
from traindyno.analysis.scaling.forecast import predictions
from traindyno.analysis.scaling.link import fit_link
from traindyno.analysis.scaling.points import Point
from traindyno.analysis.scaling.ranks import rank_rows
from traindyno.analysis.scaling.rows import build_rows, usual_rows
from traindyno.analysis.scaling.verdicts import scale_verdicts
from traindyno.analysis.scaling.ways import Way, read_failures, read_ways
from traindyno.core.answers.interval import Interval
from traindyno.core.answers.scaling import Link, ScaleAnswer, ScalePrediction
from traindyno.core.errors import NothingMeasuredError
from traindyno.core.records import TrialRecord
from traindyno.core.requests import ScaleRequest


def conclude_scale(
    request: ScaleRequest, records: Sequence[TrialRecord], *, seconds: float, simulated: bool
) -> ScaleAnswer:
    """Everything the trials say about training on several devices."""
    ways = read_ways(records)
    failed = read_failures(records, ways)
    if not ways:
        raise _nothing_measured(failed)
    links = _links(ways)
    rows = build_rows(request, ways, failed, links)
    usual, shown = usual_rows(request, rows), _most(request, ways)
    found, fastest = break_even(usual), fastest_row(rows)
    recommended = recommended_row(rows, fastest)
    cost, cost_interval = _wrapper_cost(ways)
    answer = ScaleAnswer(
        model=request.workload.model,
        mode=request.workload.mode,
        device=request.bench.device,
        backend=next((each.backend for way in ways for each in way.scalings if each.backend is not None), None),
        rows=rows,
        ranks=rank_rows(shown),
        break_even=found,
        break_even_batch=found[-1].batch_size if found else None,
        predicted=_predicted(request, ways, links, shown),
        link=links.get(shown.point.devices),
        gradient_bytes=max(each.gradient_bytes for way in ways for each in way.scalings),
        ddp_cost=cost,
        ddp_cost_ci95=cost_interval,
        fastest=fastest,
        recommended=recommended,
        threads_per_device=next((s.threads for way in ways for s in way.scalings if s.threads is not None), None),
        advice=advice(request, rows, rows[recommended]),
        seconds=seconds,
        simulated=simulated,
    )
    return msgspec.structs.replace(answer, verdicts=scale_verdicts(request, answer, ways, failed, shown))


def _nothing_measured(failed: Mapping[Point, TrialRecord]) -> NothingMeasuredError:
    first = next((record.failure for record in failed.values() if record.failure is not None), None)
    if first is None:
        return NothingMeasuredError("no group of devices could be measured")
    return NothingMeasuredError(f"no group of devices could be measured: {first.message}", first.remedy)


def _links(ways: Sequence[Way]) -> dict[int, Link]:
    """The link of each count of devices, from all trials with it: what they exchange depends on nothing else."""
    counts = sorted({way.point.devices for way in ways})
    scalings = {count: [s for way in ways if way.point.devices == count for s in way.scalings] for count in counts}
    found = {count: fit_link(scalings[count]) for count in counts}
    return {count: link for count, link in found.items() if link is not None}


def _most(request: ScaleRequest, ways: Sequence[Way]) -> Way:
    """The most devices and the largest batch, with usual buckets and accumulation where there is such a way."""
    usual = (request.bucket_mib[0], request.accumulations[0])
    return max(
        ways,
        key=lambda way: (
            way.point.devices,
            (way.point.bucket_mib, way.point.accumulation_steps) == usual,
            way.point.batch_per_device,
        ),
    )


def _predicted(
    request: ScaleRequest, ways: Sequence[Way], links: Mapping[int, Link], shown: Way
) -> tuple[ScalePrediction, ...]:
    """For the batches per device that were asked for, and always for the largest that has a base."""
    link = links.get(shown.point.devices)
    if link is None:
        return ()
    alike = [way for way in ways if _is_like(way.point, shown.point)]
    pairs = [(way, base) for way in alike if (base := weak_base(way, ways)) is not None]
    asked = [pair for pair in pairs[:-1] if pair[0].point.batch_per_device in request.batches_per_device]
    return predictions([*asked, *pairs[-1:]], link)


def _is_like(one: Point, other: Point) -> bool:
    """But for the batch."""
    return (one.devices, one.bucket_mib, one.accumulation_steps) == (
        other.devices,
        other.bucket_mib,
        other.accumulation_steps,
    )


def _wrapper_cost(ways: Sequence[Way]) -> tuple[float | None, Interval | None]:
    """By how much the wrapper makes the step of one device longer, at the largest batch that tells."""
    for way in sorted(ways, key=lambda each: each.point.batch_per_device, reverse=True):
        told = [(s.ddp_ratio, s.ddp_ratio_ci95) for s in way.scalings]
        known = [(ratio, interval) for ratio, interval in told if ratio is not None and interval is not None]
        if known:
            ratio, (low, high) = combine_processes([each[0] for each in known], [each[1] for each in known])
            return ratio - 1, (low - 1, high - 1)
    return None, None
