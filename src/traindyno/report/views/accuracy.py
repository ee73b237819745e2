"""What a larger batch costs in accuracy: the table of the notes, what of it is more than chance, and the curves."""

import math

from traindyno.analysis.row_comparisons import LEVEL, points
from traindyno.core.answers import AccuracyAnswer, AccuracyRow, Document, RowComparison
from traindyno.core.units import count_of
from traindyno.report.charts.accuracy import accuracy_chart, emulated_words
from traindyno.report.conditions import setting_words
from traindyno.report.view import Column, Headline, Number, Row, Sheet, Table, Tone, View
from traindyno.report.wording import NOT_AVAILABLE, batch, count, duration, known, one_line, rate

COLUMNS = (
    Column(heading="batch size", narrow="batch"),
    Column(heading="learning rate", narrow="learning\nrate"),
    Column(heading="accuracy", unit="mean ± sd"),
    Column(heading="seeds"),
    Column(heading="steps"),
    Column(heading="time per run", narrow="time\nper run"),
    Column(heading="examples/s"),
)
NORMALISED = Column(heading="normalised over", unit="examples", narrow="normalised\nover")
RULES = {"gain": "gain rule", "linear": "linear rule", "sqrt": "square-root rule", "none": "one rate for all"}
TUNED = "rates tuned"
SHEET_COLUMNS = (
    "model", "data", "equal", "rule", "emulated_devices", "batch_size", "learning_rate", "accuracy_mean", "accuracy_sd",
    "accuracy_ci95_low", "accuracy_ci95_high", "seeds", "diverged", "missing", "steps", "epochs", "seconds",
    "examples_per_second", "norm_examples", "tuning_runs", "rate_at_edge", "difference", "difference_ci95_low",
    "difference_ci95_high", "p_value", "verdict",
)  # fmt: skip
METHOD = (
    "Every run is a training of its own, with weights and order of examples from its seed and a schedule that ends "
    "with it. What counts is the accuracy at its end, over all of the evaluation examples: the best on the way would "
    "be the best of many. ± is the standard deviation between seeds. Rows are compared by Welch's test, corrected for "
    "their number by Holm's method; where it shows nothing, the difference is told that it would have shown four times "
    "in five. Rates are looked for with seeds that do not count, but on the same evaluation examples. Time is that of "
    "training alone."
)


def title(document: Document) -> str:
    answer: AccuracyAnswer = document.answer
    words = (f"equal {answer.equal}", RULES.get(answer.rule, TUNED), emulated_words(answer))
    told = setting_words(document, *words)
    return f"Accuracy by batch size: {one_line(answer.model)} on {one_line(answer.data)} ({told})"


def headline(document: Document) -> Headline | None:
    """The batch to take, or the one that ran; none where sizes cannot be told apart, which the sentences then say."""
    answer: AccuracyAnswer = document.answer
    if answer.comparisons and not _is_compared(answer):
        return None
    row = _largest(answer)
    told = (
        ("accuracy there", _accuracy(row)),
        ("seeds", count(row.seeds)),
        ("a run", _times(answer, row)),
        ("not known", _unseen(answer, row)),
        ("compared at", f"equal {answer.equal}"),
        ("devices", emulated_words(answer)),
        ("search for rates", duration(answer.tuning_seconds) if answer.tuning_seconds else None),
    )
    beside = tuple((name, words) for name, words in told if words)
    if not _is_compared(answer):
        return Headline(value=_accuracy(row), label=f"accuracy at batch {batch(row.batch_size)}", beside=beside[1:])
    label = f"largest batch without a shown loss against {answer.comparisons[0].first}"
    return Headline(value=f"batch {batch(row.batch_size)}", label=label, beside=beside)


def tables(document: Document) -> tuple[Table, ...]:
    answer: AccuracyAnswer = document.answer
    normalises = any(row.norm_examples is not None for row in answer.rows)
    emulated = f", {words}" if (words := emulated_words(answer)) else ""
    return (
        Table(
            columns=(*COLUMNS, *([NORMALISED] if normalises else [])),
            rows=tuple(_row(answer, row, normalises) for row in answer.rows),
            title=f"Accuracy at the end of the run, {_length(answer)}{emulated}",
        ),
    )


