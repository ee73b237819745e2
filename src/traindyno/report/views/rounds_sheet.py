"""The runs of a round for a spreadsheet."""

from traindyno.core.answers import Document, RoundAnswer
from traindyno.report.view import Number, Sheet
from traindyno.report.wording import one_line

RUN_COLUMNS = (
    "round", "campaign", "metric", "higher_is_better", "phase", "arm", "branch", "index", "seed", "ending", "score",
    "seconds", "examples_per_second",
)  # fmt: skip


def sheet(document: Document) -> Sheet:
    """One row for each run, with a column for each of its hyperparameters."""
    answer: RoundAnswer = document.answer
    names = tuple(dict.fromkeys(name for run in answer.runs for name in run.draw.values))
    rows: tuple[tuple[Number, ...], ...] = tuple(
        (
            answer.round, answer.campaign, answer.metric, answer.higher_is_better, run.draw.phase, run.draw.arm,
            run.draw.branch, run.draw.index, run.seed, run.ending, run.score, run.seconds, run.examples_per_second,
            *(run.draw.values.get(name) for name in names),
        )
        for run in answer.runs
    )  # fmt: skip
    return Sheet(columns=(*RUN_COLUMNS, *(_column(name) for name in names)), rows=rows)


def _column(name: str) -> str:
    """A hyperparameter may be called as a column is."""
    return f"value_{name}" if name in RUN_COLUMNS else one_line(name, 80)
