"""A document's trials as rows, read leniently: an entry may come from another version or machine."""

import math
from typing import Any

import msgspec

from traindyno.core.answers import Document, Interval
from traindyno.core.records import Record
from traindyno.report.wording import one_line

OK = "ok"
OUT_OF_MEMORY = frozenset({"out_of_device_memory", "out_of_host_memory"})


class TrialRow(Record, frozen=True):
    """One trial with the figures that tables and charts need. Unknown is null."""

    ordinal: int
    kind: str
    outcome: str
    model: str | None = None
    batch_size: int | None = None
    seconds: float | None = None
    examples_per_second: float | None = None
    ci95: Interval | None = None
    step_seconds: float | None = None
    steady: bool | None = None
    peak_bytes: int | None = None
    peak_reserved_bytes: int | None = None
    limit_bytes: int | None = None
    allocator_retries: int | None = None
    margin: float | None = None
    conditions: dict[str, Any] = msgspec.field(default_factory=dict)
    failure: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return self.outcome == OK

    @property
    def out_of_memory(self) -> bool:
        return self.outcome in OUT_OF_MEMORY


def trial_rows(document: Document) -> tuple[TrialRow, ...]:
    """Every trial of the document, in the order in which they ran."""
    return tuple(_row(ordinal, entry) for ordinal, entry in enumerate(document.trials, start=1))


def outcome_words(outcome: str) -> str:
    """`out_of_device_memory` → `out of memory`."""
    return "out of memory" if outcome in OUT_OF_MEMORY else outcome.replace("_", " ")


def reason(trial: TrialRow) -> str:
    """Why a trial failed, on one line."""
    return one_line(trial.failure.get("message") or outcome_words(trial.outcome))


def _row(ordinal: int, entry: dict[str, Any]) -> TrialRow:
    settings, measurement = entry.get("settings") or {}, entry.get("measurement") or {}
    memory = measurement.get("memory") or {}
    batch_size, step_seconds = settings.get("batch_size"), measurement.get("step_seconds")
    return TrialRow(
        ordinal=ordinal,
        kind=str(entry.get("kind") or "trial"),
        outcome=str(entry.get("outcome") or "unknown"),
        model=entry.get("model"),
        batch_size=batch_size,
        seconds=entry.get("seconds"),
        examples_per_second=_per_second(batch_size, step_seconds),
        ci95=_rate_interval(batch_size, measurement.get("ci95")),
        step_seconds=step_seconds,
        steady=measurement.get("steady"),
        peak_bytes=memory.get("peak_bytes"),
        peak_reserved_bytes=memory.get("peak_reserved_bytes"),
        limit_bytes=memory.get("limit_bytes"),
        allocator_retries=memory.get("allocator_retries"),
        margin=entry.get("margin"),
        conditions=entry.get("conditions") or {},
        failure=entry.get("failure") or {},
    )


def _per_second(batch_size: int | None, step_seconds: float | None) -> float | None:
    if not batch_size or not step_seconds or not math.isfinite(step_seconds):
        return None
    return batch_size / step_seconds


def _rate_interval(batch_size: int | None, step_interval: Any) -> Interval | None:
    """A trial's interval is of its step time; the rate's ends come from the opposite ends."""
    if not isinstance(step_interval, list | tuple) or len(step_interval) != 2:
        return None
    low, high = (_per_second(batch_size, end) for end in reversed(step_interval))
    return None if low is None or high is None else (low, high)
