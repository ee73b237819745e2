"""What a step is made of: its phases, the same per example over batch sizes, and what is used of the hardware."""

from traindyno.analysis.anatomy_coverage import explains_nothing
from traindyno.analysis.anatomy_sizes import PHASES
from traindyno.core.answers import AnatomyAnswer, AnatomySize, Document, PhaseCost, TransferCost, Utilization
from traindyno.core.units import format_scaled
from traindyno.report.charts.anatomy import anatomy_chart
from traindyno.report.conditions import run_settings, setting_words
from traindyno.report.view import Column, Headline, Number, Row, Sheet, Table, Tone, View
from traindyno.report.wording import (
    batch,
    duration,
    known,
    one_line,
    rate,
    share,
    short_interval,
    signed_duration,
    signed_percent,
)

NOT_COUNTED = "N/A"
PHASE_COLUMNS = (
    Column(heading="phase", right=False),
    Column(heading="time per step", narrow="time\nper step"),
    Column(heading="share of the step", narrow="share\nof the step"),
    Column(heading="time per example", narrow="time\nper example"),
    Column(heading="host's time per step", narrow="host's time\nper step"),
)
DEVICE_COLUMNS = (
    Column(heading="batch size", narrow="batch\nsize"),
    Column(heading="time per step", narrow="time\nper step"),
    Column(heading="throughput", unit="examples per second", narrow="throughput\n(examples/s)"),
    Column(heading="device idle", narrow="device\nidle"),
    Column(heading="host's share", narrow="host's\nshare"),
    Column(heading="limit", right=False),
)
COPY_COLUMNS = (
    Column(heading="batch size", narrow="batch\nsize"),
    Column(heading="from pageable memory", unit="per example", narrow="pageable\nper example"),
    Column(heading="rate", narrow="pageable\nrate"),
    Column(heading="from pinned memory", unit="per example", narrow="pinned\nper example"),
    Column(heading="rate", narrow="pinned\nrate"),
)
USE_COLUMNS = (
    Column(heading="of the hardware", right=False),
    Column(heading="achieved"),
    Column(heading="measured ceiling", narrow="measured\nceiling"),
    Column(heading="share"),
)
PHASE_WORDS = {
    "load": "load (stall)",
    "transfer": "transfer to the device",
    "optimizer": "optimiser",
}
PHASE_LEGEND = "share: of the step with instruments; host's time: queueing the phase, or waiting for a batch"
SHEET_COLUMNS = (
    "model", "batch_size", "step_seconds", "step_seconds_ci95_low", "step_seconds_ci95_high", "examples_per_second",
    *(f"{name}_seconds" for name in PHASES), "pageable_transfer_seconds", "pinned_transfer_seconds",
    "idle_share", "host_share", "flops_per_second", "flops_share", "bytes_per_second", "bytes_share", "bound",
)  # fmt: skip
METHOD = (
    "Marks on the device's own timeline part the step into phases and are read only afterwards, so that nothing waits "
    "for them; on a CPU they are the host's clock. Steps with and without marks took turns: their difference is what "
    "the instruments cost. Shares are of the step with marks, of which the phases are parts; what the named phases "
    "explain is of the step without them. The host's time is what it takes to queue a phase, or to wait for a batch. "
    "What is used of the hardware counts the step's operations and is held against a large matrix product and a large "
    "copy on the same device."
)


def title(document: Document) -> str:
    answer: AnatomyAnswer = document.answer
    words = setting_words(document, answer.mode, f"batch {batch(answer.batch_size)}")
    return f"What a step of {one_line(answer.model)} is made of ({words})"


def headline(document: Document) -> Headline:
    answer: AnatomyAnswer = document.answer
    beside = [
        ("verdict", capital(answer.bound)),
        *_waits_beside(document),
        *((("device idle", share(answer.idle_share)),) if known(answer.idle_share) else ()),
        ("instruments cost", f"{signed_percent(answer.instrument_cost)} of the step"),
        ("named phases explain", _explained(answer, "it")),
    ]
    value = short_interval(answer.step_seconds, answer.ci95)
    return Headline(value=value, label=f"per step of {batch(answer.batch_size)} examples", beside=tuple(beside))


def tables(document: Document) -> tuple[Table, ...]:
    answer: AnatomyAnswer = document.answer
    return (
        _phases_table(answer),
        *_sizes_table(answer),
        _device_table(answer, _on_cpu(document)),
        *_copies_table(answer),
        _use_table(answer.utilization),
    )


