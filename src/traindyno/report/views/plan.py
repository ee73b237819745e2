"""How long training will take at each batch size: steps, time, cost, and which is fastest."""

from traindyno.analysis.asked import measuring
from traindyno.core.answers import Document, PlanAnswer, PlanRow, Validation
from traindyno.core.units import count_of
from traindyno.report.charts.plan import plan_chart
from traindyno.report.conditions import brings_own_data, run_settings, setting_words
from traindyno.report.view import Adoption, Column, Headline, Number, Row, Sheet, Table, View
from traindyno.report.wording import batch, count, duration, duration_interval, known, one_line

LARGE_MISS_PERCENT = 5.0
SHEET_COLUMNS = (
    "batch_size", "steps", "training_seconds", "training_seconds_ci95_low", "training_seconds_ci95_high",
    "cost", "step_seconds", "start_up_seconds", "evaluation_seconds", "fastest",
)  # fmt: skip


def title(document: Document) -> str:
    answer: PlanAnswer = document.answer
    words = setting_words(document)
    what = f"Training time for {count_of(answer.epochs, 'epoch')} of {count(answer.examples)} examples"
    return f"{what} ({words})" if words else what


def headline(document: Document) -> Headline:
    answer: PlanAnswer = document.answer
    row = _row_of(answer)
    if row is None:
        return Headline(value=batch(answer.fastest), label="fastest batch size")
    beside = [
        ("training time", duration_interval(row.training_seconds, row.ci95)),
        ("steps", count(row.steps)),
    ]
    beside += [("time per step", duration(row.step_seconds))]
    beside += [("cost", _cost(row.cost))] if row.cost is not None else []
    return Headline(value=batch(answer.fastest), label="fastest batch size", beside=tuple(beside))


def tables(document: Document) -> tuple[Table, ...]:
    answer: PlanAnswer = document.answer
    evaluates = any(row.evaluation_seconds for row in answer.rows)
    priced = any(row.cost is not None for row in answer.rows)
    columns = [
        Column(heading="batch size", narrow="batch\nsize"),
        Column(heading="steps"),
        Column(heading="time per step", narrow="time\nper step"),
        Column(heading="training time", narrow="training\ntime"),
        *([Column(heading="evaluation")] if evaluates else []),
        *([Column(heading="cost")] if priced else []),
        Column(heading="note", right=False),
    ]
    rows = tuple(_row(answer, row, evaluates, priced) for row in answer.rows)
    return (Table(columns=tuple(columns), rows=rows),)


def conclusion(document: Document) -> tuple[str, ...]:
    answer: PlanAnswer = document.answer
    row = _row_of(answer)
    if row is None:
        return (f"Fastest: batch {batch(answer.fastest)}",)
    cost = "" if row.cost is None else f", cost {_cost(row.cost)}"
    time = duration_interval(row.training_seconds, row.ci95)
    first = f"Fastest: batch {row.batch_size}, {time} for {count_of(row.steps, 'step')}{cost}"
    checked = _validation(answer.validation)
    return (first,) if checked is None else (first, checked)


def verdicts(document: Document) -> tuple[str, ...]:
    answer: PlanAnswer = document.answer
    source = () if answer.from_study is None else (f"Times come from the curve of {one_line(answer.from_study)}.",)
    return (*answer.verdicts, *source)


def sheet(document: Document) -> Sheet:
    answer: PlanAnswer = document.answer
    return Sheet(columns=SHEET_COLUMNS, rows=tuple(_sheet_row(answer, row) for row in answer.rows))


def adoptions(document: Document) -> tuple[Adoption, ...]:
    answer: PlanAnswer = document.answer
    workload = measuring(document.request or {}).get("workload") or {}
    model = workload.get("model") or f"plan of {answer.from_study or document.study or 'a curve'}"
    own_data = brings_own_data(document, model)
    return (Adoption(model=model, batch_size=answer.fastest, run=run_settings(document), own_data=own_data),)


def _row_of(answer: PlanAnswer) -> PlanRow | None:
    return next((row for row in answer.rows if row.batch_size == answer.fastest), None)


def _row(answer: PlanAnswer, row: PlanRow, evaluates: bool, priced: bool) -> Row:
    fastest = row.batch_size == answer.fastest
    cells = (
        batch(row.batch_size),
        count(row.steps),
        duration(row.step_seconds),
        duration_interval(row.training_seconds, row.ci95),
        *([duration(row.evaluation_seconds)] if evaluates else []),
        *([_cost(row.cost)] if priced else []),
        "; ".join([*(["fastest"] if fastest else []), *(one_line(mark) for mark in row.marks)]),
    )
    return Row(cells=cells, tone="chosen" if fastest else "plain")


def _cost(cost: float | None) -> str:
    return "n/a" if cost is None or not known(cost) else f"{cost:,.2f}"


def _validation(validation: Validation | None) -> str | None:
    if validation is None:
        return None
    predicted, measured = duration(validation.predicted_seconds), duration(validation.measured_seconds)
    where = f"over {count(validation.steps)} steps at batch {validation.batch_size}"
    finding = ", a miss worth looking into" if abs(validation.error_percent) > LARGE_MISS_PERCENT else ""
    error = f"error {validation.error_percent:+.1f} %{finding}"
    return f"Checked: predicted {predicted}, measured {measured} {where} ({error})"


def _sheet_row(answer: PlanAnswer, row: PlanRow) -> tuple[Number, ...]:
    return (
        row.batch_size, row.steps, row.training_seconds, *row.ci95, row.cost, row.step_seconds,
        row.start_up_seconds, row.evaluation_seconds, row.batch_size == answer.fastest,
    )  # fmt: skip


PLAN = View(
    title=title,
    headline=headline,
    tables=tables,
    conclusion=conclusion,
    verdicts=verdicts,
    sheet=sheet,
    chart=plan_chart,
    adoptions=adoptions,
)
