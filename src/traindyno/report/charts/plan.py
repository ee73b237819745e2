"""Training time by batch size, the fastest picked out."""

from typing import Any

from traindyno.core.answers import Document, PlanAnswer, PlanRow
from traindyno.core.units import count_of
from traindyno.report.charts.style import (
    GREEN,
    HEIGHT,
    INK,
    LABEL_SIZE,
    PALE_GREY,
    WIDTH,
    chart_title,
    finished,
    rows_data,
)
from traindyno.report.conditions import setting_words
from traindyno.report.wording import count, duration, known

UNITS = (
    ("days", 172800.0, 86400.0),
    ("hours", 7200.0, 3600.0),
    ("minutes", 120.0, 60.0),
    ("seconds", 0.0, 1.0),
)
LABELLED_BARS, SLOWEST_SHOWN = 8, 3.0


def plan_chart(document: Document) -> dict[str, Any] | None:
    """Bars with intervals; null when no batch size could be planned."""
    import altair

    answer: PlanAnswer = document.answer
    shown, slow = _shown(answer)
    if not shown:
        return None
    unit, unit_seconds = time_unit(max(row.training_seconds for row in shown))
    rows = [_row(row, answer, unit_seconds, len(shown) <= LABELLED_BARS) for row in shown]
    axis = altair.Axis(title="batch size (examples per step)", labelAngle=0, labelOverlap=True)
    x = altair.X("batch_size:O", axis=axis)
    scale = altair.Scale(domain=[0, max(row["high"] for row in rows) * 1.18], nice=False)
    y = altair.Y("time:Q", scale=scale, axis=altair.Axis(title=f"training time ({unit})", tickCount=6))
    title = chart_title(document, _title(document), note=_left_out(slow))
    layers = altair.layer(*_layers(rows, x, y))
    return finished(layers.properties(width=WIDTH, height=HEIGHT, title=title))


def _shown(answer: PlanAnswer) -> tuple[list[PlanRow], list[PlanRow]]:
    """What is drawn, and what would dwarf it: batch 1 can take thirty times as long as the fastest."""
    planned = sorted((row for row in answer.rows if known(row.training_seconds)), key=lambda row: row.batch_size)
    limit = SLOWEST_SHOWN * min((row.training_seconds for row in planned), default=0.0)
    shown = [row for row in planned if row.training_seconds <= limit]
    return shown, [row for row in planned if row not in shown]


def _left_out(slow: list[PlanRow]) -> str | None:
    sizes = ", ".join(str(row.batch_size) for row in slow)
    return f"not drawn, over {SLOWEST_SHOWN:g} times as slow: batch {sizes}" if slow else None


def _title(document: Document) -> str:
    answer: PlanAnswer = document.answer
    words = setting_words(document)
    title = f"Training time for {count_of(answer.epochs, 'epoch')} of {count(answer.examples)} examples"
    return f"{title} ({words})" if words else title


def time_unit(longest_seconds: float) -> tuple[str, float]:
    """The unit in which the longest time is a handy number."""
    return next((name, seconds) for name, least, seconds in UNITS if longest_seconds >= least)


def _layers(rows: list[dict[str, Any]], x: Any, y: Any) -> list[Any]:
    import altair

    base = altair.Chart(rows_data(rows))
    color = altair.Color("color:N", scale=None)
    bars = base.mark_bar(width={"band": 0.72}).encode(x=x, y=y, color=color)
    spans = altair.Chart(rows_data(row for row in rows if row["high"] > row["low"]))
    arms = spans.mark_rule(color=INK, strokeWidth=1.5).encode(x=x, y=altair.Y("low:Q"), y2="high:Q")
    caps = [
        spans.mark_tick(color=INK, thickness=1.5, size=10, orient="horizontal").encode(x=x, y=altair.Y(f"{end}:Q"))
        for end in ("low", "high")
    ]
    top = altair.Y("high:Q")
    words = base.mark_text(dy=-12, fontSize=LABEL_SIZE - 1, color=INK).encode(x=x, y=top, text="label:N")
    fastest = altair.Chart(rows_data(row for row in rows if row["fastest"]))
    crown = fastest.mark_text(text="fastest", dy=-28, fontSize=LABEL_SIZE, fontWeight="bold", color=INK)
    return [bars, arms, *caps, words, crown.encode(x=x, y=top)]


def _row(row: PlanRow, answer: PlanAnswer, unit_seconds: float, labelled: bool) -> dict[str, Any]:
    fastest = row.batch_size == answer.fastest
    low, high = row.ci95 if all(known(end) for end in row.ci95) else (row.training_seconds, row.training_seconds)
    label = duration(row.training_seconds) if labelled or fastest else ""
    return {
        "batch_size": row.batch_size,
        "time": row.training_seconds / unit_seconds,
        "low": low / unit_seconds,
        "high": high / unit_seconds,
        "color": GREEN if fastest else PALE_GREY,
        "label": label,
        "fastest": fastest,
    }
