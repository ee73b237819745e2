"""Two studies side by side: ratios with intervals, in words, and a loud list of what else differs."""

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from traindyno.analysis.choice import best_point
from traindyno.analysis.intervals import UNKNOWN, ratio_interval
from traindyno.analysis.likeness import is_simulated, unlike
from traindyno.core.answers import (
    CompareAnswer,
    CompareRow,
    Document,
    LoaderAnswer,
    MaxBatchAnswer,
    PlanAnswer,
    Quantity,
    ThroughputAnswer,
    WorkerPoint,
)
from traindyno.core.answers.interval import Interval
from traindyno.core.errors import UsageError

A = TypeVar("A")
QUANTITIES: dict[str, Quantity] = {
    "throughput": "examples_per_second",
    "plan": "training_seconds",
    "max-batch": "batch_size",
    "loader": "examples_per_second",
}


def conclude_comparison(a_name: str, a: Document, b_name: str, b: Document) -> CompareAnswer:
    """The second study against the first: the same question, maybe on different machines."""
    if a.command == b.command and a.command not in QUANTITIES:
        raise UsageError(
            f"two {a.command} studies cannot be set side by side", f"compare two studies of {', '.join(QUANTITIES)}"
        )
    if a.command != b.command:
        raise UsageError(
            f"{a_name} is a study of {a.command} and {b_name} one of {b.command}",
            f"compare two studies of the same kind: {', '.join(QUANTITIES)}",
        )
    differences = unlike(a, b)
    simulated = [name for name, document in ((a_name, a), (b_name, b)) if is_simulated(document)]
    rows = _rows(a, b)
    return CompareAnswer(
        a=a_name,
        b=b_name,
        rows=rows,
        unlike=differences,
        verdicts=(
            *(f"{name} was simulated: its numbers are invented." for name in simulated),
            *_summary(rows, a.command),
            *([f"The two also differ in {_names(differences)}."] if differences else []),
        ),
        quantity=QUANTITIES[a.command],
        simulated=bool(simulated),
    )


def _rows(a: Document, b: Document) -> tuple[CompareRow, ...]:
    if a.command == "throughput":
        return throughput_rows(_read(a.answer, ThroughputAnswer), _read(b.answer, ThroughputAnswer))
    if a.command == "plan":
        return plan_rows(_read(a.answer, PlanAnswer), _read(b.answer, PlanAnswer))
    if a.command == "loader":
        return loader_rows(_read(a.answer, LoaderAnswer), _read(b.answer, LoaderAnswer))
    return max_batch_rows(_read_all(a.answer), _read_all(b.answer))


def throughput_rows(a: ThroughputAnswer, b: ThroughputAnswer) -> tuple[CompareRow, ...]:
    """Examples per second at the batch sizes both measured, and best against best."""
    points_a = {point.batch_size: point for point in a.curve}
    points_b = {point.batch_size: point for point in b.curve}
    pairs = [(f"batch {size}", points_a[size], points_b[size]) for size in sorted(points_a.keys() & points_b.keys())]
    best_a, best_b = best_point(a.curve), best_point(b.curve)
    pairs.append((f"best ({best_a.batch_size} and {best_b.batch_size})", best_a, best_b))
    return tuple(
        _estimated(key, x.examples_per_second, x.ci95, y.examples_per_second, y.ci95, more_is_faster=True)
        for key, x, y in pairs
    )


def plan_rows(a: PlanAnswer, b: PlanAnswer) -> tuple[CompareRow, ...]:
    """Training time at the batch sizes both planned, and fastest against fastest."""
    rows_a = {row.batch_size: row for row in a.rows}
    rows_b = {row.batch_size: row for row in b.rows}
    pairs = [(f"batch {size}", rows_a[size], rows_b[size]) for size in sorted(rows_a.keys() & rows_b.keys())]
    pairs.append((f"fastest ({a.fastest} and {b.fastest})", rows_a[a.fastest], rows_b[b.fastest]))
    return tuple(
        _estimated(key, x.training_seconds, x.ci95, y.training_seconds, y.ci95, more_is_faster=False)
        for key, x, y in pairs
    )


def loader_rows(a: LoaderAnswer, b: LoaderAnswer) -> tuple[CompareRow, ...]:
    """Examples per second of the settings both measured, and recommended against recommended."""
    points_a, points_b = _worker_points(a), _worker_points(b)
    rows = [
        _estimated(key, x.examples_per_second, x.ci95, y.examples_per_second, y.ci95, more_is_faster=True)
        for key, x in points_a.items()
        if (y := points_b.get(key)) is not None
    ]
    chosen = f"recommended ({_workers(a.recommended.num_workers)} and {_workers(b.recommended.num_workers)})"
    rates = (a.examples_per_second, a.ci95, b.examples_per_second, b.ci95)
    return (*rows, _estimated(chosen, *rates, more_is_faster=True))


