"""Tables beside those of the ways: ranks, from which batch more devices pay, what was foretold and is predicted."""

from traindyno.core.answers import BreakEven, RankRow, ScaleAnswer, ScalePrediction, ScaleRow
from traindyno.report.view import Column, Row, Table
from traindyno.report.wording import (
    NOT_AVAILABLE,
    batch,
    duration,
    known,
    one_line,
    rate,
    share,
    share_interval,
    short_interval,
    signed_percent,
)

NOTE = Column(heading="note", right=False)


def fewest_devices(answer: ScaleAnswer) -> int:
    """What efficiency and speed-up are against: one device, unless it was left out or could not be measured."""
    return min((row.devices for row in answer.rows if row.examples_per_second is not None), default=1)


def ranks_table(answer: ScaleAnswer) -> Table | None:
    if len(answer.ranks) < 2:
        return None
    several = len({rank.node for rank in answer.ranks}) > 1
    loads = any(rank.load_seconds for rank in answer.ranks)
    columns = (
        Column(heading="rank"),
        *((Column(heading="node", right=False),) if several else ()),
        Column(heading="device", right=False),
        Column(heading="own time per step", narrow="own time\nper step"),
        Column(heading="against the median", narrow="against\nthe median"),
        *((Column(heading="of it waiting for data", narrow="waiting\nfor data"),) if loads else ()),
        NOTE,
    )
    rows = tuple(_rank_row(rank, several, loads) for rank in answer.ranks)
    title = f"The ranks of {len(answer.ranks)} devices with the largest batch, without communication"
    return Table(columns=columns, rows=rows, title=title)


def _rank_row(rank: RankRow, several: bool, loads: bool) -> Row:
    cells = (
        str(rank.rank),
        *((one_line(rank.node, 40),) if several else ()),
        one_line(rank.device, 20),
        short_interval(rank.step_seconds, rank.ci95),
        _off(rank.against_median),
        *(("" if rank.load_seconds is None else duration(rank.load_seconds),) if loads else ()),
        f"straggler: {one_line(rank.because or 'slower than the others')}" if rank.straggles else "",
    )
    return Row(cells=cells, tone="bad" if rank.straggles else "plain")


def _off(ratio: float) -> str:
    """By how much a figure lies off another; what rounds to nothing has no sign of its own."""
    return signed_percent(round(ratio - 1, 3) + 0.0)


def break_even_table(answer: ScaleAnswer) -> Table | None:
    if not answer.break_even:
        return None
    slower = any(each.slower_at is not None for each in answer.break_even)
    undecided = any(each.undecided_at for each in answer.break_even)
    fewest = fewest_devices(answer)
    than = f"faster than {'one' if fewest == 1 else fewest}"
    columns = (
        Column(heading="devices"),
        Column(heading=f"{than} from batch", narrow=f"{than}\nfrom batch"),
        *((Column(heading="still slower at batch", narrow="still slower\nat batch"),) if slower else ()),
        *((Column(heading="too close to tell at batch", narrow="too close to\ntell at batch"),) if undecided else ()),
    )
    rows = tuple(_break_even_row(each, slower, undecided) for each in answer.break_even)
    return Table(columns=columns, rows=rows, title="From which batch in all more devices pay")


def _break_even_row(each: BreakEven, slower: bool, undecided: bool) -> Row:
    found = "at none measured" if each.batch_size is None else batch(each.batch_size)
    faster = found if each.batch_size is None or each.holds_above else f"at {found}"
    still = "" if each.slower_at is None else batch(each.slower_at)
    close = ", ".join(batch(size) for size in each.undecided_at)
    return Row(cells=(str(each.devices), faster, *((still,) if slower else ()), *((close,) if undecided else ())))


def foretold_table(answer: ScaleAnswer) -> Table | None:
    """What was predicted, beside what was then measured."""
    found = [row for row in answer.rows if known(row.foretold_efficiency) and known(row.efficiency)]
    if not found:
        return None
    columns = (
        Column(heading="devices"),
        Column(heading="batch per device", narrow="batch\neach"),
        Column(heading="foretold"),
        Column(heading="measured"),
        Column(heading="miss"),
    )
    title = "Efficiency foretold from fewer devices, and then measured"
    return Table(columns=columns, rows=tuple(_foretold_row(row) for row in found), title=title)


def _foretold_row(row: ScaleRow) -> Row:
    assert row.foretold_efficiency is not None
    assert row.efficiency is not None
    miss = _off(row.foretold_efficiency / row.efficiency) if row.efficiency else NOT_AVAILABLE
    figures = (share(row.foretold_efficiency), share(row.efficiency), miss)
    return Row(cells=(str(row.devices), batch(row.batch_per_device), *figures))


def predicted_table(answer: ScaleAnswer) -> Table | None:
    if not answer.predicted:
        return None
    columns = (
        Column(heading="devices"),
        Column(heading="batch per device", narrow="batch\neach"),
        Column(heading="throughput", unit="examples per second", narrow="throughput\n(examples/s)"),
        Column(heading="efficiency", narrow="effi-\nciency"),
        Column(heading="between"),
        Column(heading="communication alone", narrow="communication\nalone"),
    )
    return Table(
        columns=columns,
        rows=tuple(_predicted_row(each) for each in answer.predicted),
        title="Predicted, not measured: more devices with links like these",
    )


def _predicted_row(each: ScalePrediction) -> Row:
    cells = (
        str(each.devices),
        batch(each.batch_per_device),
        rate(each.examples_per_second),
        share(each.efficiency),
        share_interval(each.efficiency_range),
        f"{duration(each.exchange_seconds)} per step",
    )
    return Row(cells=cells)
