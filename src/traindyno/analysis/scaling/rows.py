"""The rows of the answer: every way that was tried, with its numbers or why it has none."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from traindyno.analysis.rate_rules import scaled_rate
from traindyno.analysis.scaling.against import efficiency, fewer_devices, speedup, strong_base, weak_base
from traindyno.analysis.scaling.forecast import foretold_efficiency
from traindyno.analysis.scaling.points import Point
from traindyno.analysis.scaling.ways import Way
from traindyno.core.answers.interval import Interval
from traindyno.core.answers.scaling import Link, ScaleRow
from traindyno.core.records import TrialRecord
from traindyno.core.requests import ScaleRequest


def build_rows(
    request: ScaleRequest,
    ways: Sequence[Way],
    failures: Mapping[Point, TrialRecord],
    links: Mapping[int, Link],
) -> tuple[ScaleRow, ...]:
    """By devices, then batch. `links` are those of each count of devices."""
    measured = {way.point: way for way in ways}
    return tuple(
        _row(request, measured[point], ways, links) if point in measured else _failed(point, failures[point])
        for point in sorted({*measured, *failures})
    )


def usual_rows(request: ScaleRequest, rows: Sequence[ScaleRow]) -> list[ScaleRow]:
    """Measured rows with the buckets and accumulation that every count of devices has."""
    bucket, accumulation = request.bucket_mib[0], request.accumulations[0]
    return [
        row
        for row in rows
        if row.failure is None and row.bucket_mib == bucket and row.accumulation_steps == accumulation
    ]


def _row(request: ScaleRequest, way: Way, ways: Sequence[Way], links: Mapping[int, Link]) -> ScaleRow:
    step = way.step_seconds
    hidden, load, load_hidden = way.hidden_seconds, way.load_seconds, way.load_hidden_seconds
    return ScaleRow(
        **_named(way.point),
        examples_per_second=way.examples_per_second,
        ci95=way.rate_ci95,
        step_seconds=step,
        **_compared(way, ways, links),
        communication_share=way.communication_share,
        communication_share_ci95=way.communication_share_ci95,
        hidden_share=None if hidden is None else hidden / step,
        waiting_share=way.waiting_seconds / step,
        load_share=None if load is None else load / step,
        load_hidden_share=None if load_hidden is None else load_hidden / step,
        peak_memory_bytes=way.peak_memory_bytes,
        **_training(request, way),
        learning_rate=_rate(request, way.point.batch_size),
        steady=way.steady,
    )


def _failed(point: Point, record: TrialRecord) -> ScaleRow:
    assert record.failure is not None, "a way without numbers has failed"
    how = record.outcome.value.replace("_", " ")
    return ScaleRow(**_named(point), steady=False, failure=f"{how}: {record.failure.message}")


def _named(point: Point) -> dict[str, Any]:
    return {
        "devices": point.devices,
        "nodes": point.nodes,
        "batch_per_device": point.batch_per_device,
        "batch_size": point.batch_size,
        "bucket_mib": point.bucket_mib,
        "accumulation_steps": point.accumulation_steps,
    }


def _compared(way: Way, ways: Sequence[Way], links: Mapping[int, Link]) -> dict[str, Any]:
    weak, strong, fewer = weak_base(way, ways), strong_base(way, ways), fewer_devices(way, ways)
    found: dict[str, Any] = {}
    if weak is not None:
        found["efficiency"], found["efficiency_ci95"] = efficiency(way, weak)
    if strong is not None:
        found["speedup"], found["speedup_ci95"] = speedup(way, strong)
    link = None if fewer is None else links.get(fewer.point.devices)
    return {**found, "foretold_efficiency": foretold_efficiency(way, weak, fewer, link)}


def _training(request: ScaleRequest, way: Way) -> dict[str, Any]:
    """Time and cost of the whole training; the partial batch at the end of an epoch counts as a whole step."""
    examples, epochs = request.examples, request.epochs
    if examples is None or epochs is None or way.point.batch_size > examples:
        return {}
    exact = math.ceil(examples / way.point.batch_size) * epochs
    steps = math.ceil(exact - 1e-9 * max(1.0, exact))
    seconds = steps * way.step_seconds
    interval: Interval = (steps * way.ci95[0], steps * way.ci95[1])
    price = request.price_per_hour
    cost = None if price is None else seconds / 3600 * price * way.point.devices
    return {"training_seconds": seconds, "training_ci95": interval, "cost": cost}


def _rate(request: ScaleRequest, batch_size: int) -> float | None:
    if request.learning_rate is None or request.rate_batch is None:
        return None
    optimizer = request.workload.optimizer
    return scaled_rate(request.rate_rule, request.learning_rate, request.rate_batch, batch_size, optimizer)
