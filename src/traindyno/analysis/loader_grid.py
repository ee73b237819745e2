"""A grid of worker counts and batch sizes, as measured cell by cell."""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.loader_points import worker_point
from traindyno.analysis.loader_trials import LoaderTrials, rate_of
from traindyno.analysis.loader_verdicts import workers_words
from traindyno.core.answers import WorkerPoint
from traindyno.core.records import Measurement, TrialRecord
from traindyno.core.requests import LoaderRequest
from traindyno.core.units import format_rate


def answered_size(request: LoaderRequest, history: Sequence[TrialRecord]) -> int:
    """The size asked for, if it was measured; of a grid over several sizes, that of the fastest cell."""
    cells = [record for record in history if record.spec.kind in ("load", "feed") and record.measurement is not None]
    one_size = request.sizes is None or len(set(request.sizes)) == 1
    measured = any(record.batch_size == request.batch_size for record in cells)
    if not request.grid or not cells or (one_size and measured):
        return request.batch_size
    return max(cells, key=lambda record: rate_of(record)[0]).batch_size


def with_any_probe(trials: LoaderTrials, history: Sequence[TrialRecord]) -> LoaderTrials:
    """A grid is probed at one batch size only; another size's probe is scaled to this one."""
    if trials.probe is not None or not trials.searched:
        return trials
    probe = next((record for record in history if record.spec.kind == "probe" and record.measurement), None)
    if probe is None or probe.measurement is None:
        return trials
    scale = trials.searched[0].batch_size / probe.batch_size
    settings = msgspec.structs.replace(probe.spec.settings, batch_size=trials.searched[0].batch_size)
    spec = msgspec.structs.replace(probe.spec, settings=settings)
    scaled = msgspec.structs.replace(probe, spec=spec, measurement=_scaled(probe.measurement, scale))
    return msgspec.structs.replace(trials, probe=scaled)


def _scaled(measurement: Measurement, scale: float) -> Measurement:
    """The step at another batch size is told by the cells themselves, so none is carried over."""
    loading = measurement.loading
    if loading is not None:
        loading = msgspec.structs.replace(
            loading,
            transfer_seconds=loading.transfer_seconds * scale if loading.transfer_seconds is not None else None,
            batch_bytes=round(loading.batch_bytes * scale) if loading.batch_bytes is not None else None,
            resident_step_seconds=None,
            resident_ci95=None,
            step_cpu_seconds=None,
        )
    blocks = tuple(msgspec.structs.replace(block, seconds=block.seconds * scale) for block in measurement.blocks)
    seconds = measurement.step_seconds * scale
    return msgspec.structs.replace(measurement, step_seconds=seconds, blocks=blocks, loading=loading)


def grid_points(
    request: LoaderRequest, history: Sequence[TrialRecord], epoch_examples: int | None
) -> tuple[WorkerPoint, ...]:
    if not request.grid:
        return ()
    cells = [record for record in history if record.spec.kind in ("load", "feed") and record.measurement is not None]
    ordered = sorted(cells, key=lambda record: (record.batch_size, record.spec.settings.num_workers))
    return tuple(worker_point(record, epoch_examples) for record in ordered)


def best_cell(grid: Sequence[WorkerPoint]) -> list[str]:
    if not grid:
        return []
    best = max(grid, key=lambda point: point.examples_per_second)
    words, rate = workers_words(best.num_workers), format_rate(best.examples_per_second)
    return [f"The fastest cell is {words} at batch {best.batch_size}: {rate} examples/s."]
