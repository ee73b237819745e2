"""The isolation plot: the best to be expected of each target value, with its nuisances optimised away."""

from typing import Any

from traindyno.core.answers import Document, RoundAnswer
from traindyno.core.units import count_of
from traindyno.report.charts.rounds_runs import arm_color, names_of, searched_runs, short
from traindyno.report.charts.rounds_scores import (
    Scores,
    Window,
    better_words,
    round_scores,
    score_axis,
    score_scale,
    window_of,
)
from traindyno.report.charts.style import (
    FAINT,
    GREY,
    INK,
    LABEL_SIZE,
    WIDTH,
    chart_title,
    finished,
    rows_data,
)
from traindyno.report.wording import known

ROW_STEP, NAME_LENGTH, FIGURES_WIDTH, ABOVE = 46, 60, 170, -15


def isolation_chart(document: Document) -> dict[str, Any] | None:
    """The plot alone; null when no run has a score."""
    panel = isolation_panel(document)
    if panel is None:
        return None
    return finished(
        panel.properties(title=chart_title(document, _heading(document.answer), note=_note(document.answer)))
    )


def isolation_panel(document: Document, titled: bool = False) -> Any | None:
    """A row for each arm: its runs behind, what its best is expected to be in front, and the incumbent across."""
    import altair

    answer: RoundAnswer = document.answer
    scores, names = round_scores(answer), names_of(answer, NAME_LENGTH)
    runs: list[dict[str, Any]] = [
        {"arm": names[run.draw.arm], "score": run.score}
        for run in searched_runs(answer)
        if run.inside and run.feasible and known(run.score)
    ]
    bests = [_best(answer, scores, row.arm, names) for row in answer.isolation if known(row.expected_best)]
    if not runs:
        return None
    ends = [value for best in bests for value in (best["low"], best["high"], best["score"])]
    window = window_of(scores, [run["score"] for run in runs], [*ends, *answer.incumbent_scores])
    rows = list(dict.fromkeys([*(names[row.arm] for row in answer.arms), *(run["arm"] for run in runs)]))
    axis = score_axis(scores, window, better_words(scores), ticks=6)
    x = altair.X("score:Q", scale=score_scale(window, with_strip=False), axis=axis)
    y = altair.Y("arm:N", sort=rows, scale=altair.Scale(domain=rows), axis=None)
    drawn = _drawn(runs, window, x, y, list(names.values()))
    layers = [*_incumbent(answer, x), *drawn, *_bests(bests, x, y), _names(rows, y)]
    panel = altair.layer(*layers).properties(width=WIDTH - FIGURES_WIDTH, height={"step": ROW_STEP})
    if not titled:
        return panel
    words = altair.TitleParams(
        text=_heading(answer), subtitle=_note(answer), fontSize=14, subtitleColor=GREY, anchor="start", offset=8
    )
    return panel.properties(title=words)


def _heading(answer: RoundAnswer) -> str:
    draws = {row.k for row in answer.isolation}
    drawn = f"the best of {count_of(draws.pop(), 'draw')}" if len(draws) == 1 else "the best of equally many draws"
    return f"Expected: {drawn}" + (f" for each {short(answer.target, 30)}" if answer.target else "")


def _note(answer: RoundAnswer) -> str:
    across = "; dashed, shaded: the incumbent's mean and seeds" if answer.incumbent_scores else ""
    return f"Diamond: expected best, 95 % interval; circles: runs; arrow: some are worse{across}"


def _best(answer: RoundAnswer, scores: Scores, arm: str, names: dict[str, str]) -> dict[str, Any]:
    row = next(each for each in answer.isolation if each.arm == arm)
    has_interval = row.ci95 is not None and all(map(known, row.ci95))
    low, high = row.ci95 if row.ci95 is not None and has_interval else (row.expected_best, row.expected_best)
    words = scores.with_span(row.expected_best, row.ci95)
    return {"arm": names[arm], "score": row.expected_best, "low": low, "high": high, "words": words}


def _names(rows: list[str], y: Any) -> Any:
    """Above the rows rather than beside them: names of models are long."""
    import altair

    names = altair.Chart(rows_data([{"arm": name} for name in rows]))
    text = names.mark_text(align="left", dx=2, dy=ABOVE, fontSize=LABEL_SIZE, color=INK)
    return text.encode(x=altair.value(0), y=y, text="arm:N")


def _incumbent(answer: RoundAnswer, x: Any) -> list[Any]:
    """A line at the mean of its seeds and a band over them."""
    import altair

    found = [score for score in answer.incumbent_scores if known(score)]
    if not found:
        return []
    band = {"score": min(found), "end": max(found)}
    shade = altair.Chart(rows_data([band])).mark_rect(color=FAINT, opacity=0.8).encode(x=x, x2="end:Q")
    mean = altair.Chart(rows_data([{"score": sum(found) / len(found)}])).mark_rule(color=GREY, strokeDash=[5, 4])
    return [shade, mean.encode(x=x)]


def _drawn(runs: list[dict[str, Any]], window: Window, x: Any, y: Any, names: list[str]) -> list[Any]:
    """Runs that lie beyond the axis are at its edge, as arrows that point there."""
    import altair

    color = arm_color(names, legend=False)
    inside = [run for run in runs if not window.is_beyond(run["score"])]
    beyond = [run | {"score": window.edge} for run in runs if window.is_beyond(run["score"])]
    dots = altair.Chart(rows_data(inside)).mark_point(size=46, opacity=0.45, strokeWidth=1.2, filled=False, aria=False)
    tips = altair.Chart(rows_data(beyond)).mark_point(
        size=46, opacity=0.6, filled=True, shape="triangle-left", aria=False
    )
    return [marks.encode(x=x, y=y, color=color) for marks, wanted in ((dots, inside), (tips, beyond)) if wanted]


def _bests(bests: list[dict[str, Any]], x: Any, y: Any) -> list[Any]:
    import altair

    if not bests:
        return []
    chart = altair.Chart(rows_data(bests))
    span = chart.mark_rule(strokeWidth=3, color=INK).encode(x=altair.X("low:Q", scale=x["scale"]), x2="high:Q", y=y)
    dots = chart.mark_point(shape="diamond", size=130, filled=True, opacity=1, color=INK).encode(x=x, y=y)
    texts = chart.mark_text(align="left", fontSize=LABEL_SIZE - 1, color=INK, dx=10)
    return [span, dots, texts.encode(x=altair.value("width"), y=y, text="words:N")]
