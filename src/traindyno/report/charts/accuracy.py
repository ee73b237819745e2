"""Accuracy over batch size with its seeds and intervals, and below it how each size came there."""

from typing import Any

from traindyno.core.answers import AccuracyAnswer, AccuracyRow, Document
from traindyno.report.charts.learning import Run, learning_curves, learnings
from traindyno.report.charts.style import (
    BLUE,
    GREY,
    HEIGHT,
    INK,
    LABEL_SIZE,
    WIDTH,
    batch_axis,
    chart_title,
    finished,
    panel_title,
    rows_data,
)
from traindyno.report.wording import known, one_line


def accuracy_chart(document: Document) -> dict[str, Any] | None:
    """Both panels; null when no run came to its end."""
    import altair

    answer: AccuracyAnswer = document.answer
    rows = [row for row in answer.rows if known(row.accuracy_mean)]
    if not rows:
        return None
    curves = learning_curves(counted_runs(document))
    panels = [_sizes_panel(rows), *([] if curves is None else [curves])]
    title = chart_title(
        document,
        f"Accuracy by batch size: {one_line(answer.model, 34)} on {one_line(answer.data, 24)}",
        emulated_words(answer),
        _lengths(answer),
    )
    whole = altair.vconcat(*panels, spacing=18).properties(title=title)
    return finished(whole.resolve_scale(color="independent"))


def emulated_words(answer: AccuracyAnswer) -> str | None:
    """`4 emulated devices`; null where there is none but the real one."""
    return f"{answer.emulated_devices} emulated devices" if answer.emulated_devices > 1 else None


def counted_runs(document: Document) -> list[Run]:
    """The runs of the seeds that count, by their size; those that looked for a rate have seeds of their own."""
    request = document.request or {}
    first = (request.get("bench") or {}).get("seed") or 0
    seeds = range(first, first + (request.get("seeds") or 0))
    runs = [
        (entry["settings"]["batch_size"], learning)
        for entry, learning in learnings(document)
        if entry.get("kind") == "learn" and entry.get("seed") in seeds and entry.get("outcome") == "ok"
    ]
    return [(f"batch {size}", learning) for size, learning in sorted(runs, key=lambda run: run[0])]


def _lengths(answer: AccuracyAnswer) -> str:
    return f"equal {answer.equal}, rates {'tuned' if answer.rule == 'tune' else f'by rule: {answer.rule}'}"


def _sizes_panel(rows: list[AccuracyRow]) -> Any:
    """A dot for each seed, the mean, and the mean's 95 % interval."""
    import altair

    x = batch_axis([row.batch_size for row in rows])
    several = [row for row in rows if len(row.accuracies) > 1]
    seeds = [{"batch_size": row.batch_size, "accuracy": value} for row in several for value in row.accuracies]
    means = [_mean(row) for row in rows]
    drawn = [seed["accuracy"] for seed in seeds] + [each[end] for each in means for end in ("low", "high")]
    y = _accuracy_axis(max(0.0, min(drawn)), min(1.0, max(drawn)))
    chart = altair.Chart(rows_data(means))
    spans = altair.Chart(rows_data(each for each in means if each["low"] < each["high"]))
    dots = altair.Chart(rows_data(seeds)).mark_circle(color=GREY, size=36, opacity=0.7, xOffset=-9).encode(x=x, y=y)
    line = chart.mark_line(color=BLUE, strokeWidth=1.4, opacity=0.4).encode(x=x, y=y)
    arms = spans.mark_rule(color=BLUE, strokeWidth=2, clip=True).encode(x=x, y="low:Q", y2="high:Q")
    points = chart.mark_circle(color=BLUE, size=70, opacity=1).encode(x=x, y=y)
    labels = [_labels(away).encode(x=x, y=y, text="label:N") for away in _away_from_line(means)]
    title = panel_title(f"At the end of the run: {_caption(rows, means)}")
    return altair.layer(dots, line, arms, points, *labels).properties(width=WIDTH, height=HEIGHT, title=title)


def _labels(means: list[dict[str, Any]]) -> Any:
    import altair

    down = 15 if means[0]["is_below"] else -9
    return altair.Chart(rows_data(means)).mark_text(align="left", dx=9, dy=down, fontSize=LABEL_SIZE - 1, color=INK)


def _away_from_line(means: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The points whose line goes up from them, labelled below it, and the others, labelled above."""
    following = [*means[1:], means[-1]]
    told = [
        mean | {"is_below": after["accuracy"] > mean["accuracy"]} for mean, after in zip(means, following, strict=True)
    ]
    return [group for below in (True, False) if (group := [each for each in told if each["is_below"] == below])]


def _caption(rows: list[AccuracyRow], means: list[dict[str, Any]]) -> str:
    """What is drawn, and nothing that is not."""
    if all(len(row.accuracies) == 1 for row in rows):
        return "the accuracy of one seed each"
    spans = any(mean["low"] < mean["high"] for mean in means)
    return "mean, its 95 % interval, and every seed" if spans else "mean, and every seed"


def _mean(row: AccuracyRow) -> dict[str, Any]:
    low, high = row.ci95 or (row.accuracy_mean, row.accuracy_mean)
    return {
        "batch_size": row.batch_size,
        "accuracy": row.accuracy_mean,
        "low": max(0.0, low),
        "high": min(1.0, high),
        "label": f"{100 * row.accuracy_mean:.1f} %",
    }


def _accuracy_axis(low: float, high: float) -> Any:
    import altair

    air = max(0.08 * (high - low), 0.002)
    scale = altair.Scale(domain=[max(0.0, low - air), min(1.0, high + air)], nice=False, zero=False)
    axis = altair.Axis(title="accuracy", format=".1%" if high - low < 0.1 else ".0%", tickCount=5)
    return altair.Y("accuracy:Q", scale=scale, axis=axis)
