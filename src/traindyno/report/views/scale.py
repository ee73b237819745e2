"""What more devices gain: throughput, efficiency and communication by devices and batch."""

from traindyno.core.answers import Document, ScaleAnswer, ScaleRow
from traindyno.core.units import count_of
from traindyno.report.charts.scale import scale_chart
from traindyno.report.conditions import run_settings
from traindyno.report.view import Headline, Number, Sheet, Table, View
from traindyno.report.views.scale_outlook import fewest_devices
from traindyno.report.views.scale_tables import scale_tables, unusual_words
from traindyno.report.wording import batch, duration_interval, one_line, rate_interval, share

SHEET_COLUMNS = (
    "model", "devices", "nodes", "batch_per_device", "batch_size", "bucket_mib", "accumulation_steps",
    "examples_per_second", "examples_per_second_ci95_low", "examples_per_second_ci95_high", "step_seconds",
    "efficiency", "efficiency_ci95_low", "efficiency_ci95_high", "speedup", "speedup_ci95_low", "speedup_ci95_high",
    "communication_share", "communication_share_ci95_low", "communication_share_ci95_high", "hidden_share",
    "waiting_share", "load_share", "load_hidden_share", "foretold_efficiency", "peak_memory_bytes", "training_seconds",
    "cost", "learning_rate", "steady", "fastest", "recommended", "failure",
)  # fmt: skip
METHOD = (
    "Every point ran in a fresh group of processes under torchrun, one process for each device, the model in "
    "DistributedDataParallel. Blocks of its steps took turns with the same steps without communication, all begun "
    "together. What the slowest process of each step took without communication is the least that all can take "
    "together; only what the step takes beyond that is called communication, and what the others wait for the slowest "
    "stands apart. Hidden is what the same exchanges take with nothing beside them, less what they add to the step. "
    "Loading is what the slowest process waits for its batches in steps with communication; what it would wait longer "
    "without stands apart. Steps that loaders feed are told by all their time over all of them, others by the median "
    "block. One device ran the plain step."
)


def title(document: Document) -> str:
    answer: ScaleAnswer = document.answer
    return f"Scaling of {one_line(answer.model)} ({settings_told(document)})"


def settings_told(document: Document) -> str:
    """`train, bf16, 1 to 4 GPUs, nccl`: the counts in place of the one device that other studies have."""
    answer: ScaleAnswer = document.answer
    words = (answer.mode, run_settings(document).precision, devices_told(answer), answer.backend)
    return ", ".join(one_line(word) for word in words if word)


def devices_told(answer: ScaleAnswer) -> str:
    """`1 to 4 GPUs`; on a CPU, `1 to 2 processes of 1 thread each`."""
    counts = sorted({row.devices for row in answer.rows})
    if not counts:
        return one_line(answer.device)
    kind = "process" if answer.device == "cpu" else "GPU" if answer.device.startswith("cuda") else "device"
    span = "" if counts[0] == counts[-1] else f"{counts[0]} to "
    threads, every = answer.threads_per_device, " each" if counts[-1] > 1 else ""
    each = "" if threads is None else f" of {count_of(threads, 'thread')}{every}"
    return f"{span}{count_of(counts[-1], kind)}{each}"


def headline(document: Document) -> Headline:
    answer: ScaleAnswer = document.answer
    row = _recommended(answer)
    if row is None:
        return Headline(value="n/a", label="recommended devices", tone="plain")
    alike = [each for each in answer.predicted if each.batch_per_device == row.batch_per_device]
    predicted = [
        (f"predicted with {each.devices} devices", f"{share(each.efficiency)} of linear") for each in alike[:1]
    ]
    beside = (
        ("throughput", f"{rate_interval(row.examples_per_second, row.ci95)} examples/s"),
        *_gains(answer, row),
        *_paying(answer),
        *predicted,
    )
    return Headline(value=count_of(row.devices, "device"), label=f"recommended, {_batches(row)}", beside=beside)


def _paying(answer: ScaleAnswer) -> tuple[tuple[str, str], ...]:
    """The break-even of the most devices; a larger batch at which it is too close to tell takes the `from` away."""
    if not answer.break_even_batch:
        return ()
    holds = all(each.holds_above for each in answer.break_even[-1:])
    return ((f"more devices pay {'from' if holds else 'at'}", f"batch {answer.break_even_batch} in all"),)


