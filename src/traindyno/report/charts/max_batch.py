"""The probes of a search for the largest batch against memory; bars when several models were asked."""

from typing import Any

from traindyno.core.answers import Document, MaxBatchAnswer
from traindyno.report.charts.memory import GIBIBYTE, limit_line, memory_axis
from traindyno.report.charts.style import (
    BLUE,
    GREEN,
    GREY,
    HEIGHT,
    INK,
    LABEL_SIZE,
    RED,
    WIDTH,
    chart_title,
    finished,
    rows_data,
)
from traindyno.report.conditions import setting_words
from traindyno.report.document import answers_of
from traindyno.report.trials import TrialRow, trial_rows
from traindyno.report.wording import batch, one_line

BAR_STEP = 34


def max_batch_chart(document: Document) -> dict[str, Any] | None:
    """Probes and the fitted line for one model, bars for several; null when there is nothing to place."""
    answers: tuple[MaxBatchAnswer, ...] = answers_of(document)
    if len(answers) > 1:
        return _bars(document, answers)
    return _probes(document, answers[0])


def _probes(document: Document, answer: MaxBatchAnswer) -> dict[str, Any] | None:
    import altair

    trials = [trial for trial in trial_rows(document) if trial.batch_size is not None]
    rows = [row for row in (_probe(trial, answer) for trial in trials) if row is not None]
    if not rows:
        return None
    rows.sort(key=lambda row: row["probe"] != "ran")
    ceiling = max(row["gibibytes"] for row in rows)
    ceiling = max(ceiling, (answer.memory_limit_bytes or 0) / GIBIBYTE) * 1.16
    furthest = max(row["batch_size"] for row in rows) * 1.06
    x = altair.X(
        "batch_size:Q",
        scale=altair.Scale(domain=[0, furthest], nice=False),
        axis=altair.Axis(title="batch size (examples per step)", grid=False, format="d", tickCount=8),
    )
    y = memory_axis(ceiling)
    layers = [
        *_fit(answer, x, y, furthest, ceiling),
        *_limits(answer, x, furthest),
        *limit_line(answer.memory_limit_bytes, y),
    ]
    layers.append(_points(rows, x, y))
    title = f"Largest batch of {one_line(answer.model, 48)} ({setting_words(document, answer.mode)})"
    panel = altair.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=chart_title(document, title))
    return finished(panel)


def _probe(trial: TrialRow, answer: MaxBatchAnswer) -> dict[str, Any] | None:
    """A probe that failed has no peak: it stands where the model expected it, or at the limit."""
    size, model = trial.batch_size or 0, answer.memory_model
    if trial.ok:
        peak: float | None = trial.peak_bytes
    elif model is not None:
        peak = model.intercept_bytes + model.slope_bytes * size
    else:
        peak = answer.memory_limit_bytes
    if peak is None:
        return None
    outcome = "ran" if trial.ok else "out of memory" if trial.out_of_memory else "failed otherwise"
    return {"batch_size": size, "gibibytes": peak / GIBIBYTE, "probe": outcome}


def _points(rows: list[dict[str, Any]], x: Any, y: Any) -> Any:
    import altair

    names = [name for name in ("ran", "out of memory", "failed otherwise") if any(row["probe"] == name for row in rows)]
    looks = {"ran": (BLUE, "circle"), "out of memory": (RED, "cross"), "failed otherwise": (GREY, "square")}
    color = altair.Scale(domain=names, range=[looks[name][0] for name in names])
    shape = altair.Scale(domain=names, range=[looks[name][1] for name in names])
    chart = altair.Chart(rows_data(rows)).mark_point(size=85, filled=True, opacity=1)
    return chart.encode(
        x=x,
        y=y,
        color=altair.Color("probe:N", scale=color, title=None),
        shape=altair.Shape("probe:N", scale=shape, title=None),
    )


def _fit(answer: MaxBatchAnswer, x: Any, y: Any, furthest: float, ceiling: float) -> list[Any]:
    import altair

    model = answer.memory_model
    if model is None or model.slope_bytes <= 0:
        return []
    end = min(furthest, (ceiling * GIBIBYTE - model.intercept_bytes) / model.slope_bytes)
    rows = [
        {"batch_size": size, "gibibytes": (model.intercept_bytes + model.slope_bytes * size) / GIBIBYTE}
        for size in (0, end)
    ]
    return [altair.Chart(rows_data(rows)).mark_line(color=GREY, strokeDash=[6, 4], strokeWidth=1.6).encode(x=x, y=y)]


def _limits(answer: MaxBatchAnswer, x: Any, furthest: float) -> list[Any]:
    """The safe batch and the largest that runs; their words stand one above the other, beside both lines."""
    import altair

    wanted = [("safe", answer.safe_batch, GREEN, 42), ("largest that runs", answer.max_batch, INK, 22)]
    found = [(name, size, color, above) for name, size, color, above in wanted if size is not None]
    if not found:
        return []
    sizes = [size for _, size, _, _ in found]
    before = min(sizes) > furthest / 2
    anchor = min(sizes) if before else max(sizes)
    layers = []
    for name, size, color, above in found:
        line = altair.Chart(rows_data([{"batch_size": size}]))
        layers.append(line.mark_rule(color=color, strokeWidth=1.5, strokeDash=[2, 2]).encode(x=x))
        label = altair.Chart(rows_data([{"batch_size": anchor, "label": f"{name}: {size}"}])).mark_text(
            align="right" if before else "left",
            dx=-8 if before else 8,
            color=color,
            fontSize=LABEL_SIZE,
            fontWeight="bold",
        )
        layers.append(label.encode(x=x, y=altair.value(HEIGHT - above), text="label:N"))
    return layers


def _bars(document: Document, answers: tuple[MaxBatchAnswer, ...]) -> dict[str, Any]:
    import altair

    rows: list[dict[str, Any]] = [
        {
            "model": one_line(answer.model, 44),
            "safe": answer.safe_batch or 0,
            "runs": answer.max_batch,
            "label": _limits_words(answer),
        }
        for answer in answers
    ]
    furthest = max(max(row["safe"], row["runs"] or 0) for row in rows) or 1
    axis = altair.Axis(title="batch size (examples per step)", format="d", tickCount=6, grid=False)
    x = altair.X("safe:Q", scale=altair.Scale(domain=[0, furthest * 1.42], nice=False), axis=axis)
    y = altair.Y(
        "model:N",
        sort=None,
        axis=altair.Axis(title=None, labelLimit=320, labelPadding=8, ticks=False, domain=False),
    )
    base = altair.Chart(rows_data(rows))
    bars = base.mark_bar(color=BLUE, height={"band": 0.62}).encode(x=x, y=y)
    ticks = base.mark_tick(color=INK, thickness=2.5, height=22).encode(x=altair.X("runs:Q"), y=y)
    words = base.mark_text(align="left", dx=8, fontSize=LABEL_SIZE, color=INK)
    labels = words.encode(x=altair.X("edge:Q"), y=y, text="label:N")
    labels = labels.transform_calculate(edge="max(datum.safe, datum.runs)")
    title = f"Largest batch ({setting_words(document, answers[0].mode)})"
    panel = altair.layer(bars, ticks, labels).properties(
        width=WIDTH * 0.75, height={"step": BAR_STEP}, title=chart_title(document, title)
    )
    return finished(panel)


def _limits_words(answer: MaxBatchAnswer) -> str:
    if answer.max_batch is None:
        return "no size ran"
    return f"{batch(answer.safe_batch)} safe, {answer.max_batch} runs"
