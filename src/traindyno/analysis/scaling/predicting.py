"""The link, what it foretells for more devices, and where it was wrong, in words."""

from collections.abc import Iterator, Sequence

from traindyno.analysis.scaling.forecast import NOTABLE_MISS
from traindyno.analysis.scaling.ways import Way
from traindyno.analysis.scaling.words import number, percent, percents_between, way_words
from traindyno.core.answers.scaling import Link, ScalePrediction, ScaleRow
from traindyno.core.units import format_scaled, format_seconds

_POOR_LINE = 0.3


def _link_words(link: Link | None) -> str:
    """The line through all-reduces of several sizes, on which predictions rest."""
    if link is None:
        return ""
    rate = format_scaled(link.bytes_per_second, "B/s")
    line = f"an all-reduce among {number(link.devices)} takes {format_seconds(link.latency_seconds)} and then {rate}"
    rough = f", a rough line that misses by up to {percent(link.error)}" if link.error > _POOR_LINE else ""
    return f" ({line}{rough})"


def predicted_words(predicted: Sequence[ScalePrediction], link: Link | None, way: Way) -> Iterator[str]:
    """Of the largest batch each alone: the others stand in the table. `way` is that with the most devices."""
    largest = max((each.batch_per_device for each in predicted), default=0)
    told = [
        f"{each.devices} devices {percent(each.efficiency)} ({percents_between(each.efficiency_range)})"
        for each in predicted
        if each.batch_per_device == largest
    ]
    if told:
        like = f"if all links are like these{_link_words(link)}"
        yield f"Predicted of linear with {largest} each, {like}: {', '.join(told)}."
    elif way.point.devices > 1:
        yield f"Nothing is predicted for more devices: {_why_not(way)}."


def foretold(rows: Sequence[ScaleRow]) -> Iterator[str]:
    """The prediction that missed most what was then measured."""
    misses = [
        (abs(row.foretold_efficiency / row.efficiency - 1), row.foretold_efficiency, row.efficiency, row)
        for row in rows
        if row.foretold_efficiency is not None and row.efficiency is not None
    ]
    miss, foretold_share, measured, row = max(misses, key=lambda each: each[0], default=(0.0, 0.0, 0.0, None))
    if row is not None and miss > NOTABLE_MISS:
        yield (
            f"Fewer devices foretold {percent(foretold_share)} of linear for {way_words(row)}, and "
            f"{percent(measured)} was measured: predictions for more devices may miss as much."
        )


def _why_not(way: Way) -> str:
    if way.exchange_seconds is None:
        return "gradients are sent by the model's own hook, and not as torch sends them"
    if not any(reading.seconds > 0 for scaling in way.scalings for reading in scaling.exchanges):
        return "no all-reduce could be timed by itself"
    return f"give --batch-per-device {way.point.batch_per_device}, to have the fewest devices measured with it too"
