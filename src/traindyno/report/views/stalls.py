"""What training waits for: runs that differ in one thing each, the causes with their shares, and the remedies."""

from traindyno.analysis.slowed_steps import SHARED
from traindyno.analysis.stall_causes import NOT_WAITED, PAGE_CACHE
from traindyno.analysis.stall_shares import COUNTS_FROM
from traindyno.analysis.stall_verdicts import UNSETTLED
from traindyno.core.answers import Document, Remedy, StallCause, StallRun, StallsAnswer
from traindyno.report.charts.stalls import LAST, ordered_runs, stalls_chart
from traindyno.report.conditions import setting_words
from traindyno.report.view import Column, Headline, Number, Row, Sheet, Table, View
from traindyno.report.views.loader import settings_words
from traindyno.report.views.stages import stages_table
from traindyno.report.wording import (
    batch,
    count,
    duration,
    known,
    one_line,
    rate,
    share,
    share_interval,
    short_interval,
    signed_duration,
    signed_percent,
)

RUN_COLUMNS = (
    Column(heading="run", right=False),
    Column(heading="time per step", narrow="time\nper step"),
    Column(heading="throughput", unit="examples per second", narrow="throughput\n(examples/s)"),
    Column(heading="predicted", unit="time per step", narrow="predicted\nper step"),
    Column(heading="prediction's miss", narrow="miss"),
)
CAUSE_COLUMNS = (
    Column(heading="cause", right=False),
    Column(heading="waited per step", narrow="waited\nper step"),
    Column(heading="share of the step", narrow="share\nof the step"),
    Column(heading="hidden per step", unit="done beside it", narrow="hidden\nper step"),
)
LOST_COLUMN = Column(heading="lost per step", narrow="lost\nper step")
REMEDY_COLUMNS = (
    Column(heading="remedy", right=False),
    Column(heading="predicted speed", narrow="predicted\nspeed"),
    Column(heading="try it with", right=False),
)
SHEET_COLUMNS = (
    "data", "run", "source", "step_seconds", "step_seconds_ci95_low", "step_seconds_ci95_high",
    "examples_per_second", "predicted_step_seconds", "note", "bound", "stall_share", "slowed_share", "wait_seconds",
)  # fmt: skip
WHOLE_STEPS = 2.0
"""An interval of a share that reaches a whole step to either side."""
METHOD = (
    "The same step ran with data resident on the device, with finished batches cached in host memory, and fed by the "
    "loader, with the files in the page cache and dropped from it. What one run takes longer than the one before is "
    "what their difference costs; what is done beside the step, and so waited for by nobody, is called hidden. "
    "On a CPU a step that takes longer beside its loader without waiting for it is told apart from waiting. "
    "Predictions come from an event simulation of the loader made of separately measured parts."
)


def title(document: Document) -> str:
    answer: StallsAnswer = document.answer
    words = setting_words(document, f"batch {batch(answer.batch_size)}")
    return f"What training on {one_line(answer.data)} waits for ({words})"


def headline(document: Document) -> Headline:
    answer: StallsAnswer = document.answer
    slower = _slower(answer)
    beside = [
        ("verdict", bound_words(answer.bound)),
        ("95 % interval", share_interval(answer.stall_share_ci95)),
        *([("slower without waiting", slower)] if slower else []),
        *((words(run.name), f"{short_interval(run.step_seconds, run.ci95)} per step") for run in _main(answer)),
        ("loader", settings_words(answer.settings)),
    ]
    return Headline(value=share(answer.stall_share), label="of each step is waiting", beside=tuple(beside))


def tables(document: Document) -> tuple[Table, ...]:
    answer: StallsAnswer = document.answer
    return (
        *_runs_table(answer),
        *_causes_table(answer),
        *stages_table(answer.stages),
        *_remedies_table(answer),
    )


def conclusion(document: Document) -> tuple[str, ...]:
    answer: StallsAnswer = document.answer
    slower = _slower(answer)
    first = f"{bound_words(answer.bound)}: {_waiting(answer)}{f'; slower without waiting: {slower}' if slower else ''}"
    skipped = f"Skipped: {count(answer.bad_examples)} examples that could not be read" if answer.bad_examples else None
    others = (_cheapest(answer), skipped)
    return (first, *(line for line in others if line is not None))


def verdicts(document: Document) -> tuple[str, ...]:
    answer: StallsAnswer = document.answer
    return tuple(one_line(verdict, 400) for verdict in answer.verdicts)


def sheet(document: Document) -> Sheet:
    answer: StallsAnswer = document.answer
    return Sheet(columns=SHEET_COLUMNS, rows=tuple(_sheet_row(answer, run) for run in ordered_runs(answer)))


def _waiting(answer: StallsAnswer) -> str:
    interval = share_interval(answer.stall_share_ci95)
    if answer.bound == UNSETTLED and not _slower(answer):
        return f"{share(answer.stall_share)} of each step may be waiting ({interval})"
    if not answer.stall_share_ci95[0] > 0:
        return f"no waiting is shown ({interval} of each step)"
    return f"{share(answer.stall_share)} of each step is waiting ({interval})"


def _slower(answer: StallsAnswer) -> str:
    """What is lost beside the loader without waiting, if that is worth a word."""
    lost, interval = answer.slowed_share, answer.slowed_share_ci95
    if lost is None or interval is None or not known(lost) or lost <= COUNTS_FROM:
        return ""
    return f"{share(lost)} ({share_interval(interval)})"


