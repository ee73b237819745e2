"""A document's trials as rows, read leniently: an entry may come from another version or machine."""

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from traindyno.analysis.switch_candidates import value_words
from traindyno.core.answers import Document, Interval
from traindyno.core.base import Record
from traindyno.core.records import Settings
from traindyno.core.scaling import USUAL_BUCKET_MIB
from traindyno.core.units import count_of
from traindyno.report.trial_draws import draw_words
from traindyno.report.wording import one_line

OK = "ok"
OUT_OF_MEMORY = frozenset({"out_of_device_memory", "out_of_host_memory"})
LOADING = ("probe", "load", "feed", "anatomy")
"""Kinds of trials in which examples are loaded, so that the knobs of the loader mean something."""
NEVER_STEADY = ("fit", "train", "losses", "learn", "noise", "job")
"""Kinds of trials that do not wait for steps to be alike."""
OF_LOADER = ("num_workers", "prefetch_factor", "persistent_workers", "decoder")
DEPTHS = {"bytes": "bytes only", "pixels": "decode only"}
SOURCES = {"memory": "held in RAM", "prepared": "prepared"}


class TrialRow(Record, frozen=True):
    """One trial with the figures that tables and charts need. Unknown is null.

    `fed` says how it was given data, and what it was to try.
    """

    ordinal: int
    kind: str
    outcome: str
    fed: str = ""
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


def fed_words(kind: str, data: str, settings: Mapping[str, Any], feed: Mapping[str, Any]) -> str:
    """`4 workers, pinned, cold`: how a trial that loads examples was given them; nothing of other trials."""
    if kind not in LOADING and not (kind == "scale" and feed.get("supply") == "loader"):
        return ""
    parts = (*_supply(kind, settings, feed), SOURCES.get(data.partition(":")[0]), *_restrictions(settings, feed))
    return ", ".join(part for part in parts if part)


def switched_words(kind: str, settings: Mapping[str, Any], against: Mapping[str, Any] | None) -> str:
    """`compile=default on precision=bf16`: what a trial has that what it is compared with has not, and what both have.

    A trial that is compared with nothing has what is not usual. What examples are loaded with is for `fed_words` to
    tell, and of a loader alone there is nothing else.
    """
    if against is None:
        # The threads of a group's processes are the same in all of its study, which tells them once.
        left_out = (*OF_LOADER, "pin_memory", *(("threads",) if kind == "scale" else ()))
        return "" if kind == "load" else _unusual(settings, left_out)
    held = _unusual(against, OF_LOADER)
    return f"{_changes(settings, against)} on {held}" if held else _changes(settings, against)


def _steady(measurement: Mapping[str, Any]) -> bool | None:
    """Of a pair, both arms."""
    arms = (measurement, (measurement.get("pair") or {}).get("baseline") or {})
    told = [arm["steady"] for arm in arms if "steady" in arm]
    return all(told) if told else None


def _unusual(settings: Mapping[str, Any], left_out: tuple[str, ...]) -> str:
    told = {name: value for name, value in settings.items() if name not in left_out}
    return _changes(told, _usual(settings))


