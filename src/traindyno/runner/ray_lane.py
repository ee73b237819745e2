"""The far end of a lane: an actor of Ray that runs trials on its machine exactly as they are run locally."""

import contextlib
import hashlib
import os
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import msgspec

from traindyno.core.codec import decode, encode
from traindyno.core.errors import TraindynoError
from traindyno.core.outcomes import REMEDIES, Outcome
from traindyno.core.records import Failure, TrialRecord, TrialSpec
from traindyno.machine.facts import collect
from traindyno.machine.gpu import open_reader
from traindyno.machine.locks import device_lock
from traindyno.machine.memory import default_memory_limit_bytes
from traindyno.runner.choose import open_runner
from traindyno.runner.ray_watcher import LaneWatcher
from traindyno.runner.ray_words import LaneFacts, LaneOrders, Word
from traindyno.runner.trial_log import TAIL_BYTES

THREADS = "OMP_NUM_THREADS"
CODE_REMEDY = "Code is never sent: put the same file at the same path on every machine of the cluster."


class Lane:
    """One trial at a time. Every method answers at once: the trial runs in a thread that lives as long as the lane."""

    def __init__(self, orders: str) -> None:
        self._orders = decode(orders, LaneOrders)
        _settle_in(self._orders)
        self._held = contextlib.ExitStack()
        self._reader = open_reader()
        self._refused_because = self._hold_device()
        self._runner = open_runner(self._orders.runner, self._orders.deadlines)
        self._thread = ThreadPoolExecutor(max_workers=1)
        # In memory, within a trial log's bounds: a lane may be killed, and leaves nothing behind.
        self._log_file = os.memfd_create("trial.log")
        self._watcher: LaneWatcher | None = None
        self._trial: Future[TrialRecord] | None = None

    def facts(self) -> str:
        is_cpu = self._orders.device == "cpu"
        return encode(
            LaneFacts(
                machine=collect(self._reader),
                memory_limit_bytes=default_memory_limit_bytes() if is_cpu else None,
                refused_because=self._refused_because,
            )
        )

    def begin(self, document: str) -> None:
        """Start a trial."""
        spec = decode(document, TrialSpec)
        self._watcher = LaneWatcher(self._reader, self._orders, takes_readings=spec.kind == "soak")
        self._trial = self._thread.submit(self._run, spec, self._watcher)

    def hear(self) -> str:
        """What there is to tell since the last time; a fault of our own is raised to whoever asks."""
        assert self._watcher is not None, "a trial was begun"
        assert self._trial is not None, "a trial was begun"
        if not self._trial.done():
            return encode(Word(progress=self._watcher.told()))
        return encode(Word(progress=self._watcher.told(), record=self._trial.result(), log=_end_of(self._log)))

    def stop(self) -> None:
        """Ask the trial to end."""
        if self._watcher is not None:
            self._watcher.stopping.set()

    def close(self) -> None:
        """End what the lane started; whoever asked waits for it."""
        self.stop()
        self._thread.shutdown(wait=True)
        self._runner.close()
        self._reader.close()
        self._held.close()
        os.close(self._log_file)

    @property
    def _log(self) -> Path:
        return Path(f"/proc/{os.getpid()}/fd/{self._log_file}")

    def _hold_device(self) -> str | None:
        """Why the device is not to be had, if somebody else measures on it."""
        if self._orders.runner.startswith("simulated"):
            return None
        try:
            self._held.enter_context(device_lock(self._orders.device, self._reader))
        except TraindynoError as error:
            return error.message
        return None

    def _run(self, spec: TrialSpec, watcher: LaneWatcher) -> TrialRecord:
        os.ftruncate(self._log_file, 0)
        stranger = other_code(spec)
        if stranger is not None:
            return _failed(spec, Outcome.USER_ERROR, stranger, CODE_REMEDY, "UsageError")
        try:
            record = self._runner.run(spec, watcher, self._log)
        except TraindynoError as error:
            remedy = error.hint or REMEDIES[Outcome.INFRASTRUCTURE]
            return _failed(spec, Outcome.INFRASTRUCTURE, error.message, remedy, type(error).__name__)
        series = record.series or watcher.series()
        return msgspec.structs.replace(record, conditions=watcher.conditions(), series=series)


def other_code(spec: TrialSpec) -> str | None:
    """What is wrong with the user's own file on this machine; null where it is the one that the study names."""
    model = spec.workload.model
    if not spec.workload.runs_user_code:
        return None
    path = Path(model[: model.rindex(".py") + len(".py")]).expanduser()
    here = os.uname().nodename
    if not path.is_file():
        return f"there is no file {path.absolute()} on {here}"
    if hashlib.sha256(path.read_bytes()).hexdigest() != spec.workload.source_sha256:
        return f"{path.absolute()} on {here} is not the file that the study was begun with"
    return None


def _settle_in(orders: LaneOrders) -> None:
    """Undo what Ray does to its workers and a measurement would feel: few threads, and a low priority."""
    os.environ.pop(THREADS, None)
    if orders.threads is not None:
        os.environ[THREADS] = orders.threads
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, 0)
    with contextlib.suppress(OSError):
        os.chdir(orders.folder)


def _end_of(log: Path) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - TAIL_BYTES))
            return file.read().decode(errors="backslashreplace")
    except FileNotFoundError:
        return ""


def _failed(spec: TrialSpec, outcome: Outcome, message: str, remedy: str, error_type: str) -> TrialRecord:
    failure = Failure(outcome=outcome, message=message, remedy=remedy, error_type=error_type)
    return TrialRecord(spec=spec, outcome=outcome, seconds=0.0, failure=failure)
