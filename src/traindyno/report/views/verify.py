"""Whether a gain still holds: what was promised, what was measured now, and the two ways to train side by side."""

from traindyno.analysis.find.placed import BASELINE, RECOMMENDED
from traindyno.core.answers import Document, Finalist, VerifyAnswer
from traindyno.report.charts.verify import verify_chart
from traindyno.report.view import Headline, Number, Row, Sheet, Table, Tone, View
from traindyno.report.views.find_tables import FINALIST_COLUMNS, UNSTEADY_WORDS, rates_apart, speed_words, way_cells
from traindyno.report.views.find_words import interval_words, rates_words
from traindyno.report.wording import batch, count, duration, known, one_line, ratio_interval, ratio_range

ANSWERS = {True: "the gain holds", False: "the gain does not hold", None: "it is open whether the gain holds"}
NOTHING_PROMISED = "Nothing was promised and nothing changes: the settings are the baseline's own"
SHEET_COLUMNS = (
    "model", "name", "batch_size", "data", "examples_per_second", "examples_per_second_ci95_low",
    "examples_per_second_ci95_high", "step_seconds", "speedup", "speedup_ci95_low", "speedup_ci95_high", "processes",
    "peak_memory_bytes", "promised_speedup", "promised_ci95_low", "promised_ci95_high", "holds",
)  # fmt: skip
METHOD = (
    "Both ways to train ran end to end, loader and all, by turns and each time in a fresh process: the speed is a "
    "ratio of such rounds, and its 95 % interval covers the variation between processes. A gain holds if it is more "
    "than chance and reaches 97 % of the promised one; where the interval allows both, it is open."
)


def title(document: Document) -> str:
    answer: VerifyAnswer = document.answer
    words = (answer.mode, f"batch {batch(answer.recommended.batch_size)}", answer.recommended.settings.get("device"))
    told = ", ".join(one_line(word) for word in words if word)
    return f"Does the gain for {one_line(answer.model)} hold? ({told})"


def headline(document: Document) -> Headline:
    answer: VerifyAnswer = document.answer
    beside = [
        ("95 % interval", f"{interval_words(answer.speedup_ci95)}×"),
        *([("promised", _promised(answer))] if _promise(answer) else []),
        ("throughput", rates_words(answer.baseline, answer.recommended)),
        ("measured in", f"{duration(answer.seconds)}, {count(answer.trials)} trials"),
    ]
    label = f"as fast: {ANSWERS[answer.holds]}" if answer.recommended.changes else NOTHING_PROMISED
    return Headline(value=speed_words(answer.speedup), label=label, beside=tuple(beside))


def tables(document: Document) -> tuple[Table, ...]:
    answer: VerifyAnswer = document.answer
    rows = (_row(BASELINE, answer.baseline, answer), _row(RECOMMENDED, answer.recommended, answer))
    return (Table(columns=FINALIST_COLUMNS, rows=rows, legend=_legend(answer), bar_column=3),)


def _legend(answer: VerifyAnswer) -> tuple[str, ...]:
    """What the speed is of where the rates do not give it, and the mark of rates that mean little."""
    apart = [f"{RECOMMENDED}: {note}" for note in rates_apart(answer.baseline, answer.recommended)]
    steady = answer.baseline.steady and answer.recommended.steady
    return (*apart, *(() if steady else (UNSTEADY_WORDS,)))


def conclusion(document: Document) -> tuple[str, ...]:
    answer: VerifyAnswer = document.answer
    if not answer.recommended.changes:
        return (NOTHING_PROMISED,)
    told = ANSWERS[answer.holds]
    first = f"{told[:1].upper()}{told[1:]}: {_measured(answer)} as fast{_promise(answer)}"
    return (first, f"Not confirmed: {one_line(answer.open_because, 400)}") if answer.open_because else (first,)


def verdicts(document: Document) -> tuple[str, ...]:
    """The first says what the conclusion says."""
    answer: VerifyAnswer = document.answer
    return tuple(one_line(verdict, 400) for verdict in answer.verdicts[1:])


def sheet(document: Document) -> Sheet:
    answer: VerifyAnswer = document.answer
    named = ((BASELINE, answer.baseline), (RECOMMENDED, answer.recommended))
    return Sheet(columns=SHEET_COLUMNS, rows=tuple(_sheet_row(answer, name, found) for name, found in named))


def _measured(answer: VerifyAnswer) -> str:
    """With both ends of the interval where they decided the verdict."""
    words = ratio_interval if answer.holds is None else ratio_range
    return words(answer.speedup, answer.speedup_ci95)


def _promise(answer: VerifyAnswer) -> str:
    has_promise = known(answer.promised_speedup) and answer.recommended.changes
    return f", promised {_promised(answer)}" if has_promise else ""


def _promised(answer: VerifyAnswer) -> str:
    return ratio_interval(answer.promised_speedup, answer.promised_ci95)


def _row(label: str, finalist: Finalist, answer: VerifyAnswer) -> Row:
    fastest = max((each.speedup for each in (answer.baseline, answer.recommended) if known(each.speedup)), default=1.0)
    bar = finalist.speedup / fastest if known(finalist.speedup) else None
    kept = label == RECOMMENDED and answer.holds is not None
    tone: Tone = ("chosen" if answer.holds else "bad") if kept else "plain"
    cells = way_cells(label, finalist)
    return Row(cells=(*cells[:3], _measured(answer), *cells[4:]) if kept else cells, tone=tone, bar=bar)


def _sheet_row(answer: VerifyAnswer, name: str, found: Finalist) -> tuple[Number, ...]:
    return (
        answer.model, name, found.batch_size, found.data, found.examples_per_second, *found.ci95, found.step_seconds,
        found.speedup, *found.speedup_ci95, found.processes, found.peak_memory_bytes, answer.promised_speedup,
        *(answer.promised_ci95 or (None, None)), answer.holds,
    )  # fmt: skip


VERIFY = View(
    title=title,
    headline=headline,
    tables=tables,
    conclusion=conclusion,
    verdicts=verdicts,
    sheet=sheet,
    chart=verify_chart,
    answer_first=True,
    method=METHOD,
)
