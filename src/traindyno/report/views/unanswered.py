"""A study that concluded nothing, because it was cut or everything failed: its trials speak."""

from traindyno.core.answers import Document
from traindyno.report.trials import TrialRow, outcome_words, reason, trial_rows
from traindyno.report.view import Column, Headline, Row, Sheet, Table, View, nothing
from traindyno.report.wording import batch, duration, one_line, rate_interval, size

COLUMNS = (
    Column(heading="batch size", narrow="batch\nsize"),
    Column(heading="outcome", right=False),
    Column(heading="throughput", unit="examples per second", narrow="throughput\n(examples/s)"),
    Column(heading="memory"),
    Column(heading="took"),
)
SHEET_COLUMNS = (
    "model", "kind", "batch_size", "outcome", "examples_per_second", "step_seconds", "peak_memory_bytes",
    "trial_seconds",
)  # fmt: skip


def title(document: Document) -> str:
    return f"{one_line(document.command)}: no answer yet"


def headline(document: Document) -> Headline | None:
    return None


def tables(document: Document) -> tuple[Table, ...]:
    rows = tuple(_row(trial) for trial in trial_rows(document))
    return (Table(columns=COLUMNS, rows=rows, title="Trials"),) if rows else ()


def conclusion(document: Document) -> tuple[str, ...]:
    finished = len(document.trials)
    ending = f"{finished} trial{'' if finished == 1 else 's'} finished"
    failed = next((trial for trial in reversed(trial_rows(document)) if not trial.ok), None)
    reason_line = () if failed is None else (f"Last failure: {reason(failed)}",)
    return (f"No answer: {ending}.", *reason_line)


def sheet(document: Document) -> Sheet:
    return Sheet(
        columns=SHEET_COLUMNS,
        rows=tuple(
            (trial.model, trial.kind, trial.batch_size, trial.outcome, trial.examples_per_second,
             trial.step_seconds, trial.peak_bytes, trial.seconds)
            for trial in trial_rows(document)
        ),
    )  # fmt: skip


def chart(document: Document) -> None:
    return None


def _row(trial: TrialRow) -> Row:
    speed = rate_interval(trial.examples_per_second, trial.ci95) if trial.examples_per_second else ""
    peak = size(trial.peak_bytes) if trial.peak_bytes else ""
    cells = (batch(trial.batch_size), outcome_words(trial.outcome), speed, peak, duration(trial.seconds))
    return Row(cells=cells, tone="plain" if trial.ok else "bad")


UNANSWERED = View(
    title=title,
    headline=headline,
    tables=tables,
    conclusion=conclusion,
    verdicts=nothing,
    sheet=sheet,
    chart=chart,
)