def conclusion(document: Document) -> tuple[str, ...]:
    answer: AnatomyAnswer = document.answer
    step = short_interval(answer.step_seconds, answer.ci95)
    fed = "" if (document.request or {}).get("from_loader", True) else " (fed from host memory)"
    lines = (
        f"{capital(answer.bound)}: {step} per step of {batch(answer.batch_size)} examples",
        f"Waiting for data, per step: {_waits(document)}{fed}",
        _idleness(answer),
        f"Instruments cost {signed_percent(answer.instrument_cost)} ({_percents(answer.instrument_cost_ci95)}); "
        f"named phases explain {_explained(answer, 'the step without them')}",
        None if answer.trace is None else f"Trace: {one_line(answer.trace, 300)} (open it in ui.perfetto.dev)",
    )
    return tuple(line for line in lines if line is not None)


def verdicts(document: Document) -> tuple[str, ...]:
    answer: AnatomyAnswer = document.answer
    return tuple(one_line(verdict, 400) for verdict in answer.verdicts)


def sheet(document: Document) -> Sheet:
    answer: AnatomyAnswer = document.answer
    return Sheet(columns=SHEET_COLUMNS, rows=tuple(_sheet_row(answer, size) for size in answer.sizes))


def capital(bound: str) -> str:
    """`data-bound` → `Data-bound`."""
    return one_line(bound[:1].upper() + bound[1:])


def shown_phases(sizes: tuple[AnatomySize, ...]) -> list[str]:
    """Phases that take any time at any size, in the order of the step."""
    return [name for name in PHASES if any(_takes_time(size.phases.get(name)) for size in sizes)]


def _takes_time(cost: PhaseCost | None) -> bool:
    return cost is not None and (cost.seconds != 0 or cost.host_seconds != 0)


def _on_cpu(document: Document) -> bool:
    return run_settings(document).device == "cpu"


def _waits(document: Document) -> str:
    """Of host and device; a CPU is both."""
    answer: AnatomyAnswer = document.answer
    if _on_cpu(document):
        return signed_duration(answer.stall_seconds)
    return f"host {duration(answer.host_wait_seconds)}, device {signed_duration(answer.stall_seconds)}"


def _waits_beside(document: Document) -> tuple[tuple[str, str], ...]:
    answer: AnatomyAnswer = document.answer
    stall = f"{signed_duration(answer.stall_seconds)} per step"
    if _on_cpu(document):
        return (("waiting for data", stall),)
    host = f"{duration(answer.host_wait_seconds)} per step"
    return (("the host waits for data", host), ("the device stands still for it", stall))


def _explained(answer: AnatomyAnswer, step: str) -> str:
    """Phases with instruments may be a little longer than the step without them; far longer ones explain nothing."""
    if known(answer.coverage) and explains_nothing(answer.coverage):
        return f"nothing of {step}: they took {share(answer.coverage)} of its time"
    return f"{'all' if known(answer.coverage) and answer.coverage >= 1 else share(answer.coverage)} of {step}"


def _percents(interval: tuple[float, float]) -> str:
    """`-0.1 to +0.3 %`: what instruments cost is small, and may seem to be below nothing."""
    if not interval[1] - interval[0] <= 1:
        return "± over 100 %"
    return " to ".join(signed_percent(end) for end in interval).replace(" %", "", 1)


def _idleness(answer: AnatomyAnswer) -> str | None:
    if not known(answer.idle_share):
        return None
    host = f"; the host needs {share(answer.host_share)} of the step to queue it" if known(answer.host_share) else ""
    return f"Device idle: {share(answer.idle_share)}{host}"


def _phases_table(answer: AnatomyAnswer) -> Table:
    chosen = tuple(size for size in answer.sizes if size.batch_size == answer.batch_size)
    rows = tuple(_phase_row(name, answer.phases[name]) for name in shown_phases(chosen))
    return Table(columns=PHASE_COLUMNS, rows=rows, legend=(PHASE_LEGEND,), bar_column=2)


def _phase_row(name: str, cost: PhaseCost) -> Row:
    cells = (
        PHASE_WORDS.get(name, one_line(name)),
        short_interval(cost.seconds, cost.ci95) if cost.seconds > 0 else signed_duration(cost.seconds),
        share(cost.share),
        signed_duration(cost.seconds_per_example),
        duration(cost.host_seconds),
    )
    return Row(cells=cells, bar=min(1.0, max(0.0, cost.share)) if known(cost.share) else None)


def _sizes_table(answer: AnatomyAnswer) -> tuple[Table, ...]:
    if len(answer.sizes) < 2:
        return ()
    names = shown_phases(answer.sizes)
    columns = (
        Column(heading="batch size", narrow="batch\nsize"),
        Column(heading="whole step", narrow="whole\nstep"),
        *(Column(heading=PHASE_WORDS.get(name, name), narrow=PHASE_WORDS.get(name, name).split()[0]) for name in names),
    )
    rows = tuple(_size_row(answer, size, names) for size in answer.sizes)
    legend = ("whole step: without instruments; the phases: with them",)
    return (Table(columns=columns, rows=rows, title="Time per example", legend=legend),)


