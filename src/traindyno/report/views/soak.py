"""A long run: whether it stayed as fast, what the machine did meanwhile, and what it took."""

from traindyno.analysis.soak_drift import decimals_of
from traindyno.analysis.soak_throttle import other_reasons
from traindyno.core.answers import Document, Interval, SoakAnswer, Throttle
from traindyno.report.charts.soak import run_of, soak_chart
from traindyno.report.conditions import setting_words
from traindyno.report.view import Column, Headline, Number, Row, Sheet, Table, View
from traindyno.report.wording import NOT_AVAILABLE, count, duration, known, one_line, rate, share, size

RANGE_COLUMNS = (
    Column(heading="read once a second", right=False),
    Column(heading="least"),
    Column(heading="most"),
)
ENERGY_COLUMNS = (Column(heading="energy and cost", right=False), Column(heading="amount"))
THROTTLE_COLUMNS = (
    Column(heading="clocks held by", right=False),
    Column(heading="share of the time", narrow="share of\nthe time"),
    Column(heading="by the driver's counter", narrow="by the driver's\ncounter"),
)
SHEET_COLUMNS = (
    "model", "batch_size", "end_seconds", "seconds", "steps", "examples_per_second", "wait_seconds",
)  # fmt: skip
METHOD = (
    "One trial trained without a break, timed in blocks of about a second; the clock started behind the first step, "
    "which compiles and allocates. Beside it the machine was read once a second, and what that cost is told. The drift "
    "is the median of all slopes between spans of the run behind its first epoch or minute, in percent of the median "
    "rate; its interval counts that neighbouring spans are alike. Where the rate changed all at once, only slopes on "
    "either side of that count. Where neither shows, the first and the last fifth are compared. Heat and the power "
    "limit are named only by the driver's own reasons and counters. What nobody could tell is left out, or said to be "
    "unknown."
)
WORDS = {
    "temperature_celsius": "GPU temperature",
    "sm_clock_mhz": "SM clock",
    "memory_clock_mhz": "memory clock",
    "power_watts": "GPU power",
    "utilization_percent": "GPU utilisation",
    "memory_used_bytes": "GPU memory",
    "own_cpu_share": "CPUs, this training",
    "other_cpu_share": "CPUs, everybody else",
    "own_memory_bytes": "memory, this training",
    "disk_read_bytes_per_second": "read from disks",
}


def title(document: Document) -> str:
    answer: SoakAnswer = document.answer
    words = setting_words(document, answer.mode, f"batch {answer.batch_size}")
    return f"{one_line(answer.model)} for {duration(answer.run_seconds)} ({words})"


def headline(document: Document) -> Headline:
    answer: SoakAnswer = document.answer
    beside = [
        ("drift", drift_words(answer)),
        ("clocks", throttle_words(answer.throttle)),
        ("run", duration(answer.run_seconds)),
    ]
    beside += [("energy", f"{_figure(answer.energy_joules_per_example)} J per example")] if _energy(answer) else []
    return Headline(value=rate(answer.examples_per_second), label="examples per second", beside=tuple(beside))


def tables(document: Document) -> tuple[Table, ...]:
    answer: SoakAnswer = document.answer
    return (*_ranges(answer), *_throttle(answer.throttle), *_costs(answer))


def conclusion(document: Document) -> tuple[str, ...]:
    answer: SoakAnswer = document.answer
    first = f"Throughput: {rate(answer.examples_per_second)} examples/s over {duration(answer.run_seconds)}"
    epochs = f", {count(answer.epochs)} epochs" if answer.epochs else ""
    return (
        f"{first}{epochs}",
        f"Drift: {drift_words(answer)}",
        f"Clocks: {throttle_words(answer.throttle)}",
        *([f"Energy: {_figure(answer.energy_joules_per_example)} J per example"] if _energy(answer) else []),
    )


def verdicts(document: Document) -> tuple[str, ...]:
    answer: SoakAnswer = document.answer
    return tuple(one_line(verdict, 500) for verdict in answer.verdicts)


def sheet(document: Document) -> Sheet:
    """One row for each block of the run."""
    answer: SoakAnswer = document.answer
    run = run_of(document)
    blocks = () if run is None else run.soak.blocks
    rows: tuple[tuple[Number, ...], ...] = tuple(
        (
            answer.model, answer.batch_size, block.end_seconds, block.seconds, block.steps,
            answer.batch_size * block.steps / block.seconds, block.wait_seconds,
        )
        for block in blocks
    )  # fmt: skip
    return Sheet(columns=SHEET_COLUMNS, rows=rows)


