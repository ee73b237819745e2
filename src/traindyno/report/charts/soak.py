"""A long run over time: throughput, what the GPU did, and who had the CPUs, on one axis of minutes."""

from typing import Any

import msgspec

from traindyno.analysis.soak_drift import FEWEST_DECIMALS, decimals_of, lines_through
from traindyno.analysis.soak_run import SoakRun
from traindyno.core.answers import Document, SoakAnswer
from traindyno.core.soaking import Series, Soak
from traindyno.report.charts.soak_gpu import gpu_panels
from traindyno.report.charts.soak_time import LABEL_ROOM, PANEL_HEIGHT, Panel, minutes_axis, thinned, value_axis
from traindyno.report.charts.style import (
    BLUE,
    HEIGHT,
    INK,
    LABEL_SIZE,
    ORANGE,
    PALE_GREY,
    RED,
    WIDTH,
    chart_title,
    finished,
    panel_title,
    rows_data,
)
from traindyno.report.conditions import setting_words
from traindyno.report.wording import duration, one_line

OWN, OTHERS = "this training", "everybody else"
MOST_EDGES = 60


def soak_chart(document: Document) -> dict[str, Any] | None:
    """Panels one above the other; null when no run can be read from the document."""
    import altair

    run, answer = run_of(document), document.answer
    if run is None:
        return None
    panels = [_rate_panel(run, answer), *gpu_panels(run), *_cpu_panel(run)]
    axes = [minutes_axis(run, titled=number == len(panels)) for number in range(1, len(panels) + 1)]
    drawn = [draw(axis) for draw, axis in zip(panels, axes, strict=True)]
    words = setting_words(document, answer.mode, f"batch {answer.batch_size}")
    title = chart_title(document, f"{one_line(answer.model, 40)} for {duration(answer.run_seconds)} ({words})")
    return finished(altair.vconcat(*drawn, spacing=14).properties(title=title).resolve_scale(color="independent"))


def run_of(document: Document) -> SoakRun | None:
    """The run among the document's trials; an entry from another version may not be readable."""
    answer: SoakAnswer = document.answer
    for entry in document.trials:
        told = (entry.get("measurement") or {}).get("soak")
        if told is None:
            continue
        try:
            soak = msgspec.convert(told, Soak)
            series = msgspec.convert(entry.get("series"), Series | None)
        except msgspec.ValidationError:
            continue
        return SoakRun.laid_over(soak, series, answer.batch_size) if soak.blocks else None
    return None


def _rate_panel(run: SoakRun, answer: SoakAnswer) -> Panel:
    import altair

    rows = [{"minutes": at / 60, "rate": rate} for at, rate in thinned(run.points)]
    y = value_axis("rate", [row["rate"] for row in rows])
    points = altair.Chart(rows_data(rows)).mark_circle(color=BLUE, size=16, opacity=0.55)
    title = panel_title(_rate_title(run, answer))

    def draw(x: Any) -> Any:
        layers = [*_edges(run, x), points.encode(x=x, y=y), *_line(run, answer, x, y)]
        return altair.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=title)

    return draw


def _rate_title(run: SoakRun, answer: SoakAnswer) -> str:
    parts = ["Throughput (examples/s)"]
    parts += ["dashed: edges of epochs"] if 0 < len(run.soak.epochs) <= MOST_EDGES else []
    parts += ["line: drift"] if answer.drift_percent_per_minute is not None else []
    return "; ".join(parts)


def _edges(run: SoakRun, x: Any) -> list[Any]:
    """Where epochs end, as long as the lines can be told apart."""
    import altair

    if not 0 < len(run.soak.epochs) <= MOST_EDGES:
        return []
    rows = [{"minutes": edge.at_seconds / 60} for edge in run.soak.epochs]
    rule = altair.Chart(rows_data(rows)).mark_rule(color=PALE_GREY, strokeDash=[4, 3], strokeWidth=1.2)
    return [rule.encode(x=x)]


def _line(run: SoakRun, answer: SoakAnswer, x: Any, y: Any) -> list[Any]:
    """The line of the drift, broken where the rate changed at once, and its slope in words."""
    import altair

    drift, interval = answer.drift_percent_per_minute, answer.ci95
    points = run.settled_points
    if drift is None or len(points) < 2:
        return []
    lines = enumerate(lines_through(points, drift, answer.change_seconds))
    ends = [{"minutes": at / 60, "rate": rate, "side": side} for side, line in lines for at, rate in line]
    color = RED if interval is not None and interval[1] < 0 else INK
    line = altair.Chart(rows_data(ends)).mark_line(color=color, strokeWidth=2.2).encode(x=x, y=y, detail="side:N")
    digits = FEWEST_DECIMALS if interval is None else decimals_of(interval)
    label = altair.Chart(rows_data([{"label": f"drift {drift:+.{digits}f} % per minute"}]))
    text = label.mark_text(align="right", color=color, fontSize=LABEL_SIZE, fontWeight="bold")
    return [line, text.encode(x=altair.value(WIDTH - 4), y=altair.value(8), text="label:N")]


def _cpu_panel(run: SoakRun) -> list[Panel]:
    """Shares of the CPUs: the training's own, and those of everybody else; nothing where nobody told."""
    import altair

    rows = [
        {"minutes": run.seconds_of(reading) / 60, "share": value, "who": who}
        for reading in thinned(run.readings)
        for who, value in ((OWN, reading.own_cpu_share), (OTHERS, reading.other_cpu_share))
        if value is not None
    ]
    if not rows:
        return []
    scale = altair.Scale(domain=[0, 1], nice=False)
    y = altair.Y("share:Q", scale=scale, axis=altair.Axis(title=None, format="%", tickCount=4, minExtent=LABEL_ROOM))
    colors = altair.Scale(domain=[OWN, OTHERS], range=[BLUE, ORANGE])
    color = altair.Color("who:N", scale=colors, title=None, legend=altair.Legend(orient="top"))
    chart = altair.Chart(rows_data(rows)).mark_line(strokeWidth=1.6)
    title = panel_title("Share of the CPUs")
    return [lambda x: chart.encode(x=x, y=y, color=color).properties(width=WIDTH, height=PANEL_HEIGHT, title=title)]
