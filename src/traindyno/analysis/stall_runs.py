"""The differential runs of a stalls study: which trial belongs to which, and what each took."""

from collections.abc import Sequence

from traindyno.analysis.intervals import combine_processes
from traindyno.analysis.loader_trials import measurement_of
from traindyno.analysis.sustained import sustained
from traindyno.core.answers.interval import Interval
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord, TrialSpec

RESIDENT = "resident"
HOST_CACHED = "host_cached"
WARM = "warm"
COLD = "cold"
LOADER_ALONE = "loader_alone"
DECODE_ONLY = "decode_only"
BYTES_ONLY = "bytes_only"
HALVED_BATCH = "halved_batch"
PROBE = "probe"

READ_FROM_FILES = ("folder:", "shards:", "prepared:")
"""Other data is held in memory or read by code of the user's: there is nothing to drop from the page cache."""

COLD_ENOUGH = 0.05
"""A run was cold if no more than this share of the data was still in the page cache."""

_OF_DEPTH = {"bytes": BYTES_ONLY, "pixels": DECODE_ONLY, "examples": LOADER_ALONE}

Runs = dict[str, tuple[TrialRecord, ...]]


def run_name(spec: TrialSpec, data: str, batch_size: int, also: Sequence[str] = ()) -> str | None:
    """What a trial measures in a study of `data` at a batch size; null if it is of another study.

    Other sources are named by their scheme (`prepared`), or in full where two share one.
    """
    if spec.workload.data != data:
        known = spec.workload.data in also and spec.kind in ("probe", "feed")
        name = source_name(spec.workload.data, also)
        return (f"{PROBE} {name}" if spec.kind == "probe" else name) if known else None
    if spec.kind == "speed":
        return {batch_size: RESIDENT, batch_size // 2: HALVED_BATCH}.get(spec.settings.batch_size)
    if spec.kind == "feed":
        return HOST_CACHED if spec.feed.supply == "cached" else COLD if spec.feed.cold else WARM
    if spec.kind == "load":
        return _OF_DEPTH[spec.feed.depth]
    return PROBE if spec.kind == "probe" else None


def source_name(data: str, also: Sequence[str]) -> str:
    scheme = data.partition(":")[0]
    taken = {RESIDENT, HOST_CACHED, WARM, COLD, LOADER_ALONE, DECODE_ONLY, BYTES_ONLY, HALVED_BATCH, PROBE}
    shared = sum(other.partition(":")[0] == scheme for other in also) > 1
    return data if shared or scheme in taken else scheme


def sort_runs(history: Sequence[TrialRecord], data: str, batch_size: int, also: Sequence[str] = ()) -> Runs:
    """Trials by run, in the order they ran; interrupted ones count for nothing."""
    runs: dict[str, list[TrialRecord]] = {}
    for record in history:
        name = run_name(record.spec, data, batch_size, also)
        if name is not None and record.outcome is not Outcome.INTERRUPTED:
            runs.setdefault(name, []).append(record)
    return {name: tuple(records) for name, records in runs.items()}


def measured(runs: Runs, name: str) -> tuple[TrialRecord, ...]:
    return tuple(record for record in runs.get(name, ()) if record.measurement is not None)


def still_cached(runs: Runs) -> float | None:
    """The largest share of the data that a cold run found in the page cache; null if one of them could not tell."""
    told = [measurement_of(record).loading for record in measured(runs, COLD)]
    shares = [loading.cached_share if loading is not None else None for loading in told]
    known = [share for share in shares if share is not None]
    return max(known) if known and len(known) == len(shares) else None


def was_cold(runs: Runs) -> bool:
    share = still_cached(runs)
    return share is not None and share <= COLD_ENOUGH


def step_of(runs: Runs, name: str) -> tuple[float, Interval] | None:
    """Seconds per step that a run sustained, over all its processes; null if none was measured."""
    found = [sustained(measurement_of(record)) for record in measured(runs, name)]
    if not found:
        return None
    return combine_processes([each.step_seconds for each in found], [each.ci95 for each in found])
