"""Throughput against batch size, as people note it down: size, examples per second, time per step."""

from collections.abc import Iterable

from traindyno.core.answers import CurvePoint, Document, ThroughputAnswer
from traindyno.report.charts.throughput import throughput_chart
from traindyno.report.conditions import brings_own_data, run_settings, setting_words
from traindyno.report.trials import TrialRow, outcome_words, trial_rows
from traindyno.report.view import Adoption, Column, Headline, Number, Row, Sheet, Table, Tone, View
from traindyno.report.wording import batch, duration, known, memory_of_limit, one_line, rate_interval, share

MARK = "(!)"
NEAR_EQUAL = 0.95
COLUMNS = (
    Column(heading="batch size", narrow="batch\nsize"),
    Column(heading="throughput", unit="examples per second", narrow="throughput\n(examples/s)"),
    Column(heading="time per step", unit="time per batch", narrow="time\nper step"),
    Column(heading="memory", unit="share of limit", narrow="memory\n(of limit)"),
    Column(heading="note", right=False),
)
SHEET_COLUMNS = (
    "model", "mode", "batch_size", "outcome", "examples_per_second", "examples_per_second_ci95_low",
    "examples_per_second_ci95_high", "step_seconds", "peak_memory_bytes", "memory_share", "steady",
    "processes", "marks", "best", "recommended",
)  # fmt: skip


def title(document: Document) -> str:
    answer: ThroughputAnswer = document.answer
    return f"Throughput of {one_line(answer.model)} ({setting_words(document, answer.mode)})"


def headline(document: Document) -> Headline:
    answer: ThroughputAnswer = document.answer
    point = _point(answer, answer.chosen_batch)
    beside = [("saturated from", batch(answer.saturated_from)), ("best measured", batch(answer.best_batch))]
    if point is not None:
        speed = f"{rate_interval(point.examples_per_second, point.ci95)} examples/s"
        peak = memory_of_limit(point.peak_memory_bytes, point.memory_share)
        beside = [
            ("throughput", speed),
            ("time per step", duration(point.step_seconds)),
            ("memory", peak),
            *beside,
        ]
    return Headline(
        value=batch(answer.chosen_batch), label=f"{_choice(answer).lower()} batch size", beside=tuple(beside)
    )


def tables(document: Document) -> tuple[Table, ...]:
    answer: ThroughputAnswer = document.answer
    fastest = max((point.examples_per_second for point in answer.curve if known(point.examples_per_second)), default=1)
    measured = [(point.batch_size, _row(answer, point, fastest)) for point in answer.curve]
    missing = [(size, _failed_row(size, outcome)) for size, outcome in failed_sizes(document)]
    rows = tuple(row for _, row in sorted([*measured, *missing], key=lambda pair: pair[0]))
    return (Table(columns=COLUMNS, rows=rows, legend=_legend(answer.curve), bar_column=1),)


def conclusion(document: Document) -> tuple[str, ...]:
    answer: ThroughputAnswer = document.answer
    point = _point(answer, answer.chosen_batch)
    if point is None:
        return (f"{_choice(answer)}: batch {batch(answer.chosen_batch)}",)
    speed = f"{rate_interval(point.examples_per_second, point.ci95)} examples/s"
    peak = memory_of_limit(point.peak_memory_bytes, point.memory_share)
    step = f"{duration(point.step_seconds)} per step"
    first = f"{_choice(answer)}: batch {point.batch_size}, {speed}, {step}, {peak}"
    others = (_faster(answer, point), _cheaper(answer, point))
    return (first, *(line for line in others if line is not None))


def verdicts(document: Document) -> tuple[str, ...]:
    answer: ThroughputAnswer = document.answer
    return answer.verdicts


def sheet(document: Document) -> Sheet:
    answer: ThroughputAnswer = document.answer
    measured = [_sheet_row(answer, point) for point in answer.curve]
    failed = [_failed_sheet_row(answer, size, outcome) for size, outcome in failed_sizes(document)]
    return Sheet(columns=SHEET_COLUMNS, rows=tuple(sorted([*measured, *failed], key=lambda row: row[2] or 0)))


def adoptions(document: Document) -> tuple[Adoption, ...]:
    answer: ThroughputAnswer = document.answer
    training = answer.mode == "train"
    return (
        Adoption(
            model=answer.model,
            batch_size=answer.chosen_batch,
            training=training,
            run=run_settings(document),
            own_data=brings_own_data(document, answer.model),
        ),
    )


def failed_sizes(document: Document) -> tuple[tuple[int, str], ...]:
    """Sizes without a point: the smallest that ran out of memory, and every one that failed otherwise."""
    answer: ThroughputAnswer = document.answer
    measured = {point.batch_size for point in answer.curve}
    failed = {trial.batch_size: trial for trial in trial_rows(document) if not trial.ok}
    missing = {size: trial.outcome for size, trial in failed.items() if size is not None and size not in measured}
    edge = answer.out_of_memory_from or min(_out_of_memory(failed.values()), default=None)
    others = {size: outcome for size, outcome in missing.items() if not failed[size].out_of_memory}
    if edge is not None and edge not in measured:
        others[edge] = missing.get(edge, "out_of_device_memory")
    return tuple(sorted(others.items()))


