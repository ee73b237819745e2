"""The largest batch: the safe one first, beside it what merely runs; a table for several models."""

from traindyno.core.answers import Document, MaxBatchAnswer
from traindyno.report.charts.max_batch import max_batch_chart
from traindyno.report.conditions import brings_own_data, run_settings, setting_words
from traindyno.report.document import answers_of
from traindyno.report.trials import TrialRow, outcome_words, trial_rows
from traindyno.report.view import Adoption, Column, Headline, Number, Row, Sheet, Table, View
from traindyno.report.wording import (
    NOT_AVAILABLE,
    batch,
    count,
    duration,
    memory_of_limit,
    one_line,
    share,
    size,
)

SUMMARY_COLUMNS = (
    Column(heading="model", right=False),
    Column(heading="safe batch", narrow="safe\nbatch"),
    Column(heading="without retries", narrow="without\nretries"),
    Column(heading="largest that runs", narrow="largest\nthat runs"),
    Column(heading="first failed", narrow="first\nfailed"),
    Column(heading="probes", unit="out of memory", narrow="probes\n(failed)"),
    Column(heading="took"),
)
PROBE_COLUMNS = (
    Column(heading="batch size", narrow="batch\nsize"),
    Column(heading="outcome", right=False),
    Column(heading="memory", unit="share of limit", narrow="memory\n(of limit)"),
    Column(heading="allocator retries", narrow="allocator\nretries"),
    Column(heading="margin"),
    Column(heading="took"),
    Column(heading="note", right=False),
)
SHEET_COLUMNS = (
    "model", "mode", "safe_batch", "no_retry_batch", "max_batch", "first_failed_batch", "probe_batch_size",
    "probe_outcome", "probe_peak_memory_bytes", "probe_peak_reserved_bytes", "probe_memory_limit_bytes",
    "probe_allocator_retries", "probe_margin", "probe_seconds",
)  # fmt: skip


def title(document: Document) -> str:
    answers = _answers(document)
    what = one_line(answers[0].model) if len(answers) == 1 else f"{len(answers)} models"
    return f"Largest batch of {what} ({setting_words(document, answers[0].mode)})"


def headline(document: Document) -> Headline | None:
    answers = _answers(document)
    if len(answers) > 1:
        return None
    answer = answers[0]
    beside = (
        ("largest without allocator retries", batch(answer.no_retry_batch)),
        ("largest that runs", batch(answer.max_batch)),
        ("first that failed", batch(answer.first_failed_batch)),
        ("memory limit", size(answer.memory_limit_bytes)),
        ("probes", _probes(answer)),
    )
    return Headline(value=batch(answer.safe_batch), label="safe batch size", beside=beside)


def tables(document: Document) -> tuple[Table, ...]:
    answers = _answers(document)
    if len(answers) > 1:
        return (Table(columns=SUMMARY_COLUMNS, rows=tuple(_summary_row(answer) for answer in answers)),)
    probes = tuple(_probe_row(answers[0], trial) for trial in trial_rows(document))
    return (Table(columns=PROBE_COLUMNS, rows=probes),) if probes else ()


def conclusion(document: Document) -> tuple[str, ...]:
    answers = _answers(document)
    if len(answers) > 1:
        return (_safe_for_all(answers),)
    answer = answers[0]
    others = (_accumulation(answer), _memory(answer))
    return (_three_limits(answer), *(line for line in others if line is not None))


def verdicts(document: Document) -> tuple[str, ...]:
    answers = _answers(document)
    if len(answers) == 1:
        return answers[0].verdicts
    return tuple(f"{one_line(answer.model, 40)}: {verdict}" for answer in answers for verdict in answer.verdicts)


def sheet(document: Document) -> Sheet:
    answers, trials = _answers(document), trial_rows(document)
    rows = [row for answer in answers for row in _sheet_rows(answer, _trials_of(answer, answers, trials))]
    return Sheet(columns=SHEET_COLUMNS, rows=tuple(rows))


def adoptions(document: Document) -> tuple[Adoption, ...]:
    return tuple(
        Adoption(
            model=answer.model,
            batch_size=answer.micro_batch or answer.safe_batch,
            training=answer.mode == "train",
            accumulation_steps=answer.accumulation_steps,
            run=run_settings(document),
            own_data=brings_own_data(document, answer.model),
        )
        for answer in _answers(document)
        if answer.safe_batch is not None
    )