def bound_words(bound: str) -> str:
    """`data: decode` → `Data-bound (decode)`, `compute, shared with the loader` → `Compute-bound (shared with …)`."""
    if bound == UNSETTLED:
        return "Not settled"
    kind, _, stage = one_line(bound).replace(SHARED, f": {SHARED.removeprefix(', ')}").partition(": ")
    return f"{kind[:1].upper()}{kind[1:]}-bound{f' ({stage})' if stage else ''}"


def words(name: str) -> str:
    """`host_cached` → `host cached`."""
    return one_line(name.replace("_", " "))


def _main(answer: StallsAnswer) -> list[StallRun]:
    return [run for name, run in answer.runs.items() if name in ("resident", "warm")]


def _runs_table(answer: StallsAnswer) -> tuple[Table, ...]:
    runs = ordered_runs(answer)
    trained = [run.examples_per_second for run in runs if run.name not in LAST and known(run.examples_per_second)]
    fastest = max(trained, default=1.0)
    rows = tuple(_run_row(answer, run, fastest) for run in runs)
    notes = tuple(f"{words(run.name)}: {one_line(run.note, 300)}" for run in runs if run.note)
    return (Table(columns=RUN_COLUMNS, rows=rows, legend=notes, bar_column=2),) if rows else ()


def _run_row(answer: StallsAnswer, run: StallRun, fastest: float) -> Row:
    elsewhere = "" if run.source == answer.data else f" ({one_line(run.source, 40)})"
    predicted = run.predicted_step_seconds
    cells = (
        f"{words(run.name)}{elsewhere}",
        short_interval(run.step_seconds, run.ci95),
        rate(run.examples_per_second),
        "" if predicted is None else duration(predicted),
        "" if predicted is None else signed_percent(_miss(run)),
    )
    drawn = run.name not in LAST and known(run.examples_per_second)
    bar = run.examples_per_second / fastest if drawn else None
    return Row(cells=cells, tone="chosen" if run.name == "warm" else "plain", bar=bar)


def _miss(run: StallRun) -> float | None:
    if run.predicted_step_seconds is None or not run.step_seconds > 0:
        return None
    return run.predicted_step_seconds / run.step_seconds - 1


def _causes_table(answer: StallsAnswer) -> tuple[Table, ...]:
    rows = tuple(_cause_row(cause) for cause in answer.causes)
    cold = any(cause.cause == PAGE_CACHE for cause in answer.causes)
    legend = (f"{PAGE_CACHE}: what a cold step takes longer than a warm one, as a share of the cold",) if cold else ()
    slower = tuple(f"{each.cause}: lost without waiting" for each in answer.causes if each.cause in NOT_WAITED)
    columns = (CAUSE_COLUMNS[0], LOST_COLUMN, *CAUSE_COLUMNS[2:]) if slower else CAUSE_COLUMNS
    title = "What a step loses its time to" if slower else "What a step waits for"
    return (Table(columns=columns, rows=rows, title=title, legend=legend + slower, bar_column=2),) if rows else ()


def _cause_row(cause: StallCause) -> Row:
    cells = (
        words(cause.cause),
        *_lost(cause),
        duration(cause.hidden_seconds) if cause.hidden_seconds else "",
    )
    bar = cause.exposed_share if known(cause.exposed_share) else None
    return Row(cells=cells, bar=bar)


def _lost(cause: StallCause) -> tuple[str, str]:
    """What is lost, and its share. Less than nothing, where nothing is possible, is the noise of two runs."""
    if cause.exposed_seconds < 0 <= cause.ci95[1]:
        return "none shown", f"0 % ({_spread(cause)})"
    return signed_duration(cause.exposed_seconds), f"{share(cause.exposed_share)} ({_spread(cause)})"


def _spread(cause: StallCause) -> str:
    """Its interval, unless that reaches a whole step to either side and says nothing."""
    low, high = cause.ci95
    return "± over 100 %" if high - low > WHOLE_STEPS else share_interval(cause.ci95)


def _remedies_table(answer: StallsAnswer) -> tuple[Table, ...]:
    rows = tuple(_remedy_row(remedy) for remedy in answer.remedies)
    return (Table(columns=REMEDY_COLUMNS, rows=rows, title="Remedies, the cheapest first"),) if rows else ()


def _remedy_row(remedy: Remedy) -> Row:
    return Row(cells=(one_line(remedy.action, 200), _speedup(remedy), one_line(remedy.command or "", 300)))


def _speedup(remedy: Remedy) -> str:
    return f"{remedy.predicted_speedup:.2f}×" if known(remedy.predicted_speedup) else "n/a"


def _cheapest(answer: StallsAnswer) -> str | None:
    """The first that can be tried by a command, which is then the hint; else the first."""
    if not answer.remedies:
        return None
    remedy = next((each for each in answer.remedies if each.command is not None), answer.remedies[0])
    return f"Cheapest remedy: {one_line(remedy.action, 200)}, predicted {_speedup(remedy)} as fast"


def _sheet_row(answer: StallsAnswer, run: StallRun) -> tuple[Number, ...]:
    return (
        answer.data, run.name, run.source, run.step_seconds, *run.ci95, run.examples_per_second,
        run.predicted_step_seconds, run.note, answer.bound, answer.stall_share, answer.slowed_share, run.wait_seconds,
    )  # fmt: skip


STALLS = View(
    title=title,
    headline=headline,
    tables=tables,
    conclusion=conclusion,
    verdicts=verdicts,
    sheet=sheet,
    chart=stalls_chart,
    method=METHOD,
)
