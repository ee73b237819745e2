"""What the stages of loading cost in one process, as a table with small bars."""

from collections.abc import Sequence

from traindyno.core.loading import StageCost
from traindyno.report.view import Column, Row, Table
from traindyno.report.wording import duration, known, rate, share, short_interval

COLUMNS = (
    Column(heading="stage", right=False),
    Column(heading="time per example", narrow="time\nper example"),
    Column(heading="CPU time", unit="per example", narrow="CPU time\nper example"),
    Column(heading="share"),
)


def stages_table(stages: Sequence[StageCost]) -> tuple[Table, ...]:
    """One row per stage, as long as its share of making an example; nothing where no stage was timed."""
    timed = [cost for cost in stages if known(cost.seconds)]
    whole = sum(cost.seconds for cost in timed)
    if not timed or whole <= 0:
        return ()
    rows = tuple(_row(cost, whole) for cost in timed)
    legend = f"One process makes an example in {duration(whole)}: {rate(1 / whole)} examples/s."
    return (Table(columns=COLUMNS, rows=rows, title="Stages in one process", legend=(legend,), bar_column=3),)


def _row(cost: StageCost, whole: float) -> Row:
    part = cost.seconds / whole
    cells = (cost.stage, short_interval(cost.seconds, cost.ci95), duration(cost.cpu_seconds), share(part))
    return Row(cells=cells, bar=part)
