"""The time per step of each run, stacked by what it is spent on; a tick marks what had been predicted."""

from itertools import accumulate
from typing import Any

from traindyno.analysis.stall_causes import GPU_DECODE, NOT_WAITED, PAGE_CACHE, SLOWER, TRANSFER, UNEXPLAINED
from traindyno.core.answers import Document, StallRun, StallsAnswer
from traindyno.report.charts.stages import stages_panel
from traindyno.report.charts.style import (
    BLUE,
    GREY,
    INK,
    LABEL_SIZE,
    PALE_GREY,
    PINK,
    PURPLE,
    RED,
    STAGE_COLORS,
    WIDTH,
    YELLOW,
    chart_title,
    finished,
    panel_title,
    rows_data,
)
from traindyno.report.conditions import setting_words
from traindyno.report.wording import duration, known, one_line

BAR_STEP = 36
MILLISECOND = 1e-3
COMPUTE, WAITING, LOADING = "computing", "waiting for data", "loading alone"
COLORS = {
    COMPUTE: BLUE,
    WAITING: RED,
    LOADING: PALE_GREY,
    PAGE_CACHE: PURPLE,
    TRANSFER: PINK,
    GPU_DECODE: PINK,
    SLOWER: YELLOW,
    UNEXPLAINED: YELLOW,
    "hand-off": GREY,
    **STAGE_COLORS,
}
HALVED = "halved_batch"
FIRST = ("resident", "host_cached", "warm", "cold")
LAST = ("loader_alone", "decode_only", "bytes_only", HALVED)
NOT_TRAINING = ("loader_alone", "decode_only", "bytes_only")


def stalls_chart(document: Document) -> dict[str, Any] | None:
    """Bars of the runs above the bars of the stages; null when no run was timed."""
    import altair

    answer: StallsAnswer = document.answer
    runs = [run for run in ordered_runs(answer) if known(run.step_seconds) and run.name != HALVED]
    if not runs:
        return None
    panels = [_runs_panel(answer, runs)]
    stages = stages_panel(answer.stages, WIDTH)
    panels += [] if stages is None else [stages]
    words = setting_words(document, f"batch {answer.batch_size}")
    title = chart_title(document, f"What training on {one_line(answer.data, 40)} waits for ({words})")
    return finished(altair.vconcat(*panels, spacing=26).properties(title=title).resolve_scale(color="independent"))


def ordered_runs(answer: StallsAnswer) -> list[StallRun]:
    """From the fastest that can be to the slowest, other sources next, then what only tells of parts."""
    others = [name for name in answer.runs if name not in (*FIRST, *LAST)]
    return [answer.runs[name] for name in (*FIRST, *others, *LAST) if name in answer.runs]


def _runs_panel(answer: StallsAnswer, runs: list[StallRun]) -> Any:
    import altair

    rows = [row for run in runs for row in _parts(answer, run)]
    names = list(dict.fromkeys(row["part"] for row in rows))
    furthest = max(run.step_seconds for run in runs) / MILLISECOND
    scale = altair.Scale(domain=[0, furthest * 1.22], nice=False)
    axis = altair.Axis(title="milliseconds per step", tickCount=6)
    x = altair.X("start:Q", scale=scale, axis=axis)
    names_axis = altair.Axis(title=None, ticks=False, domain=False, labelLimit=240, labelPadding=6)
    y = altair.Y("run:N", sort=None, axis=names_axis)
    colors = altair.Scale(domain=names, range=[COLORS.get(name, GREY) for name in names])
    color = altair.Color("part:N", scale=colors, title=None, legend=altair.Legend(orient="top", columns=6))
    bars = altair.Chart(rows_data(rows)).mark_bar(height={"band": 0.64}).encode(x=x, x2="end:Q", y=y, color=color)
    ends = altair.Chart(rows_data(_ends(run) for run in runs))
    words = ends.mark_text(align="left", dx=10, fontSize=LABEL_SIZE, color=INK).encode(
        x=altair.X("end:Q", scale=scale), y=y, text="label:N"
    )
    predicted = altair.Chart(rows_data(row for run in runs if (row := _prediction(run)) is not None))
    ticks = predicted.mark_tick(color=INK, thickness=2.5, height=26, opacity=1).encode(
        x=altair.X("end:Q", scale=scale), y=y
    )
    title = panel_title("Time per step; a black tick marks what was predicted")
    return altair.layer(bars, ticks, words).properties(width=WIDTH, height={"step": BAR_STEP}, title=title)


def _parts(answer: StallsAnswer, run: StallRun) -> list[dict[str, Any]]:
    """The run's time split: computing as with resident data, and the rest by cause where that is known."""
    resident = answer.runs.get("resident")
    if resident is None or run.name in NOT_TRAINING:
        return _stacked(run, [(LOADING, run.step_seconds)])
    computing = min(run.step_seconds, resident.step_seconds)
    rest = run.step_seconds - computing
    causes = [(cause.cause, cause.exposed_seconds) for cause in answer.causes if run.name in ("warm", "cold")]
    known_causes = [(name, seconds) for name, seconds in causes if run.name == "cold" or name != PAGE_CACHE]
    moving = next((cause.cause for cause in answer.causes if cause.cause in (TRANSFER, GPU_DECODE)), TRANSFER)
    unnamed = moving if run.name == "host_cached" else WAITING
    slower = next((cause.cause for cause in answer.causes if cause.cause in NOT_WAITED), SLOWER)
    if not known_causes:
        waited = rest if run.wait_seconds is None or run.name == "host_cached" else min(rest, run.wait_seconds)
        return _stacked(run, [(COMPUTE, computing), (unnamed, waited), (slower, rest - waited)])
    losses = dict(_within(run.step_seconds, known_causes))
    left = run.step_seconds - sum(losses.values())
    if answer.slowed_share is not None and left > computing:
        losses[slower] = losses.get(slower, 0.0) + left - computing
    return _stacked(run, [(COMPUTE, min(computing, left)), *losses.items()])


def _within(step_seconds: float, causes: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """The causes that are waited for, at most the whole step: in uneven rounds they may add up to more."""
    waits = [(name, seconds) for name, seconds in causes if seconds > 0]
    total = sum(seconds for _, seconds in waits)
    return [(name, seconds * min(1.0, step_seconds / total)) for name, seconds in waits]


def _stacked(run: StallRun, parts: list[tuple[str, float]]) -> list[dict[str, Any]]:
    """The parts one after another, in milliseconds."""
    shown = [(one_line(name.replace("_", " ")), seconds / MILLISECOND) for name, seconds in parts if seconds > 0]
    ends = list(accumulate(length for _, length in shown))
    return [
        {"run": _label(run), "part": name, "start": end - length, "end": end}
        for (name, length), end in zip(shown, ends, strict=True)
    ]


def _ends(run: StallRun) -> dict[str, Any]:
    furthest = max(run.step_seconds, run.predicted_step_seconds or 0.0)
    return {"run": _label(run), "end": furthest / MILLISECOND, "label": duration(run.step_seconds)}


def _prediction(run: StallRun) -> dict[str, Any] | None:
    if not known(run.predicted_step_seconds):
        return None
    return {"run": _label(run), "end": (run.predicted_step_seconds or 0.0) / MILLISECOND}


def _label(run: StallRun) -> str:
    return one_line(run.name.replace("_", " "), 36)
