"""Which parameters mattered: how much of the score's variation each explains, in each arm."""

from typing import Any

from traindyno.core.answers import Document, Importance, RoundAnswer
from traindyno.report.charts.rounds_runs import arm_color, arm_names, names_of
from traindyno.report.charts.style import INK, WIDTH, chart_title, finished, rows_data
from traindyno.report.wording import known

BAR_STEP, ROW_STEP, LONGEST_LABEL, LETTER_WIDTH = 13, 26, 230, 6.8
IMPORTANT, UNCLEAR = 0.9, 0.4
NOTE = "line: 95 % interval over resamples; pale: not clearly important"


def importance_chart(document: Document) -> dict[str, Any] | None:
    """A bar for each parameter and arm with its interval, the most important first; null when none is known."""
    import altair

    answer: RoundAnswer = document.answer
    found = sorted((each for each in answer.importance if known(each.importance)), key=lambda each: -each.importance)
    if not found:
        return None
    arms, parameters = names_of(answer), arm_names(dict.fromkeys(each.parameter for each in found))
    rows = [_bar(each, parameters, arms) for each in found]
    drawn = [name for name in arms.values() if any(row["arm"] == name for row in rows)]
    axis = altair.Axis(title="share of the score's variation that it explains", format=".0%", tickCount=6)
    scale = altair.Scale(domain=[0, max(row["high"] for row in rows)], nice=True)
    words = altair.Axis(title=None, ticks=False, domain=False, labelLimit=LONGEST_LABEL, labelPadding=8)
    y = altair.Y("parameter:N", sort=list(parameters.values()), axis=words)
    chart = altair.Chart(rows_data(rows)).encode(y=y, yOffset=altair.YOffset("arm:N", sort=drawn))
    shade = altair.Opacity("opacity:Q", scale=None, legend=None)
    bars = chart.mark_bar().encode(
        x=altair.X("value:Q", scale=scale, axis=axis), color=arm_color(list(arms.values())), opacity=shade
    )
    spans = chart.mark_rule(color=INK, strokeWidth=1.3).encode(x=altair.X("low:Q", scale=scale), x2="high:Q")
    width = WIDTH + 40 - min(LONGEST_LABEL, LETTER_WIDTH * max(map(len, parameters.values())))
    whole = altair.layer(bars, spans).properties(width=width, height={"step": BAR_STEP if len(drawn) > 1 else ROW_STEP})
    return finished(whole.properties(title=chart_title(document, "Which parameters mattered", note=NOTE)))


def _bar(each: Importance, parameters: dict[str, str], arms: dict[str, str]) -> dict[str, Any]:
    low, high = (end if known(end) else each.importance for end in each.ci95)
    return {
        "parameter": parameters[each.parameter],
        "arm": arms.get(each.arm, each.arm),
        "value": each.importance,
        "low": low,
        "high": high,
        "opacity": IMPORTANT if each.is_important else UNCLEAR,
    }