def tables(document: Document) -> tuple[Table, ...]:
    answer: ScaleAnswer = document.answer
    return scale_tables(answer)


def conclusion(document: Document) -> tuple[str, ...]:
    answer: ScaleAnswer = document.answer
    chosen = _recommended(answer)
    lines = (
        _answer_line("Recommended", answer, chosen),
        None
        if answer.fastest == answer.recommended
        else _answer_line("Fastest", answer, _row_at(answer, answer.fastest)),
    )
    return tuple(line for line in lines if line is not None)


def verdicts(document: Document) -> tuple[str, ...]:
    answer: ScaleAnswer = document.answer
    return tuple(one_line(line, 500) for line in (*answer.verdicts, *answer.advice))


def sheet(document: Document) -> Sheet:
    answer: ScaleAnswer = document.answer
    rows = tuple(_sheet_row(answer, index, row) for index, row in enumerate(answer.rows))
    return Sheet(columns=SHEET_COLUMNS, rows=rows)


def _row_at(answer: ScaleAnswer, index: int | None) -> ScaleRow | None:
    return answer.rows[index] if index is not None and 0 <= index < len(answer.rows) else None


def _recommended(answer: ScaleAnswer) -> ScaleRow | None:
    return _row_at(answer, answer.recommended)


def _batches(row: ScaleRow) -> str:
    if row.devices == 1:
        return f"batch {batch(row.batch_size)}"
    return f"batch {batch(row.batch_per_device)} each and {batch(row.batch_size)} in all"


def _gains(answer: ScaleAnswer, row: ScaleRow) -> tuple[tuple[str, str], ...]:
    """What of a row's gains was measured; the fewest devices have none against themselves."""
    fewest = fewest_devices(answer)
    base = "one device" if fewest == 1 else f"{fewest} devices"
    gains = row.devices > fewest
    found = (
        ("efficiency", f"{share(row.efficiency)} of linear" if gains and row.efficiency is not None else None),
        ("speed-up", f"{row.speedup:.2f}× {base} at batch {row.batch_size}" if gains and row.speedup else None),
        (
            "communication",
            None
            if row.devices == 1 or row.communication_share is None
            else f"{share(row.communication_share)} of the step",
        ),
    )
    return tuple((name, words) for name, words in found if words is not None)


def _answer_line(what: str, answer: ScaleAnswer, row: ScaleRow | None) -> str | None:
    if row is None:
        return None
    length = duration_interval(row.training_seconds, row.training_ci95)
    parts = (
        count_of(row.devices, "device"),
        _batches(row),
        unusual_words(row) or None,
        f"{rate_interval(row.examples_per_second, row.ci95)} examples/s",
        *(words for name, words in _gains(answer, row) if name != "communication"),
        None if row.training_seconds is None else f"training {length}",
        None if row.cost is None else f"cost {row.cost:,.2f}",
    )
    return f"{what}: {', '.join(part for part in parts if part)}"


def _sheet_row(answer: ScaleAnswer, index: int, row: ScaleRow) -> tuple[Number, ...]:
    none = (None, None)
    return (
        answer.model, row.devices, row.nodes, row.batch_per_device, row.batch_size, row.bucket_mib,
        row.accumulation_steps, row.examples_per_second, *(row.ci95 or none), row.step_seconds,
        row.efficiency, *(row.efficiency_ci95 or none), row.speedup, *(row.speedup_ci95 or none),
        row.communication_share, *(row.communication_share_ci95 or none), row.hidden_share, row.waiting_share,
        row.load_share, row.load_hidden_share, row.foretold_efficiency, row.peak_memory_bytes, row.training_seconds,
        row.cost, row.learning_rate, row.steady, index == answer.fastest, index == answer.recommended, row.failure,
    )  # fmt: skip


SCALE = View(
    title=title,
    headline=headline,
    tables=tables,
    conclusion=conclusion,
    verdicts=verdicts,
    sheet=sheet,
    chart=scale_chart,
    method=METHOD,
)