def point_marks(point: CurvePoint) -> tuple[str, ...]:
    """Why a point is marked: what the analysis said of it, and that it was not steady if it was not."""
    said = tuple(one_line(mark) for mark in point.marks)
    unsaid = not point.steady and not any("steady" in mark for mark in said)
    return (*said, "not steady") if unsaid else said


def _out_of_memory(failed: Iterable[TrialRow]) -> list[int]:
    return [trial.batch_size for trial in failed if trial.out_of_memory and trial.batch_size is not None]


def _point(answer: ThroughputAnswer, batch_size: int) -> CurvePoint | None:
    return next((point for point in answer.curve if point.batch_size == batch_size), None)


def _choice(answer: ThroughputAnswer) -> str:
    return one_line(answer.choose).capitalize()


def _notes(answer: ThroughputAnswer, batch_size: int) -> tuple[str, ...]:
    names = {
        "best": answer.best_batch,
        "recommended": answer.recommended_batch,
        "chosen": answer.chosen_batch,
    }
    found = tuple(name for name, size in names.items() if size == batch_size)
    return tuple(name for name in found if name != "chosen") if "recommended" in found else found


def _row(answer: ThroughputAnswer, point: CurvePoint, fastest: float) -> Row:
    notes = _notes(answer, point.batch_size)
    speed = rate_interval(point.examples_per_second, point.ci95) + (f" {MARK}" if point_marks(point) else "")
    peak = memory_of_limit(point.peak_memory_bytes, point.memory_share)
    cells = (batch(point.batch_size), speed, duration(point.step_seconds), peak, ", ".join(notes))
    chosen = point.batch_size == answer.chosen_batch
    tone: Tone = "chosen" if chosen else "good" if notes else "plain"
    bar = point.examples_per_second / fastest if known(point.examples_per_second) else None
    return Row(cells=cells, tone=tone, bar=bar)


def _failed_row(batch_size: int, outcome: str) -> Row:
    return Row(cells=(batch(batch_size), outcome_words(outcome), "", "", ""), tone="bad")


def _legend(curve: tuple[CurvePoint, ...]) -> tuple[str, ...]:
    marked = [f"{point.batch_size} {', '.join(point_marks(point))}" for point in curve if point_marks(point)]
    return (f"{MARK} take with care: {'; '.join(marked)}",) if marked else ()


def _faster(answer: ThroughputAnswer, chosen: CurvePoint) -> str | None:
    best = _point(answer, answer.best_batch)
    if best is None or best.batch_size == chosen.batch_size or not chosen.examples_per_second > 0:
        return None
    gain = best.examples_per_second / chosen.examples_per_second - 1
    speed = f"{rate_interval(best.examples_per_second, best.ci95)} examples/s"
    return f"Best measured: batch {best.batch_size}, {speed} ({gain * 100:+.1f} %){_memory_ratio(best, chosen)}"


def _cheaper(answer: ThroughputAnswer, chosen: CurvePoint) -> str | None:
    """The smallest batch that is nearly as fast and takes less memory."""
    smaller = sorted((point for point in answer.curve if point.batch_size < chosen.batch_size), key=_size)
    for point in smaller:
        kept = point.examples_per_second / chosen.examples_per_second
        if kept >= NEAR_EQUAL and point.peak_memory_bytes < chosen.peak_memory_bytes:
            memory = _memory_ratio(point, chosen)
            return f"Near-equal and cheaper: batch {point.batch_size}, {share(kept)} of the speed{memory}"
    return None


def _memory_ratio(point: CurvePoint, chosen: CurvePoint) -> str:
    if not chosen.peak_memory_bytes:
        return ""
    return f" with {point.peak_memory_bytes / chosen.peak_memory_bytes:.2f}× the memory"


def _size(point: CurvePoint) -> int:
    return point.batch_size


def _sheet_row(answer: ThroughputAnswer, point: CurvePoint) -> tuple[Number, ...]:
    return (
        answer.model, answer.mode, point.batch_size, "ok", point.examples_per_second, *point.ci95,
        point.step_seconds, point.peak_memory_bytes, point.memory_share, point.steady, point.processes,
        "; ".join(point_marks(point)), point.batch_size == answer.best_batch,
        point.batch_size == answer.recommended_batch,
    )  # fmt: skip


def _failed_sheet_row(answer: ThroughputAnswer, batch_size: int, outcome: str) -> tuple[Number, ...]:
    return (answer.model, answer.mode, batch_size, outcome, *(None,) * 7, None, None, False, False)


THROUGHPUT = View(
    title=title,
    headline=headline,
    tables=tables,
    conclusion=conclusion,
    verdicts=verdicts,
    sheet=sheet,
    chart=throughput_chart,
    adoptions=adoptions,
)