def _answers(document: Document) -> tuple[MaxBatchAnswer, ...]:
    return answers_of(document)


def _safe_for_all(answers: tuple[MaxBatchAnswer, ...]) -> str:
    found = [(answer.safe_batch, answer.model) for answer in answers if answer.safe_batch is not None]
    if not found:
        return "No model has a safe batch size"
    batch_size, model = min(found)
    which = f"all {len(answers)} models" if len(found) == len(answers) else f"{len(found)} of {len(answers)} models"
    return f"Safe for {which}: batch {batch_size}, set by {one_line(model, 60)}"


def _trials_of(
    answer: MaxBatchAnswer, answers: tuple[MaxBatchAnswer, ...], trials: tuple[TrialRow, ...]
) -> tuple[TrialRow, ...]:
    return trials if len(answers) == 1 else tuple(trial for trial in trials if trial.model == answer.model)


def _summary_row(answer: MaxBatchAnswer) -> Row:
    probes = f"{answer.probes} ({answer.out_of_memory_probes})"
    sizes = (answer.safe_batch, answer.no_retry_batch, answer.max_batch, answer.first_failed_batch)
    cells = (one_line(answer.model, 60), *map(batch, sizes), probes, duration(answer.seconds))
    return Row(cells=cells, tone="bad" if answer.safe_batch is None else "plain")


def _probe_row(answer: MaxBatchAnswer, trial: TrialRow) -> Row:
    limit = trial.limit_bytes or answer.memory_limit_bytes
    used = trial.peak_bytes / limit if trial.peak_bytes and limit else None
    cells = (
        batch(trial.batch_size),
        outcome_words(trial.outcome),
        memory_of_limit(trial.peak_bytes, used) if trial.ok else "",
        (NOT_AVAILABLE if trial.allocator_retries is None else count(trial.allocator_retries)) if trial.ok else "",
        share(trial.margin) if trial.margin else "",
        duration(trial.seconds),
        _note(answer, trial),
    )
    safe = trial.ok and trial.batch_size == answer.safe_batch
    return Row(cells=cells, tone="chosen" if safe else "plain" if trial.ok else "bad")


def _note(answer: MaxBatchAnswer, trial: TrialRow) -> str:
    """Which of the three limits a probe stands for."""
    names = {"safe": answer.safe_batch, "no retries": answer.no_retry_batch, "largest": answer.max_batch}
    return ", ".join(name for name, size in names.items() if trial.ok and size == trial.batch_size)


def _probes(answer: MaxBatchAnswer) -> str:
    return f"{answer.probes}, {answer.out_of_memory_probes} out of memory, {duration(answer.seconds)}"


def _three_limits(answer: MaxBatchAnswer) -> str:
    safe, quiet, runs = batch(answer.safe_batch), batch(answer.no_retry_batch), batch(answer.max_batch)
    return f"Safe batch size: {safe} (without allocator retries: {quiet}; largest that runs: {runs})"


def _accumulation(answer: MaxBatchAnswer) -> str | None:
    if answer.micro_batch is None or answer.accumulation_steps is None:
        return None
    product = f"{answer.micro_batch} × {answer.accumulation_steps} accumulation steps"
    return f"Effective batch {batch(answer.effective_batch)}: {product}"


def _memory(answer: MaxBatchAnswer) -> str | None:
    model = answer.memory_model
    if model is None:
        return None
    line = f"{size(model.intercept_bytes)} + {size(model.slope_bytes)} × batch size"
    return f"Peak memory: {line} (worst miss {share(model.relative_error)})"


def _sheet_rows(answer: MaxBatchAnswer, trials: tuple[TrialRow, ...]) -> list[tuple[Number, ...]]:
    found = (
        answer.model, answer.mode,
        answer.safe_batch, answer.no_retry_batch, answer.max_batch, answer.first_failed_batch,
    )  # fmt: skip
    if not trials:
        return [(*found, *(None,) * 8)]
    return [
        (*found, trial.batch_size, trial.outcome, trial.peak_bytes, trial.peak_reserved_bytes,
         trial.limit_bytes, trial.allocator_retries, trial.margin, trial.seconds)
        for trial in trials
    ]  # fmt: skip


MAX_BATCH = View(
    title=title,
    headline=headline,
    tables=tables,
    conclusion=conclusion,
    verdicts=verdicts,
    sheet=sheet,
    chart=max_batch_chart,
    adoptions=adoptions,
)
