"""The evidence for an adoption: every fresh seed of each candidate, and its gain beside what it must be."""

import math
from typing import Any

from traindyno.core.answers import AdoptAnswer, CandidateRow, Document
from traindyno.report.charts.rounds_runs import arm_names
from traindyno.report.charts.rounds_scores import (
    Scores,
    adoption_scores,
    better_words,
    score_axis,
    score_scale,
    window_of,
)
from traindyno.report.charts.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    LABEL_SIZE,
    ORANGE,
    RED,
    chart_title,
    finished,
    panel_title,
    rows_data,
)
from traindyno.report.wording import known, one_line

STEP = {"step": 50, "for": "position"}
LONGEST_LABEL, LETTER_WIDTH, WHOLE_WIDTH = 230, 6.8, 640
VERDICT_COLORS = {"adopt": GREEN, "keep": GREY, "undecided": ORANGE, "equivalent": BLUE}
AIR = 0.12
JITTER = 0.6180339887
"""The golden ratio spreads equal scores, and the same way each time."""


def adopt_chart(document: Document) -> dict[str, Any] | None:
    """Scores at the left, gains at the right; null when no run has a score."""
    import altair

    answer: AdoptAnswer = document.answer
    if not any(known(score) for row in answer.rows for score in row.scores):
        return None
    scores, names = adoption_scores(answer), arm_names([row.label for row in answer.rows])
    room = WHOLE_WIDTH - min(LONGEST_LABEL, LETTER_WIDTH * max(map(len, names.values())))
    order = list(names.values())
    left = _seeds_panel(answer, scores, names, order).properties(width=0.54 * room, height=STEP)
    gains = _gains_panel(answer, scores, names, order)
    panels = [left, *([] if gains is None else [gains.properties(width=0.46 * room, height=STEP)])]
    title = one_line(answer.question or f"Round {answer.round}", 84)
    note = f"{answer.verdict}, {answer.seeds} fresh seeds each"
    whole = altair.hconcat(*panels, spacing=24).resolve_scale(color="independent", x="independent")
    return finished(whole.properties(title=chart_title(document, title, note=note)))


def _y(order: list[str], labelled: bool) -> Any:
    import altair

    axis = altair.Axis(title=None, ticks=False, domain=False, labels=labelled, labelLimit=LONGEST_LABEL, labelPadding=8)
    return altair.Y("name:N", sort=order, scale=altair.Scale(domain=order), axis=axis)


def _seeds_panel(answer: AdoptAnswer, scores: Scores, names: dict[str, str], order: list[str]) -> Any:
    """A circle for each seed, a tick at the mean, and words for the seeds that failed."""
    import altair

    seeds: list[dict[str, Any]] = [
        {"name": names[row.label], "score": score, "beside": place * JITTER % 1}
        for row in answer.rows
        for place, score in enumerate(row.scores)
        if known(score)
    ]
    means: list[dict[str, Any]] = [
        {"name": names[row.label], "score": row.mean} for row in answer.rows if known(row.mean)
    ]
    failed = [{"name": names[row.label], "words": f"{row.failed} failed"} for row in answer.rows if row.failed]
    window = window_of(scores, [seed["score"] for seed in seeds], [each["score"] for each in means])
    beyond = [seed | {"score": window.edge} for seed in seeds if window.is_beyond(seed["score"])]
    x = altair.X(
        "score:Q",
        scale=score_scale(window, with_strip=False),
        axis=score_axis(scores, window, better_words(scores), ticks=4),
    )
    y = _y(order, labelled=True)
    beside = altair.YOffset("beside:Q", scale=altair.Scale(domain=[-0.8, 1.8]))
    inside = [seed for seed in seeds if not window.is_beyond(seed["score"])]
    circles = altair.Chart(rows_data(inside)).mark_point(size=56, opacity=0.75, strokeWidth=1.5, color=BLUE)
    arrows = altair.Chart(rows_data(beyond)).mark_point(size=56, filled=True, shape="triangle-left", color=RED)
    dots = [each.encode(x=x, y=y, yOffset=beside) for each, own in ((circles, inside), (arrows, beyond)) if own]
    ticks = altair.Chart(rows_data(means)).mark_tick(thickness=3, size=26, color=INK, opacity=1).encode(x=x, y=y)
    words = altair.Chart(rows_data(failed)).mark_text(align="left", dx=4, dy=-16, color=RED, fontSize=LABEL_SIZE - 1)
    texts = [words.encode(x=altair.value(0), y=y, text="words:N")] if failed else []
    return altair.layer(*dots, ticks, *texts).properties(title=panel_title("Fresh seeds; bar: their mean"))


