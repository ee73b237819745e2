"""Data is prepared on the way, when a search first wants a trial of it."""

import os
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from traindyno.analysis.probes import image_size
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
    trial's failure and not the study's: all other sources are still there. `records` are the study's trials so far,
    which tell what size of images the model takes.
    """

    def __init__(
        self,
        runner: Runner,
        workload: WorkloadSpec,
        folder: str,
        emit: Emit,
        seconds_left: Callable[[], float | None],
        records: Sequence[TrialRecord] = (),
    ) -> None:
        self.beneath, self._records = runner, records
        self._workload, self._source, self._folder = workload, f"{PREPARED}{folder}", Path(folder).expanduser()
        self._emit, self._seconds_left = emit, seconds_left
        self._ready = runner.simulated
        self.simulated = runner.simulated

    def run(self, spec: TrialSpec, watcher: Watcher, log_path: Path | None) -> TrialRecord:
        if self._ready or spec.workload.data != self._source:
            return self.beneath.run(spec, watcher, log_path)
        began = time.monotonic()
        try:
            was_there = is_prepared(self._folder, self._workload)
            self._prepare(watcher)
        except (TraindynoError, OSError) as error:
            return _failed(spec, error, time.monotonic() - began)
        self._ready = True
        seconds = time.monotonic() - began
        record = self.beneath.run(spec, watcher, log_path)
        record = msgspec.structs.replace(record, seconds=record.seconds + seconds)
        return record if was_there else _noted(record, f"the data was prepared in {format_seconds(seconds)}")

    def close(self) -> None:
        self.beneath.close()

    def _prepare(self, watcher: Watcher) -> None:
        listener = _Telling(self._emit, watcher)
        prepare(
            request_for(self._workload, self._folder, image_size(self._records)),
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


def request_for(workload: WorkloadSpec, folder: Path, told_size: int | None = None) -> "PrepareRequest":
    """How to prepare the workload's data; a set of it that was begun in the folder goes on as it was.

    `told_size` is the side of the images that the model was seen to take. A set of smaller ones is refused.
    """
    from traindyno.worker.data.prepared_format import PrepareRequest, read_header
    from traindyno.worker.data.preparing_places import same_source

    size = told_size or workload.image_size
    there = read_header(folder)
    if there is not None and same_source(there.request.source, workload.data):
        _check_side(there.request, size, folder)
        return there.request
    return PrepareRequest(source=workload.data, shorter_side=_stored_side(size or CROP_SIDE))


def _check_side(there: "PrepareRequest", size: int | None, folder: Path) -> None:
    if size is not None and there.shorter_side < size:
        raise UsageError(
            f"the images in {folder} have a shorter side of {there.shorter_side} px, and {size} px are trained on",
            "name another folder, or remove this one to have them prepared again",
        )


def _stored_side(size: int) -> int:
    return -(-size * STORED_SIDE // CROP_SIDE)


def is_prepared(folder: Path, workload: WorkloadSpec) -> bool:
    """Whether the workload's data was prepared there, to its end."""
    from traindyno.worker.data.prepared_format import read_header
    from traindyno.worker.data.preparing_places import same_source

    there = read_header(folder.expanduser())
    return there is not None and there.finished and same_source(there.request.source, workload.data)


def check_folder(source: str, folder: Path) -> None:
    """Refuse a folder among the data itself, or one that holds anything but this data, prepared in whole or in part."""
    from traindyno.worker.data.prepared_format import read_header
    from traindyno.worker.data.preparing_places import require_apart, same_source
    from traindyno.worker.data.set_files import require_empty

    require_apart(source, folder)
    _require_writable(folder)
    there = read_header(folder)
    if there is None:
        require_empty(folder)
    elif not same_source(there.request.source, source):
        raise UsageError(
            f"{folder} holds another set, prepared from {there.request.source}", "name a new or an empty folder"
        )


def _require_writable(folder: Path) -> None:
    """Of what is not there yet, the nearest folder above it counts."""
    there = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    if there.is_dir() and not (os.access(there, os.W_OK) and shutil.disk_usage(there).total):
        raise UsageError(f"nothing can be written to {folder}", "name a folder on a disk that has room")


def _failed(spec: TrialSpec, error: TraindynoError | OSError, seconds: float) -> TrialRecord:
    """A stop by the user or the budget interrupts the trial; what is prepared by then is kept."""
    outcome = _outcome_of(error)
    remedy = (error.hint if isinstance(error, TraindynoError) else None) or REMEDIES[outcome]
    message = f"the data could not be prepared: {error}"
    failure = Failure(outcome=outcome, message=message, remedy=remedy, phase=PREPARING)
    return TrialRecord(spec=spec, outcome=outcome, seconds=seconds, failure=failure)


def _outcome_of(error: TraindynoError | OSError) -> Outcome:
    """What is wrong with the data or the folder stays so; a full disk, another writer or too little time need not."""
    from traindyno.worker.data.bad import BadExampleError

    if isinstance(error, StoppedError):
        return Outcome.INTERRUPTED
    return Outcome.DATA_ERROR if isinstance(error, (UsageError, BadExampleError)) else Outcome.INFRASTRUCTURE


def _noted(record: TrialRecord, note: str) -> TrialRecord:
    if record.measurement is None:
        return record
    notes = (*record.measurement.notes, note)
    return msgspec.structs.replace(record, measurement=msgspec.structs.replace(record.measurement, notes=notes))
