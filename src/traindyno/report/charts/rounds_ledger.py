"""A campaign in one picture: what held after each decision, and on which step the metric moved."""

from collections.abc import Sequence
from typing import Any

from traindyno.core.answers import Document, LedgerAnswer, LedgerEntry
from traindyno.report.charts.rounds_adopt import VERDICT_COLORS
from traindyno.report.charts.rounds_runs import short
from traindyno.report.charts.rounds_scores import entry_scores
from traindyno.report.charts.style import GREEN, INK, WIDTH, chart_title, finished, panel_title, rows_data
from traindyno.report.wording import known, one_line

PANEL_HEIGHT, CROWDED, NAME_LENGTH = 250, 5, 20
BEGUN = "begun with: the best of a search, one seed"
STATE_COLORS = {BEGUN: INK, **VERDICT_COLORS}


def ledger_chart(document: Document) -> dict[str, Any] | None:
    """A panel for each metric that decisions were made by; null when none of them has a mean."""
    import altair

    answer: LedgerAnswer = document.answer
    numbered = [(place, entry) for place, entry in enumerate(answer.entries, start=1) if known(entry.mean)]
    if not numbered:
        return None
    metrics = dict.fromkeys(entry.metric for _, entry in numbered)
    panels = [_panel([each for each in numbered if each[1].metric == metric], len(metrics) > 1) for metric in metrics]
    title = f"Campaign {one_line(answer.campaign, 60)}"
    note = "mean and standard deviation over fresh seeds; line: what was adopted; hollow: stale"
    whole = altair.vconcat(*panels, spacing=20).resolve_scale(color="independent", x="independent")
    return finished(whole.properties(title=chart_title(document, title, note=note)))


def is_beginning(entry: LedgerEntry) -> bool:
    """What a campaign began with is the best of a search, and no fresh seed has proved it."""
    return entry.best_of is not None


def _panel(numbered: Sequence[tuple[int, LedgerEntry]], several: bool) -> Any:
    import altair

    scores = entry_scores(numbered[0][1])
    points = [_point(place, entry) for place, entry in numbered]
    order = [point["name"] for point in points]
    angle = 0 if len(order) <= CROWDED else -30
    x = altair.X(
        "name:N",
        sort=order,
        scale=altair.Scale(domain=order),
        axis=altair.Axis(title=None, labelAngle=angle, labelLimit=160),
    )
    axis = altair.Axis(title=scores.name, format=scores.axis_format, tickCount=5)
    scale = altair.Scale(zero=False, nice=True, padding=8)
    low, y = altair.Y("low:Q", scale=scale, axis=axis), altair.Y("mean:Q", scale=scale, axis=axis)
    states = [state for state in STATE_COLORS if any(point["state"] == state for point in points)]
    colors = altair.Scale(domain=states, range=[STATE_COLORS[state] for state in states])
    color = altair.Color(
        "state:N", scale=colors, title=None, legend=altair.Legend(orient="top", title=None, symbolType="circle")
    )
    chart = altair.Chart(rows_data(points))
    adopted = [_point(place, entry) for place, entry in numbered if entry.changes and not is_beginning(entry)]
    line = altair.Chart(rows_data(adopted)).mark_line(color=GREEN, strokeWidth=1.8).encode(x=x, y=y)
    spans = chart.mark_rule(strokeWidth=2).encode(x=x, y=low, y2="high:Q", color=color)
    layers = [line, spans]
    for hollow, fill in ((False, None), (True, "white")):
        own = [point for point in points if point["hollow"] is hollow]
        marks = (
            altair.Chart(rows_data(own)).mark_circle(size=120, opacity=1)
            if fill is None
            else altair.Chart(rows_data(own)).mark_point(size=120, opacity=1, fill=fill, strokeWidth=2.2)
        )
        layers += [marks.encode(x=x, y=y, color=color)] if own else []
    title = {"title": panel_title(scores.name)} if several else {}
    return altair.layer(*layers).properties(width=WIDTH, height=PANEL_HEIGHT, **title)


def _point(place: int, entry: LedgerEntry) -> dict[str, Any]:
    spread = entry.sd if entry.sd is not None and known(entry.sd) else 0.0
    mean = entry.mean or 0.0
    return {
        "name": f"{place}. {short(entry.round, NAME_LENGTH)}",
        "mean": mean,
        "low": mean - spread,
        "high": mean + spread,
        "state": BEGUN if is_beginning(entry) else entry.verdict,
        "hollow": entry.stale is not None or is_beginning(entry),
    }
