"""Worker counts that a study did not try because there is no room for them, and what would make some."""

from collections.abc import Iterator, Sequence

import msgspec

from traindyno.analysis.loader_budget import LoaderRoom, refuse_loader, with_data
from traindyno.analysis.loader_trials import measurement_of
from traindyno.analysis.worker_choice import grid_counts, worker_counts
from traindyno.core.errors import TraindynoError
from traindyno.core.records import TrialRecord
from traindyno.core.requests import LoaderRequest


def left_out(
    request: LoaderRequest, history: Sequence[TrialRecord], usable_cpus: float, room: LoaderRoom
) -> Iterator[str]:
    """One sentence for each batch size that had counts without room, with the reason of the smallest of them."""
    probe = next((record for record in history if record.spec.kind == "probe" and record.measurement), None)
    if probe is None:
        return
    counts = request.workers or (grid_counts(usable_cpus) if request.grid else worker_counts(usable_cpus))
    for size in (request.sizes if request.grid else None) or (request.batch_size,):
        untried = sorted(set(counts) - _tried(history, size))
        refused = [(count, why) for count in untried if (why := _refusal(probe, count, size, room)) is not None]
        if refused:
            listed, why = ", ".join(str(count) for count, _ in refused), refused[0][1]
            at = f" at batch {size}" if request.grid else ""
            yield f"Not tried: {listed} worker{'' if listed == '1' else 's'}{at}, because {why.message}; {why.hint}."


def _refusal(probe: TrialRecord, count: int, size: int, room: LoaderRoom) -> TraindynoError | None:
    told = measurement_of(probe).loading
    per_example = (told.batch_bytes or 0) / probe.batch_size if told is not None else 0.0
    settings = msgspec.structs.replace(probe.spec.settings, num_workers=count, batch_size=size)
    return refuse_loader(settings, round(per_example * size), with_data(room, probe))


def _tried(history: Sequence[TrialRecord], size: int) -> set[int]:
    return {
        record.spec.settings.num_workers
        for record in history
        if record.batch_size == size and record.spec.kind in ("load", "feed")
    }