def conclusion(document: Document) -> tuple[str, ...]:
    """The largest batch that nothing speaks against, and beside it what may have gone unseen."""
    answer: AccuracyAnswer = document.answer
    row = _largest(answer)
    emulated = f", {words}" if (words := emulated_words(answer)) else ""
    if not answer.comparisons:
        return (
            f"Accuracy: {_accuracy(row)} at batch {batch(row.batch_size)} over {count_of(row.seeds, 'seed')}{emulated}",
        )
    if not _is_compared(answer):
        means = ", ".join(f"{_accuracy(each)} at batch {batch(each.batch_size)}" for each in answer.rows)
        return (f"Accuracy: {means}; too few seeds to tell them apart{emulated}",)
    larger = [each for each in answer.rows if each.accuracies and each.batch_size > row.batch_size]
    if larger and row.batch_size == min(each.batch_size for each in answer.rows if each.accuracies):
        best = f"batch {batch(row.batch_size)}, {_accuracy(row)}"
        return (f"No larger batch that ran keeps the accuracy of {best}{emulated}",)
    times, against = _times(answer, row), answer.comparisons[0].first
    told = [part for part in (_accuracy(row), times and f"a run {times}", _unseen(answer, row)) if part]
    largest = f"Largest batch without a shown loss against {against}: {batch(row.batch_size)} ({'; '.join(told)})"
    return (f"{largest}{emulated}", *_highest(answer, row))


def _highest(answer: AccuracyAnswer, row: AccuracyRow) -> tuple[str, ...]:
    """The highest mean, where it is another's."""
    best = max((each for each in answer.rows if each.accuracies), key=lambda each: each.accuracy_mean)
    if best.batch_size == row.batch_size:
        return ()
    return (f"Highest mean: {_accuracy(best)} at batch {batch(best.batch_size)}",)


def verdicts(document: Document) -> tuple[str, ...]:
    answer: AccuracyAnswer = document.answer
    return tuple(one_line(verdict, 500) for verdict in answer.verdicts)


def sheet(document: Document) -> Sheet:
    answer: AccuracyAnswer = document.answer
    return Sheet(columns=SHEET_COLUMNS, rows=tuple(_sheet_row(answer, row) for row in answer.rows))


def _largest(answer: AccuracyAnswer) -> AccuracyRow:
    """The largest batch that was held against the reference and is not shown to be worse, or the reference itself."""
    ran = [row for row in answer.rows if row.accuracies]
    kept = [row for row in ran if _is_kept(_comparison(answer, row))]
    return max(kept or ran, key=lambda row: row.batch_size)


def _comparison(answer: AccuracyAnswer, row: AccuracyRow) -> RowComparison | None:
    return next((each for each in answer.comparisons if each.second == f"batch {row.batch_size}"), None)


def _is_compared(answer: AccuracyAnswer) -> bool:
    """Whether there were seeds enough for any comparison."""
    return any(comparison.p_value is not None for comparison in answer.comparisons)


def _is_kept(comparison: RowComparison | None) -> bool:
    """The reference is compared with nothing; what nothing could be told of does not count."""
    return comparison is None or (comparison.p_value is not None and not _is_lower(comparison))


def _is_lower(comparison: RowComparison | None) -> bool:
    shown = comparison is not None and comparison.p_value is not None and comparison.p_value < LEVEL
    return shown and comparison is not None and comparison.difference < 0


def _times(answer: AccuracyAnswer, row: AccuracyRow) -> str | None:
    """`3.2× as fast as at batch 32`; null of the smallest itself, and where a time is not known."""
    smallest = min((each for each in answer.rows if each.accuracies), key=lambda each: each.batch_size, default=row)
    if row.batch_size == smallest.batch_size or not (known(row.seconds) and known(smallest.seconds)):
        return None
    ratio = smallest.seconds / row.seconds
    words = f"{ratio:.1f}× as fast" if ratio >= 1 else f"{1 / ratio:.1f}× as long"
    return f"{words} as at batch {batch(smallest.batch_size)}"


