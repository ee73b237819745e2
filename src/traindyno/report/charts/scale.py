"""Throughput and efficiency over devices, the gain over batches, and where the step of each way goes."""

from typing import Any

from traindyno.core.answers import Document, ScaleAnswer, ScaleRow
from traindyno.report.charts.scale_lines import Line, efficiency_panel, speedup_panel, throughput_panel
from traindyno.report.charts.scale_parts import parts_panel
from traindyno.report.charts.style import WIDTH, chart_title, finished
from traindyno.report.conditions import run_settings
from traindyno.report.wording import known, one_line

MOST_LINES = 5
HALF = 360
"""The width of a panel that has another beside it."""


def scale_chart(document: Document) -> dict[str, Any] | None:
    """One panel for each thing that was measured; null when nothing was."""
    import altair

    answer: ScaleAnswer = document.answer
    rows = [row for row in answer.rows if row.examples_per_second is not None and known(row.examples_per_second)]
    if not rows:
        return None
    usual = [row for row in rows if _way(row) == _usual_way(document, rows)]
    lines = lines_of(usual, weak=bool((document.request or {}).get("batches_per_device")))
    panels = (
        throughput_panel(lines, answer.predicted),
        efficiency_panel(_with_efficiency(usual), answer.predicted),
        speedup_panel(usual, answer.break_even),
        parts_panel(rows),
    )
    drawn = [panel for panel in panels if panel is not None]
    precision = run_settings(document).precision
    words = ", ".join(word for word in (answer.mode, precision, answer.backend) if word)
    title = chart_title(document, f"Scaling of {one_line(answer.model, 44)} ({words})")
    whole = altair.vconcat(*(_side_by_side(drawn[at : at + 2]) for at in range(0, len(drawn), 2)), spacing=26)
    return finished(whole.properties(title=title).resolve_scale(color="independent"))


def _side_by_side(panels: list[Any]) -> Any:
    import altair

    width = WIDTH if len(panels) == 1 else HALF
    sized = [panel.properties(width=width) for panel in panels]
    return altair.hconcat(*sized, spacing=30).resolve_scale(color="independent")


def lines_of(rows: list[ScaleRow], weak: bool) -> list[Line]:
    """Rows that differ in their devices alone, by what they have in common: the batch of each device, or of all."""
    groups: dict[int, list[ScaleRow]] = {}
    for row in rows:
        groups.setdefault(row.batch_per_device if weak else row.batch_size, []).append(row)
    several = {size: found for size, found in groups.items() if len({row.devices for row in found}) > 1}
    return [
        Line(f"batch {size} {'each' if weak else 'in all'}", size, sorted(found, key=lambda row: row.devices), weak)
        for size, found in spread(several)
    ]


def spread(groups: dict[int, list[ScaleRow]]) -> list[tuple[int, list[ScaleRow]]]:
    """At most as many as can be told apart, from the smallest to the largest."""
    found = sorted(groups.items())
    if len(found) <= MOST_LINES:
        return found
    picks = {round(place * (len(found) - 1) / (MOST_LINES - 1)) for place in range(MOST_LINES)}
    return [found[index] for index in sorted(picks)]


def _with_efficiency(rows: list[ScaleRow]) -> list[Line]:
    return lines_of([row for row in rows if row.efficiency is not None and known(row.efficiency)], weak=True)


def _usual_way(document: Document, rows: list[ScaleRow]) -> tuple[float, int]:
    """The bucket and the parts that every count of devices was measured with: those that were named first."""
    request = document.request or {}
    buckets, parts = request.get("bucket_mib"), request.get("accumulations")
    return (buckets[0], parts[0]) if buckets and parts else _way(rows[0])


def _way(row: ScaleRow) -> tuple[float, int]:
    return row.bucket_mib, row.accumulation_steps
