"""Data is prepared on the way, when a search first wants a trial of it."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from traindyno.app.data import prepare, usable_processes
from traindyno.core.errors import StoppedError, TraindynoError, UsageError
from traindyno.core.events import Emit, Notice, TrialProgress
from traindyno.core.outcomes import REMEDIES, Outcome
from traindyno.core.records import Failure, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.units import format_seconds
from traindyno.runner.protocol import Runner, Watcher

if TYPE_CHECKING:
    from traindyno.worker.data.prepared_format import PrepareRequest

PREPARING = "preparing the data"
PREPARED = "prepared:"
# Images are stored in the proportion in which 224 px are cut from 256.
STORED_SIDE, CROP_SIDE = 256, 224


class PreparingRunner:
    """A runner that prepares a workload's data into a folder before the first trial that reads it from there.

    What preparing took is added to that trial. A set that cannot be prepared, or not in the time that is left, is the
    trial's failure and not the study's: all other sources are still there.
    """

    def __init__(
        self, runner: Runner, workload: WorkloadSpec, folder: str, emit: Emit, seconds_left: Callable[[], float | None]
    ) -> None:
        self._runner = runner
        self._workload, self._source, self._folder = workload, f"{PREPARED}{folder}", Path(folder).expanduser()
        self._emit, self._seconds_left = emit, seconds_left
        self._ready = runner.simulated
        self.simulated = runner.simulated

    def run(self, spec: TrialSpec, watcher: Watcher, log_path: Path | None) -> TrialRecord:
        if self._ready or spec.workload.data != self._source:
            return self._runner.run(spec, watcher, log_path)
        began = time.monotonic()
        try:
            self._prepare(watcher)
        except (TraindynoError, OSError) as error:
            return _failed(spec, error, time.monotonic() - began)
        self._ready = True
        seconds = time.monotonic() - began
        return _with_preparing(self._runner.run(spec, watcher, log_path), seconds)

    def close(self) -> None:
        self._runner.close()

    def _prepare(self, watcher: Watcher) -> None:
        listener = _Telling(self._emit, watcher)
        prepare(
            request_for(self._workload, self._folder),
            self._folder,
            usable_processes(None),
            self._workload.skip_bad,
            listener,
            listener.should_stop,
            most_seconds=self._seconds_left(),
        )


class _Telling:
    """Passes on how far the work is, as a trial does: for the eye, and so that nobody takes the study for dead."""

    def __init__(self, emit: Emit, watcher: Watcher) -> None:
        self._emit, self._watcher = emit, watcher
        self._began = time.monotonic()

    def notice(self, text: str) -> None:
        self._emit(Notice(level="info", text=f"{PREPARING}: {text}"))

    def warn(self, text: str) -> None:
        self._emit(Notice(level="warning", text=f"{PREPARING}: {text}"))

    def count(self, done: int, total: int) -> None:
        phase = f"{PREPARING}, {done:,} of {total:,} examples"
        self._watcher.progress(TrialProgress(phase=phase, steps=0, seconds=time.monotonic() - self._began))

    def should_stop(self) -> bool:
        self._watcher.tick(time.monotonic(), None)
        return self._watcher.should_stop()


def request_for(workload: WorkloadSpec, folder: Path) -> "PrepareRequest":
    """How to prepare the workload's data; a set of it that was begun in the folder goes on as it was."""
    from traindyno.worker.data.prepared_format import PrepareRequest, read_header

    there = read_header(folder)
    if there is not None and there.request.source == workload.data:
        return there.request
    side = -(-(workload.image_size or CROP_SIDE) * STORED_SIDE // CROP_SIDE)
    return PrepareRequest(source=workload.data, shorter_side=side)


def is_prepared(folder: Path, workload: WorkloadSpec) -> bool:
    """Whether the workload's data was prepared there, to its end."""
    from traindyno.worker.data.prepared_format import read_header
    from traindyno.worker.data.preparing_source import same_source

    there = read_header(folder.expanduser())
    return there is not None and there.finished and same_source(there.request.source, workload.data)


def check_folder(source: str, folder: Path) -> None:
    """Refuse a folder that holds anything but this data, prepared in whole or in part."""
    from traindyno.worker.data.prepared_format import read_header
    from traindyno.worker.data.set_files import require_empty

    there = read_header(folder)
    if there is None:
        require_empty(folder)
    elif there.request.source != source:
        raise UsageError(
            f"{folder} holds another set, prepared from {there.request.source}", "name a new or an empty folder"
        )


def _failed(spec: TrialSpec, error: TraindynoError | OSError, seconds: float) -> TrialRecord:
    """A stop by the user or the budget interrupts the trial; what is prepared by then is kept."""
    outcome = Outcome.INTERRUPTED if isinstance(error, StoppedError) else Outcome.DATA_ERROR
    remedy = (error.hint if isinstance(error, TraindynoError) else None) or REMEDIES[outcome]
    message = f"the data could not be prepared: {error}"
    failure = Failure(outcome=outcome, message=message, remedy=remedy, phase=PREPARING)
    return TrialRecord(spec=spec, outcome=outcome, seconds=seconds, failure=failure)


def _with_preparing(record: TrialRecord, seconds: float) -> TrialRecord:
    record = msgspec.structs.replace(record, seconds=record.seconds + seconds)
    if record.measurement is None:
        return record
    notes = (*record.measurement.notes, f"the data was prepared in {format_seconds(seconds)}")
    return msgspec.structs.replace(record, measurement=msgspec.structs.replace(record.measurement, notes=notes))