def _gains_panel(answer: AdoptAnswer, scores: Scores, names: dict[str, str], order: list[str]) -> Any | None:
    """The gain of each candidate with its interval, zero, and the minimum gain."""
    import altair

    rows = [_gain(row, scores, names) for row in answer.rows if known(row.gain)]
    if not rows:
        return None
    marks = [0.0, answer.minimum_gain, *(row[end] for row in rows for end in ("low", "high"))]
    span = max(marks) - min(marks) or 0.01
    scale = altair.Scale(domain=[min(marks) - AIR * span, max(marks) + AIR * span], nice=False, zero=False)
    ticks = "format(100 * datum.value, '+.2~f')" if scores.in_percent else "format(datum.value, '+.3~g')"
    axis = altair.Axis(title=_gain_title(answer, scores), labelExpr=ticks, tickCount=4)
    x = altair.X("gain:Q", scale=scale, axis=axis)
    y = _y(order, labelled=False)
    states = [verdict for verdict in VERDICT_COLORS if any(row["verdict"] == verdict for row in rows)]
    colors = altair.Scale(domain=states, range=[VERDICT_COLORS[state] for state in states])
    color = altair.Color("verdict:N", scale=colors, legend=altair.Legend(orient="bottom", title=None), title=None)
    zero = altair.Chart(rows_data([{"gain": 0.0}])).mark_rule(color=GREY).encode(x=x)
    least = altair.Chart(rows_data([{"gain": answer.minimum_gain}])).mark_rule(color=RED, strokeDash=[5, 4]).encode(x=x)
    chart = altair.Chart(rows_data(rows))
    spans = chart.mark_rule(strokeWidth=3).encode(x=altair.X("low:Q", scale=scale), x2="high:Q", y=y, color=color)
    dots = chart.mark_point(size=90, filled=True, opacity=1).encode(x=x, y=y, color=color)
    layers = [zero, *([least] if answer.minimum_gain else []), spans, dots, *_words(chart, x, y)]
    return altair.layer(*layers).properties(title=panel_title("Gain over the incumbent"))


def _words(chart: Any, x: Any, y: Any) -> list[Any]:
    """The gains above their dots, with light around them: they cross the lines of zero and of the minimum."""
    light = chart.mark_text(
        dy=-16, fontSize=LABEL_SIZE - 1, stroke="white", strokeWidth=5, strokeJoin="round", aria=False
    )
    texts = (light, chart.mark_text(dy=-16, fontSize=LABEL_SIZE - 1, color=INK))
    return [each.encode(x=x, y=y, text="words:N") for each in texts]


def _gain(row: CandidateRow, scores: Scores, names: dict[str, str]) -> dict[str, Any]:
    ends = row.ci95 if row.ci95 is not None and all(map(math.isfinite, row.ci95)) else (row.gain, row.gain)
    chance = f", p = {row.p_value:.2g}" if row.p_value is not None and known(row.p_value) else ""
    words = f"{scores.difference(row.gain)}{chance}"
    verdict = row.verdict or "undecided"
    return {
        "name": names[row.label], "gain": row.gain, "low": ends[0], "high": ends[1], "words": words, "verdict": verdict,
    }  # fmt: skip


def _gain_title(answer: AdoptAnswer, scores: Scores) -> str:
    least = f"; dashed: minimum {scores.amount(answer.minimum_gain)}" if answer.minimum_gain else ""
    return f"{'points' if scores.in_percent else scores.name}{least}"