def drift_words(answer: SoakAnswer) -> str:
    """`-1.21 % per minute (-1.60 to -0.82)`, what changed at once or along no line, or that it is not known."""
    at_once = _change_words(answer)
    value, interval = answer.drift_percent_per_minute, answer.ci95
    if value is None or interval is None or not known(value):
        return at_once or "not known: the run was too short"
    if answer.ends_ratio is not None:
        return f"{100 * (answer.ends_ratio - 1):+.1f} % from the first to the last fifth, not along a line"
    digits = decimals_of(interval)
    ends = f"({interval[0]:+.{digits}f} to {interval[1]:+.{digits}f})"
    none = ", which may be chance" if interval[0] <= 0 <= interval[1] else ""
    steady = f"{value:+.{digits}f} % per minute {ends}{none}"
    return f"{at_once}; besides {steady}" if at_once else steady


def _change_words(answer: SoakAnswer) -> str | None:
    ratio, seconds = answer.change_ratio, answer.change_seconds
    return None if ratio is None else f"{100 * (ratio - 1):+.1f} % all at once after {duration(seconds)}"


def throttle_words(throttle: Throttle) -> str:
    if not throttle.known:
        return "unknown"
    causes = [
        *(["heat"] if throttle.thermal else []),
        *(["the power limit"] if throttle.power_cap else []),
    ]
    if causes:
        return f"held by {' and '.join(causes)}"
    others = other_reasons(throttle)
    return f"held by {one_line(others[0])}" if others else "not held back"


def _ranges(answer: SoakAnswer) -> tuple[Table, ...]:
    rows = tuple(_range_row(name, answer.ranges[name]) for name in WORDS if name in answer.ranges)
    cost = answer.sampling_cost
    legend = () if cost is None else (f"taking these readings took {100 * cost:.2g} % of one CPU",)
    return (Table(columns=RANGE_COLUMNS, rows=rows, legend=legend),) if rows else ()


def _range_row(name: str, ends: Interval) -> Row:
    return Row(cells=(WORDS[name], _amount(name, ends[0]), _amount(name, ends[1])))


def _amount(name: str, value: float) -> str:
    if name.endswith("_per_second"):
        return f"{size(value)}/s"
    if name.endswith("_bytes"):
        return size(value)
    if name.endswith("_share"):
        return share(value)
    unit = {"celsius": "°C", "mhz": "MHz", "watts": "W", "percent": "%"}[name.rpartition("_")[2]]
    return f"{value:.0f} {unit}"


def _throttle(throttle: Throttle) -> tuple[Table, ...]:
    rows = tuple(
        Row(
            cells=(
                one_line(reason),
                share(throttle.shares[reason]) if reason in throttle.shares else "",
                duration(throttle.seconds[reason]) if reason in throttle.seconds else "",
            )
        )
        for reason in dict.fromkeys((*throttle.shares, *throttle.seconds))
    )
    return (Table(columns=THROTTLE_COLUMNS, rows=rows, title="What held the clocks"),) if rows else ()


def _costs(answer: SoakAnswer) -> tuple[Table, ...]:
    epoch = answer.energy_joules_per_epoch
    lines = (
        ("GPU energy per example", f"{_figure(answer.energy_joules_per_example)} J" if _energy(answer) else None),
        ("GPU energy per epoch", f"{epoch / 3.6e6:.4g} kWh" if epoch is not None else None),
        ("cost per epoch", f"{answer.cost_per_epoch:.4g}" if answer.cost_per_epoch is not None else None),
    )
    rows = tuple(Row(cells=(name, text)) for name, text in lines if text is not None)
    return (Table(columns=ENERGY_COLUMNS, rows=rows, title="What it takes"),) if rows else ()


def _energy(answer: SoakAnswer) -> bool:
    return known(answer.energy_joules_per_example)


def _figure(value: float | None) -> str:
    return NOT_AVAILABLE if value is None else f"{value:.3g}"


SOAK = View(
    title=title,
    headline=headline,
    tables=tables,
    conclusion=conclusion,
    verdicts=verdicts,
    sheet=sheet,
    chart=soak_chart,
    method=METHOD,
)
