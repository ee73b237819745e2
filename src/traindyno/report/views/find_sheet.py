"""The finalists and everything tried as rows of one sheet; the first column says which."""

from traindyno.analysis.find.words import changes_in_words
from traindyno.core.answers import Attempt, FindAnswer
from traindyno.report.finalists import Placed, placed_finalists
from traindyno.report.view import Number, Sheet

SHARED = ("row", "name", "chosen")
OF_FINALISTS = (
    "batch_size", "data", "changes", "examples_per_second", "examples_per_second_ci95_low",
    "examples_per_second_ci95_high", "step_seconds", "speedup", "speedup_ci95_low", "speedup_ci95_high", "confirmed",
    "processes", "peak_memory_bytes", "num_workers", "predicted_examples_per_second", "cheaper_in",
    "learning_rate_factor", "learning_rate",
)  # fmt: skip
OF_ATTEMPTS = ("side", "ratio", "ratio_ci95_low", "ratio_ci95_high", "predicted", "outcome", "trials", "seconds")
COLUMNS = ("model", *SHARED, *OF_FINALISTS, *OF_ATTEMPTS)


def find_sheet(answer: FindAnswer) -> Sheet:
    """`chosen` is what is recommended, of attempts what was adopted."""
    finalists = tuple(_finalist_row(answer, placed) for placed in placed_finalists(answer))
    return Sheet(columns=COLUMNS, rows=(*finalists, *(_attempt_row(answer, attempt) for attempt in answer.attempts)))


def _finalist_row(answer: FindAnswer, placed: Placed) -> tuple[Number, ...]:
    found = placed.finalist
    return (
        answer.model, "finalist", placed.label, placed.chosen, found.batch_size, found.data,
        changes_in_words(found.changes), found.examples_per_second, *found.ci95, found.step_seconds, found.speedup,
        *found.speedup_ci95, found.confirmed, found.processes, found.peak_memory_bytes,
        found.settings.get("num_workers"), found.predicted_examples_per_second, ", ".join(found.cheaper_in),
        found.learning_rate_factor, found.learning_rate, *(None for _ in OF_ATTEMPTS),
    )  # fmt: skip


def _attempt_row(answer: FindAnswer, attempt: Attempt) -> tuple[Number, ...]:
    return (
        answer.model, "attempt", attempt.change, attempt.adopted, *(None for _ in OF_FINALISTS), attempt.side,
        attempt.ratio, *(attempt.ci95 or (None, None)), attempt.predicted, attempt.outcome, attempt.trials,
        attempt.seconds,
    )  # fmt: skip
