"""Batches taken one after another from an endless loader, and what is known about the taking."""

import contextlib
import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.process import BaseProcess
from typing import Any, Self

import psutil

from traindyno.core.errors import TraindynoError
from traindyno.machine.memory import oom_kill_count
from traindyno.worker.data.loading import Endless, start_loader
from traindyno.worker.data.ready import ready_batches
from traindyno.worker.data.sharing import not_shared
from traindyno.worker.data.worker_faults import GRACE_SECONDS, exit_code_behind
from traindyno.worker.errors import DataError, NotSharedError

Clock = Callable[[], float]


class Flow:
    """An endless loader at work. Closing it ends its workers."""

    def __init__(self, endless: Endless, clock: Clock = time.perf_counter) -> None:
        self._endless: Endless | None = endless
        self._clock = clock
        self._iterator: Iterator[Any] = iter(())
        self._processes: list[BaseProcess] = []
        self._workers: list[psutil.Process] = []
        self._oom_kills = oom_kill_count()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Leave with what ended a worker, if that is why we leave.

        torch tells of every worker that ends, and may do so of the next one while we close.
        """
        ended = self.explain(error) if isinstance(error, Exception) else None
        if ended is None:
            self.close()
            return
        for _ in range(1 + len(self._processes)):
            with contextlib.suppress(RuntimeError):
                self.close()
                break
        raise ended from error

    def start(self) -> tuple[float, Any]:
        """Start the workers; seconds from asking for the first batch to having it, and the batch."""
        assert self._endless is not None
        if self._endless.sharing is not None:
            self._endless.sharing.begin()
        others = multiprocessing.active_children()
        asked = self._clock()
        try:
            self._iterator = start_loader(self._endless.loader)
        finally:
            self._note_workers([child for child in multiprocessing.active_children() if child not in others])
        batch = self.take()
        seconds = self._clock() - asked
        return seconds, batch

    def take(self) -> Any:
        """The next batch. What the data's own code raised is the cause of a `DataError`."""
        assert self._endless is not None
        try:
            batch = next(self._iterator)
        except StopIteration:
            raise TraindynoError(
                f"the {self._endless.what} ended, although it should go on", "let its __len__ tell the true length"
            ) from None
        except NotSharedError:
            raise not_shared(self._endless.loader.num_workers) from None
        except Exception as error:
            raise DataError(f"reading from the {self._endless.what} failed") from error
        if isinstance(batch, TraindynoError):
            raise batch
        if self._endless.sharing is not None:
            self._endless.sharing.look_at(batch)
        return batch

    def ready(self) -> int | None:
        """How many batches the workers have finished that nobody has taken; null where nobody tells."""
        return ready_batches(self._iterator)

    def next_epoch(self) -> tuple[float, Any] | None:
        """Begin another epoch: seconds to its first batch, and the batch; null for a stream whose workers persist.

        Such a stream never ends. Workers that persist must be done with the epoch before, or they would finish what
        they had begun of it first.
        """
        assert self._endless is not None
        if self._endless.loader.persistent_workers:
            if self._endless.batches is None:
                return None
            self._endless.batches.finish()
            for _ in self._iterator:
                pass
        else:
            self._end_workers()
        return self.start()

    def next_epoch_seconds(self) -> float | None:
        """Seconds to the first batch of another epoch, if there is one."""
        begun = self.next_epoch()
        return None if begun is None else begun[0]

    def worker_cpu_seconds(self) -> float | None:
        """CPU time of all workers together so far; null when there are none, or one of them is gone."""
        if not self._workers:
            return None
        with contextlib.suppress(psutil.Error):
            times = [worker.cpu_times() for worker in self._workers]
            return float(sum(each.user + each.system for each in times))
        return None

    def bytes_from_disk(self) -> int | None:
        """What the workers had to fetch from storage so far; null where the kernel does not tell."""
        return bytes_from_disk(self._workers)

    def close(self) -> None:
        self._end_workers()
        self._endless = None
        self._processes, self._workers = [], []

    def explain(self, error: Exception) -> TraindynoError | None:
        """Why a worker ended, if that is what is behind an error; what torch says of it depends on the moment.

        torch's signal handler may raise wherever we are, once for each worker that ends; then we look again.
        """
        cause = error.__cause__ if isinstance(error, DataError) else error
        code = exit_code_behind(cause)
        lost = isinstance(cause, ConnectionError | EOFError) or str(cause).startswith("DataLoader worker (pid")
        for _ in range(1 + len(self._processes)):
            with contextlib.suppress(RuntimeError):
                return self._ending(code, GRACE_SECONDS if lost else 0.0)
        return None

    def _ending(self, code: int | None, wait_seconds: float) -> TraindynoError | None:
        """From the exit code that torch told, or else from the workers themselves."""
        if self._endless is None:
            return None
        before, now = self._oom_kills, oom_kill_count()
        oom_kills = 0 if before is None or now is None else now - before
        if code is not None:
            return self._endless.faults.ending(code, oom_kills)
        return self._endless.faults.ending_of(self._processes, oom_kills, wait_seconds)

    def _end_workers(self) -> None:
        """torch does it when nobody holds the iterator any more, but after an error the traceback still does."""
        shut_down = getattr(self._iterator, "_shutdown_workers", None)
        self._iterator = iter(())
        if shut_down is not None:
            shut_down()

    def _note_workers(self, new: Sequence[BaseProcess]) -> None:
        if new:
            self._processes, self._workers = list(new), []
            with contextlib.suppress(psutil.NoSuchProcess):
                self._workers = [psutil.Process(process.pid) for process in new]


def bytes_from_disk(processes: Sequence[psutil.Process] = ()) -> int | None:
    """What these processes, or else this one, had to fetch from storage so far; null where the kernel does not tell."""
    with contextlib.suppress(psutil.Error, AttributeError, OSError):
        return int(sum(process.io_counters().read_bytes for process in processes or [psutil.Process()]))
    return None


def dropping(take: Callable[[], Any]) -> Callable[[], None]:
    """Take a batch and let it go: to give its memory back is part of taking it over."""

    def take_and_drop() -> None:
        take()

    return take_and_drop