def _worker_points(answer: LoaderAnswer) -> dict[str, WorkerPoint]:
    """What was measured, by its settings in words."""
    ordered = sorted((*answer.points, *answer.grid), key=lambda point: (point.end_to_end, point.num_workers))
    return {_settings(point): point for point in ordered}


def _settings(point: WorkerPoint) -> str:
    training = ", training" if point.end_to_end else ""
    cpus = "" if point.cpus is None else f", {point.cpus} CPUs"
    return f"{_workers(point.num_workers)}, batch {point.batch_size}{training}{cpus}"


def _workers(number: int) -> str:
    return "1 worker" if number == 1 else f"{number} workers"


def max_batch_rows(a: Sequence[MaxBatchAnswer], b: Sequence[MaxBatchAnswer]) -> tuple[CompareRow, ...]:
    """Safe and largest batch of each model, paired by name and mode; single models as they are."""
    if len(a) == len(b) == 1:
        return (
            _counted("safe batch", a[0].safe_batch, b[0].safe_batch),
            _counted("max batch", a[0].max_batch, b[0].max_batch),
        )
    answers_a = {(answer.model, answer.mode): answer for answer in a}
    answers_b = {(answer.model, answer.mode): answer for answer in b}
    keys = [*answers_a, *(key for key in answers_b if key not in answers_a)]
    return tuple(
        _counted(
            f"{key[0]} ({key[1]}) {field.replace('_', ' ')}",
            getattr(answers_a.get(key), field, None),
            getattr(answers_b.get(key), field, None),
        )
        for key in keys
        for field in ("safe_batch", "max_batch")
    )


def difference(ratio: float, interval: Interval, more_is_faster: bool = True) -> str:
    """Who is faster and by how much; "no difference shown" while the interval holds 1."""
    if interval[0] <= 1 <= interval[1]:
        return "no difference shown"
    speedup = ratio if more_is_faster else 1 / ratio
    name, factor = ("B", speedup) if speedup > 1 else ("A", 1 / speedup)
    return f"{name} is {_factor(factor)} faster"


def _estimated(
    key: str, a: float, a_interval: Interval, b: float, b_interval: Interval, more_is_faster: bool
) -> CompareRow:
    ratio, interval = ratio_interval(a, a_interval, b, b_interval)
    verdict = difference(ratio, interval, more_is_faster)
    return CompareRow(key=key, a=a, b=b, ratio=ratio, ci95=interval, verdict=verdict)


def _counted(key: str, a: int | None, b: int | None) -> CompareRow:
    """Batch sizes are counts: a ratio, but no interval."""
    ratio = b / a if a and b else None
    if ratio is None:
        verdict = "unknown on both sides" if a == b else f"only in {'A' if b is None else 'B'}"
    elif ratio == 1:
        verdict = "the same"
    else:
        factor = max(ratio, 1 / ratio)
        verdict = f"{'B' if ratio > 1 else 'A'} fits {_factor(factor)} {'as many' if factor >= 1.1 else 'more'}"
    return CompareRow(key=key, a=a, b=b, ratio=ratio, ci95=None, verdict=verdict)


def _factor(factor: float) -> str:
    return f"{factor:.2f}×" if factor >= 1.1 else f"{(factor - 1) * 100:.1f} %"


def _summary(rows: Sequence[CompareRow], command: str) -> list[str]:
    """The last row's verdict, and the spread of the ratios over the common sizes."""
    ratios = [row.ratio for row in rows[:-1] if row.ratio is not None]
    if command == "max-batch":
        return []
    headline = f"{rows[-1].key[0].upper()}{rows[-1].key[1:]}: {rows[-1].verdict}."
    thing = "setting" if command == "loader" else "size"
    if not ratios:
        return [headline, f"No {'setting' if command == 'loader' else 'batch size'} was measured on both sides."]
    what = "training time" if command == "plan" else "throughput"
    sizes = f"1 common {thing}" if len(ratios) == 1 else f"{len(ratios)} common {thing}s"
    return [headline, f"B over A in {what}: {min(ratios):.2f} to {max(ratios):.2f} over {sizes}."]


def _names(differences: Sequence[str]) -> str:
    names = [text.partition(":")[0] for text in differences]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _read_all(answer: Any) -> list[MaxBatchAnswer]:
    """One answer or a list of them, one per model."""
    answers = answer if isinstance(answer, list | tuple) else [answer]
    return [_read(each, MaxBatchAnswer) for each in answers]


def _read(answer: Any, kind: type[A]) -> A:
    """The answer as a record; interval ends that strict JSON wrote as null become unbounded again."""
    if isinstance(answer, kind):
        return answer
    try:
        return msgspec.convert(_bounded(answer), kind)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"this is not an answer that traindyno wrote: {error}", "export it again with --export-json"
        ) from error


def _bounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _interval(item) if key == "ci95" else _bounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_bounded(item) for item in value]
    return value


def _interval(value: Any) -> Any:
    if not isinstance(value, list | tuple) or len(value) != 2:
        return value
    low, high = value
    return [UNKNOWN[0] if low is None else low, math.inf if high is None else high]
