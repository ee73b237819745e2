"""The finalists and everything tried as rows of one sheet; the first column says which."""

from traindyno.analysis.find.placed import Placed, placed_finalists
from traindyno.analysis.find.words import changes_in_words
from traindyno.core.answers import Attempt, Finalist, FindAnswer
from traindyno.report.finalists import foretells_loss
from traindyno.report.view import Number, Sheet

SHARED = ("row", "name", "chosen")
OF_FINALISTS = (
    "batch_size", "data", "changes", "examples_per_second", "examples_per_second_ci95_low",
    "examples_per_second_ci95_high", "step_seconds", "speedup", "speedup_ci95_low", "speedup_ci95_high", "confirmed",
    "processes", "peak_memory_bytes", "num_workers", "predicted_examples_per_second", "cheaper_in",
    "learning_rate_factor", "learning_rate",
)  # fmt: skip
OF_ATTEMPTS = (
    "side", "ratio", "ratio_ci95_low", "ratio_ci95_high", "predicted", "within_process", "outcome", "trials", "seconds",
)  # fmt: skip
COLUMNS = ("model", *SHARED, *OF_FINALISTS, *OF_ATTEMPTS)
OF_LEARNING = ("examples_needed", "learning_gain", "learning_gain_ci95_low", "learning_gain_ci95_high")
"""At the end, where the time to the same loss is predicted."""


def find_sheet(answer: FindAnswer) -> Sheet:
    """`chosen` is what is recommended, of attempts what was adopted."""
    placed = placed_finalists(answer)
    finalists = [_finalist_row(answer, each) for each in placed]
    attempts = [_attempt_row(answer, each) for each in answer.attempts]
    if not foretells_loss(answer):
        return Sheet(columns=COLUMNS, rows=(*finalists, *attempts))
    learning = [(*row, *_learning_cells(each.finalist)) for row, each in zip(finalists, placed, strict=True)]
    others = [(*row, *(None for _ in OF_LEARNING)) for row in attempts]
    return Sheet(columns=(*COLUMNS, *OF_LEARNING), rows=(*learning, *others))


def _learning_cells(found: Finalist) -> tuple[Number, ...]:
    return found.examples_needed, found.learning_gain, *(found.learning_gain_ci95 or (None, None))


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
        attempt.ratio, *(attempt.ci95 or (None, None)), attempt.predicted, attempt.within_process,
        attempt.outcome, attempt.trials, attempt.seconds,
    )  # fmt: skip
