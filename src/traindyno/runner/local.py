"""Trials on this machine: one fresh process each, watched from outside."""

import contextlib
import os
import select
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from traindyno.core.codec import encode
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.core.soaking import END_SIGNAL, SOAKING
from traindyno.machine.descent import children_of
from traindyno.machine.memory import oom_kill_count
from traindyno.runner.endings import Ending, KillReason, classify
from traindyno.runner.keeper_link import KeeperLink, KeeperLostError
from traindyno.runner.ladder import KillLadder
from traindyno.runner.protocol import Clock, Deadlines, Watcher
from traindyno.runner.trial_log import TrialLog
from traindyno.runner.watch import Watch

PRELOAD = ("torch", "torchvision", "torch._dynamo")
TICK_SECONDS = 0.1
CHUNK_BYTES = 1 << 16
STOPPED = "stopped on request"
# A long run that is asked to end does so after the step it is in.
END_SECONDS = 30.0


class LocalRunner:
    """Starts each trial through a keeper process. `entry` names the worker's function as text."""

    simulated = False

    def __init__(
        self, entry: str, deadlines: Deadlines, *, spawn: bool = False, preload: tuple[str, ...] = PRELOAD
    ) -> None:
        self._entry = entry
        self._deadlines = deadlines
        self._spawn = spawn
        self._preload = preload
        self._link: KeeperLink | None = None
        self._scratch: str | None = None
        self._shared_cache: str | None = None

    def warm_up(self) -> None:
        """Start the keeper now, so that its imports run while the caller does something else."""
        if self._link is None:
            self._scratch = self._scratch or tempfile.mkdtemp(prefix="traindyno-compiled-")
            variables = compile_cache(self._shared_cache or self._scratch)
            self._link = KeeperLink(self._preload, self._spawn, self._deadlines.start_up, variables, self._scratch)

    def sibling(self) -> Self:
        """Another runner of the same kind, for a trial beside this one's; what either compiles, both can use.

        It is to be closed first.
        """
        other = type(self)(self._entry, self._deadlines, spawn=self._spawn, preload=self._preload)
        other._shared_cache = self._shared_cache or self._scratch
        return other

    def get_ready(self, watcher: Watcher) -> bool:
        """Wait for the keeper's imports; false when the user or the time budget does not want to wait any longer."""
        self.warm_up()
        assert self._link is not None
        while not self._link.ready_within(TICK_SECONDS):
            watcher.tick(time.monotonic(), None)
            if watcher.should_stop():
                return False
        return True

    def run(self, spec: TrialSpec, watcher: Watcher, log_path: Path | None) -> TrialRecord:
        ready = self.get_ready(watcher)
        assert self._link is not None
        if not ready:
            return _record(spec, Ending(status=None, phase="start", killed_for="interrupted", kill_detail=STOPPED), 0.0)
        start = time.monotonic()
        ending = _RunningTrial(self._link, self._entry, spec, self._deadlines, watcher, log_path).follow()
        if ending.keeper_lost:
            self._hang_up()
        return _record(spec, ending, time.monotonic() - start)

    def _hang_up(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None

    def close(self) -> None:
        self._hang_up()
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
            self._scratch = None


def compile_cache(folder: str) -> dict[str, str]:
    """Where torch.compile keeps its work while the runner lives; trials of equal settings share theirs in there."""
    return {"TORCHINDUCTOR_CACHE_DIR": folder, "TRITON_CACHE_DIR": f"{folder}/triton"}


def _record(spec: TrialSpec, ending: Ending, seconds: float) -> TrialRecord:
    failure = classify(ending)
    return TrialRecord(
        spec=spec,
        outcome=Outcome.OK if failure is None else failure.outcome,
        seconds=seconds,
        measurement=ending.measurement,
        failure=failure,
    )


class _RunningTrial:
    """One trial from its start order to its burial."""

    def __init__(
        self,
        link: KeeperLink,
        entry: str,
        spec: TrialSpec,
        deadlines: Deadlines,
        watcher: Watcher,
        log_path: Path | None,
        clock: Clock = time.monotonic,
    ) -> None:
        self._link, self._entry, self._spec = link, entry, spec
        self._watcher, self._clock = watcher, clock
        self._watch = Watch(deadlines, watcher, clock)
        self._log = TrialLog(log_path)
        self._ladder = KillLadder(link.signal, clock)
        self._pid: int | None = None
        self._killed_for: KillReason | None = None
        self._kill_detail = ""
        self._asked_to_end: float | None = None
        self._exit: dict[str, object] | None = None
        self._keeper_lost = False
        self._sources: dict[int, Callable[[bytes], None]] = {}
        self._oom_kills_before = oom_kill_count()

    def follow(self) -> Ending:
        events_read, events_write = os.pipe()
        log_read, log_write = os.pipe()
        try:
            self._start(events_write, log_write)
            self._sources = {events_read: self._watch.feed, log_read: self._log.append}
            while self._exit is None and not self._keeper_lost:
                # A tick may take long, where the store is slow: what was said meanwhile is heard before it is judged.
                self._watcher.tick(self._clock(), self._pid)
                self._wait()
                self._judge()
            self._drain()
        finally:
            os.close(events_read)
            os.close(log_read)
            self._log.close()
        return self._ending()

    def _start(self, events: int, log: int) -> None:
        try:
            self._link.start(self._entry, encode(self._spec), events, log)
        except KeeperLostError:
            self._keeper_lost = True
        finally:
            os.close(events)
            os.close(log)

    def _wait(self) -> None:
        link = self._link.socket.fileno()
        readable, _, _ = select.select([link, *self._sources], [], [], TICK_SECONDS)
        for descriptor in list(self._sources):
            if descriptor in readable:
                self._read(descriptor)
        if link in readable:
            self._hear_keeper()

    def _read(self, descriptor: int) -> None:
        data = os.read(descriptor, CHUNK_BYTES)
        if data:
            self._sources[descriptor](data)
        else:
            del self._sources[descriptor]

    def _hear_keeper(self) -> None:
        try:
            message = self._link.receive()
        except KeeperLostError:
            self._keeper_lost = True
            return
        if "started" in message:
            self._pid = message["started"]
        elif "exited" in message:
            self._exit = message

    def _judge(self) -> None:
        """Decide whether the trial must end, and take the ladder's next rung if one is due."""
        if self._killed_for is None:
            if not self._watch.finished and self._watcher.should_stop():
                self._stop()
            elif (overdue := self._watch.overdue()) is not None:
                self._kill("hang" if overdue[0] == "hang" else "timeout", overdue[1])
            elif self._too_large():
                self._kill("memory", f"the process grew beyond {self._spec.memory_limit_bytes} bytes of memory")
        self._ladder.climb()
        if self._ladder.in_vain:
            self._keeper_lost = True

    def _stop(self) -> None:
        """A long run is asked to end and to tell what it has measured; any other trial has nothing to tell yet."""
        if self._asked_to_end is None and self._ends_on_request():
            self._asked_to_end = self._clock()
            self._link.signal(END_SIGNAL)
        elif self._asked_to_end is None or self._clock() - self._asked_to_end > END_SECONDS:
            self._kill("interrupted", STOPPED)

    def _ends_on_request(self) -> bool:
        """A run that learns does so from its first step on, also while it evaluates for the first time."""
        return self._watch.phase == SOAKING or (self._spec.kind == "learn" and self._watch.learns)

    def _kill(self, reason: KillReason, detail: str) -> None:
        self._killed_for, self._kill_detail = reason, detail
        self._ladder.begin(dump_stack=reason in ("hang", "timeout"), gently=reason != "memory")

    def _too_large(self) -> bool:
        if self._pid is None or self._spec.memory_limit_bytes is None or self._spec.settings.device != "cpu":
            return False
        # The arms of a pair are trials of their own; loader workers share pages with the trial and are not counted.
        arms = children_of(self._pid) if self._spec.kind == "pair" else []
        return any(resident_bytes(pid) > self._spec.memory_limit_bytes for pid in (self._pid, *arms))

    def _drain(self) -> None:
        """Take what is still in the pipes, without waiting for writers that may live on elsewhere."""
        for descriptor, consume in self._sources.items():
            os.set_blocking(descriptor, False)
            with contextlib.suppress(BlockingIOError):
                while data := os.read(descriptor, CHUNK_BYTES):
                    consume(data)

    def _ending(self) -> Ending:
        exit_message = self._exit or {}
        before, after = self._oom_kills_before, oom_kill_count()
        return Ending(
            status=exit_message.get("status"),  # type: ignore[arg-type]
            phase=self._watch.phase,
            log_tail=self._log.tail,
            said_hello=self._watch.said_hello,
            measurement=self._watch.measurement,
            error=self._watch.error,
            killed_for=self._killed_for,
            kill_detail=self._kill_detail,
            ended_early=self._asked_to_end is not None,
            kernel_oom_kills=0 if before is None or after is None else after - before,
            keeper_lost=self._keeper_lost,
            survivors=tuple(exit_message.get("survivors", ())),  # type: ignore[arg-type]
        )


def resident_bytes(pid: int) -> int:
    """Resident memory of a process; zero when it is gone."""
    with contextlib.suppress(OSError, IndexError), open(f"/proc/{pid}/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0