def _size_row(answer: AnatomyAnswer, size: AnatomySize, names: list[str]) -> Row:
    costs = (size.phases.get(name) for name in names)
    parts = ("" if cost is None else signed_duration(cost.seconds_per_example) for cost in costs)
    cells = (batch(size.batch_size), duration(size.step_seconds / size.batch_size), *parts)
    return Row(cells=cells, tone=_tone(answer, size))


def _device_table(answer: AnatomyAnswer, on_cpu: bool) -> Table:
    legend = "N/A: a CPU is its own host" if on_cpu else "host's share: what it needs of the step to queue its work"
    rows = tuple(_device_row(answer, size) for size in answer.sizes)
    return Table(columns=DEVICE_COLUMNS, rows=rows, title="The device and its host", legend=(legend,))


def _device_row(answer: AnatomyAnswer, size: AnatomySize) -> Row:
    cells = (
        batch(size.batch_size),
        short_interval(size.step_seconds, size.ci95),
        rate(size.examples_per_second),
        NOT_COUNTED if size.idle_share is None else share(size.idle_share),
        NOT_COUNTED if size.host_share is None else share(size.host_share),
        one_line(size.bound),
    )
    return Row(cells=cells, tone=_tone(answer, size))


def _copies_table(answer: AnatomyAnswer) -> tuple[Table, ...]:
    """Copies alone, with nothing beside them; a CPU makes none."""
    rows = tuple(_copies_row(answer, size) for size in answer.sizes if size.transfers)
    legend = ("by itself, with nothing computed meanwhile",)
    return (Table(columns=COPY_COLUMNS, rows=rows, title="Copies to the device", legend=legend),) if rows else ()


def _copies_row(answer: AnatomyAnswer, size: AnatomySize) -> Row:
    copies = (_transfer(size, pinned) for pinned in (False, True))
    cells = (cell for each in copies for cell in _copy_cells(each))
    return Row(cells=(batch(size.batch_size), *cells), tone=_tone(answer, size))


def _copy_cells(copy: TransferCost | None) -> tuple[str, str]:
    if copy is None:
        return NOT_COUNTED, NOT_COUNTED
    return duration(copy.seconds_per_example), format_scaled(copy.bytes_per_second, "B/s")


def _tone(answer: AnatomyAnswer, size: AnatomySize) -> Tone:
    return "chosen" if size.batch_size == answer.batch_size and len(answer.sizes) > 1 else "plain"


def _transfer(size: AnatomySize, pinned: bool) -> TransferCost | None:
    return next((each for each in size.transfers if each.pinned == pinned), None)


def _use_table(use: Utilization) -> Table:
    rows = (
        _use_row("arithmetic", "FLOP/s", use.flops_per_second, use.flops_per_second_ceiling, use.flops_share),
        _use_row("memory traffic", "B/s", use.bytes_per_second, use.bytes_per_second_ceiling, use.bytes_share),
    )
    legend = (f"{NOT_COUNTED}: {one_line(use.unknown_because, 300)}",) if use.unknown_because else ()
    return Table(columns=USE_COLUMNS, rows=rows, title="What is used of the hardware", legend=legend, bar_column=3)


def _use_row(what: str, unit: str, achieved: float | None, ceiling: float | None, part: float | None) -> Row:
    figures = (NOT_COUNTED if value is None else format_scaled(value, unit) for value in (achieved, ceiling))
    bar = None if part is None or not known(part) else min(1.0, part)
    return Row(cells=(what, *figures, NOT_COUNTED if part is None else share(part)), bar=bar)


def _sheet_row(answer: AnatomyAnswer, size: AnatomySize) -> tuple[Number, ...]:
    phases = (size.phases[name].seconds if name in size.phases else None for name in PHASES)
    copies = (None if each is None else each.seconds for each in (_transfer(size, False), _transfer(size, True)))
    use = size.utilization
    return (
        answer.model, size.batch_size, size.step_seconds, *size.ci95, size.examples_per_second, *phases, *copies,
        size.idle_share, size.host_share, use.flops_per_second, use.flops_share, use.bytes_per_second,
        use.bytes_share, size.bound,
    )  # fmt: skip


ANATOMY = View(
    title=title,
    headline=headline,
    tables=tables,
    conclusion=conclusion,
    verdicts=verdicts,
    sheet=sheet,
    chart=anatomy_chart,
    method=METHOD,
)
