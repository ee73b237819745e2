"""Two studies side by side, with the ratio in words; what makes them unlike stands above the figures."""

from traindyno.core.answers import CompareAnswer, CompareRow, Document, Quantity
from traindyno.report.charts.compare import compare_chart
from traindyno.report.view import Column, Headline, Number, Row, Sheet, Table, View, nothing
from traindyno.report.wording import figure, one_line, ratio_interval

QUANTITIES: dict[Quantity, tuple[str, str]] = {
    "examples_per_second": ("Throughput", "examples/s"),
    "training_seconds": ("Training time", "time"),
    "batch_size": ("Largest batch", "batch size"),
}
SHEET_COLUMNS = ("key", "a", "b", "ratio_b_to_a", "ratio_ci95_low", "ratio_ci95_high", "verdict")


def title(document: Document) -> str:
    answer: CompareAnswer = document.answer
    what = QUANTITIES[answer.quantity][0]
    return f"{what} of {one_line(answer.b, 60)} compared with {one_line(answer.a, 60)}"


def headline(document: Document) -> Headline | None:
    return None


def tables(document: Document) -> tuple[Table, ...]:
    answer: CompareAnswer = document.answer
    names = (f"A is {one_line(answer.a)}", f"B is {one_line(answer.b)}")
    unit = QUANTITIES[answer.quantity][1]
    columns = (
        Column(heading="", right=False),
        Column(heading="A", unit=unit, narrow="A"),
        Column(heading="B", unit=unit, narrow="B"),
        Column(heading="B / A", unit="95 % interval", narrow="B / A\n(95 %)"),
        Column(heading="verdict", right=False),
    )
    rows = tuple(_row(row, answer.quantity) for row in answer.rows)
    return (Table(columns=columns, rows=rows, legend=names),)


def conclusion(document: Document) -> tuple[str, ...]:
    answer: CompareAnswer = document.answer
    if answer.verdicts:
        return tuple(one_line(verdict, 400) for verdict in answer.verdicts)
    return tuple(f"{one_line(row.key)}: {one_line(row.verdict)}" for row in answer.rows if row.verdict)


def sheet(document: Document) -> Sheet:
    answer: CompareAnswer = document.answer
    return Sheet(columns=SHEET_COLUMNS, rows=tuple(_sheet_row(row) for row in answer.rows))


def alerts(document: Document) -> tuple[str, ...]:
    answer: CompareAnswer = document.answer
    return tuple(one_line(difference, 400) for difference in answer.unlike)


def _row(row: CompareRow, quantity: Quantity) -> Row:
    cells = (
        one_line(row.key, 60),
        figure(quantity, row.a),
        figure(quantity, row.b),
        ratio_interval(row.ratio, row.ci95),
        one_line(row.verdict, 200),
    )
    return Row(cells=cells)


def _sheet_row(row: CompareRow) -> tuple[Number, ...]:
    return (row.key, row.a, row.b, row.ratio, *(row.ci95 or (None, None)), row.verdict)


COMPARE = View(
    title=title,
    headline=headline,
    tables=tables,
    conclusion=conclusion,
    verdicts=nothing,
    sheet=sheet,
    chart=compare_chart,
    alerts=alerts,
)