def _usual(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults of everything that is no matter of the workload and the machine."""
    own = {name: settings.get(name) for name in ("batch_size", "device")}
    return {**msgspec.to_builtins(Settings(batch_size=1)), **own}


def _changes(settings: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    changed = [(name, value) for name, value in settings.items() if value != before.get(name)]
    return ", ".join(f"{one_line(name)}={one_line(value_words(value))}" for name, value in changed)


def _supply(kind: str, settings: Mapping[str, Any], feed: Mapping[str, Any]) -> tuple[str | None, ...]:
    if kind == "probe":
        return ("one process",)
    if feed.get("supply") == "cached":
        return ("training", "cached batches")
    workers, prefetch = settings.get("num_workers") or 0, settings.get("prefetch_factor") or 2
    return (
        {"load": None, "anatomy": "a step taken apart"}.get(kind, "training"),
        f"{workers} worker{'' if workers == 1 else 's'}",
        f"prefetch {prefetch}" if workers and prefetch != 2 else None,
        "persistent" if settings.get("persistent_workers") else None,
    )


def _restrictions(settings: Mapping[str, Any], feed: Mapping[str, Any]) -> tuple[str | None, ...]:
    decoder, cpus = settings.get("decoder"), feed.get("cpus")
    return (
        "pinned" if settings.get("pin_memory") else None,
        one_line(decoder) if decoder not in (None, "pil") else None,
        DEPTHS.get(feed.get("depth") or ""),
        "cold" if feed.get("cold") else None,
        f"on {cpus} CPU{'' if cpus == 1 else 's'}" if cpus else None,
    )


def reason(trial: TrialRow) -> str:
    """Why a trial failed, on one line."""
    return one_line(trial.failure.get("message") or outcome_words(trial.outcome))


def _row(ordinal: int, entry: dict[str, Any]) -> TrialRow:
    settings, measurement = entry.get("settings") or {}, entry.get("measurement") or {}
    kind = str(entry.get("kind") or "trial")
    memory = measurement.get("memory") or {}
    batch_size, long_run = settings.get("batch_size"), _step_of_long_run(measurement.get("soak") or {})
    step_seconds = measurement.get("step_seconds") if long_run is None else long_run
    return TrialRow(
        ordinal=ordinal,
        kind=kind,
        outcome=str(entry.get("outcome") or "unknown"),
        fed=_given(kind, entry, settings),
        model=entry.get("model"),
        batch_size=batch_size,
        seconds=entry.get("seconds"),
        examples_per_second=_per_second(batch_size, step_seconds),
        ci95=_rate_interval(batch_size, measurement.get("ci95")) if long_run is None else None,
        step_seconds=step_seconds,
        steady=None if kind in NEVER_STEADY else _steady(measurement),
        peak_bytes=memory.get("peak_bytes"),
        peak_reserved_bytes=memory.get("peak_reserved_bytes"),
        limit_bytes=memory.get("limit_bytes"),
        allocator_retries=memory.get("allocator_retries"),
        margin=entry.get("margin"),
        conditions=entry.get("conditions") or {},
        failure=entry.get("failure") or {},
    )


def _given(kind: str, entry: dict[str, Any], settings: dict[str, Any]) -> str:
    if entry.get("draw"):
        return draw_words(entry)
    fed = fed_words(kind, str(entry.get("data") or ""), settings, entry.get("feed") or {})
    seed = f"seed {entry['seed']}" if kind == "losses" and "seed" in entry else ""
    learns = learning_words(entry.get("recipe"), entry.get("seed") or 0)
    group = group_words(settings.get("batch_size"), entry.get("group"))
    switched = switched_words(kind, settings, entry.get("against"))
    return ", ".join(part for part in (group, fed, seed, learns, switched) if part)


def learning_words(recipe: Mapping[str, Any] | None, seed: int) -> str:
    """`lr 0.1, seed 3`: which run of a recipe a trial is; nothing of trials that follow none."""
    if not recipe:
        return ""
    rate = recipe.get("learning_rate")
    return f"lr {rate:g}, seed {seed}" if isinstance(rate, int | float) else f"seed {seed}"


def group_words(batch_size: int | None, group: Mapping[str, Any] | None) -> str:
    """`2 devices of 16 each, buckets of 1 MiB`: who shares a batch; nothing of a trial on its own."""
    devices = (group or {}).get("devices")
    if not group or not devices:
        return ""
    nodes, bucket = group.get("nodes") or 1, group.get("bucket_mib") or USUAL_BUCKET_MIB
    each = f" of {batch_size // devices} each" if batch_size and devices > 1 else ""
    parts = (
        f"{count_of(devices, 'device')}{each}",
        f"on {nodes} nodes" if nodes > 1 else None,
        None if bucket == USUAL_BUCKET_MIB else f"buckets of {bucket:g} MiB",
    )
    return ", ".join(part for part in parts if part)


def _step_of_long_run(soak: dict[str, Any]) -> float | None:
    """Seconds per step over the whole of it, pauses and all, as in its answer; null of any other trial."""
    blocks = soak.get("blocks") or []
    steps = sum(block.get("steps") or 0 for block in blocks)
    return blocks[-1]["end_seconds"] / steps if steps else None


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