def _unseen(answer: AccuracyAnswer, row: AccuracyRow) -> str | None:
    """How much may have been lost without showing; null of the reference, and of what is shown to be better."""
    found = _comparison(answer, row)
    if found is None or found.detectable is None or found.p_value is None or found.p_value < LEVEL:
        return None
    return f"a loss below {points(found.detectable)} may go unseen with {row.seeds} seeds"


def _length(answer: AccuracyAnswer) -> str:
    """`equal epochs (20 each)`, as far as all rows have told."""
    rows = [row for row in answer.rows if row.accuracies]
    told = {count(row.steps) if answer.equal == "steps" else _epochs(row.epochs) for row in rows}
    each = f" ({told.pop()} each)" if len(told) == 1 else ""
    return f"equal {answer.equal}{each}"


def _epochs(epochs: float) -> str:
    """`20`, and `0.1` of less than one: whole steps do not make whole epochs."""
    return f"{round(epochs, 0 if epochs >= 10 else 1):g}" if epochs >= 1 else f"{epochs:.1g}"


def _row(answer: AccuracyAnswer, row: AccuracyRow, normalises: bool) -> Row:
    seeds = f"{row.seeds}" if not row.missing else f"{row.seeds} of {row.seeds + row.missing}"
    cells = (
        batch(row.batch_size),
        f"{row.learning_rate:.3g}" if known(row.learning_rate) else NOT_AVAILABLE,
        _accuracy(row),
        seeds,
        count(row.steps) if row.accuracies else NOT_AVAILABLE,
        duration(row.seconds),
        rate(_examples_per_second(row)),
        *([NOT_AVAILABLE if row.norm_examples is None else count(row.norm_examples)] if normalises else []),
    )
    tone: Tone = "bad" if not row.accuracies or _is_lower(_comparison(answer, row)) else "plain"
    chosen = row is _largest(answer) and _is_compared(answer)
    return Row(cells=cells, tone="chosen" if chosen else tone)


def _accuracy(row: AccuracyRow) -> str:
    """`97.2 ± 0.4 %`."""
    if not known(row.accuracy_mean):
        return NOT_AVAILABLE
    spread = "" if row.accuracy_sd is None else f" ± {100 * row.accuracy_sd:.{1 if row.accuracy_sd >= 0.0005 else 2}f}"
    return f"{100 * row.accuracy_mean:.1f}{spread} %"


def _examples_per_second(row: AccuracyRow) -> float:
    """Of whole runs; where all diverged there is none to tell."""
    whole = row.seeds > row.diverged and known(row.seconds) and row.seconds > 0
    return row.batch_size * row.steps / row.seconds if whole else math.nan


def _sheet_row(answer: AccuracyAnswer, row: AccuracyRow) -> tuple[Number, ...]:
    found = _comparison(answer, row)
    compared: tuple[Number, ...] = (None,) * 5
    if found is not None:
        compared = (found.difference, *(found.ci95 or (None, None)), found.p_value, found.verdict)
    return (
        answer.model, answer.data, answer.equal, answer.rule, answer.emulated_devices, row.batch_size,
        row.learning_rate, row.accuracy_mean, row.accuracy_sd, *(row.ci95 or (None, None)), row.seeds, row.diverged,
        row.missing, row.steps, row.epochs, row.seconds, _examples_per_second(row), row.norm_examples, row.tuning_runs,
        row.rate_at_edge, *compared,
    )  # fmt: skip


ACCURACY = View(
    title=title,
    headline=headline,
    tables=tables,
    conclusion=conclusion,
    verdicts=verdicts,
    sheet=sheet,
    chart=accuracy_chart,
    method=METHOD,
)
