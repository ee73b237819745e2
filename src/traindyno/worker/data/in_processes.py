"""Work shared out over processes, which end when it is done, when the user stops it, or when their parent dies."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from traindyno.core.errors import TraindynoError

Task = TypeVar("Task")
Result = TypeVar("Result")
Count = Callable[[int, int], None]
"""Told how many are done, and of how many."""

LOOK_UP_SECONDS = 0.2
TASKS_AHEAD = 2
"""Tasks in the queue for each process: enough that none waits, few enough that a stop leaves little behind."""


def in_processes(
    work: Callable[[Task], Result],
    tasks: Iterable[Task],
    processes: int,
    should_stop: Callable[[], bool],
) -> Iterator[Result]:
    """Results in the order in which they come; fewer than tasks when the user stops the work.

    A stop does not wait for tasks that have begun: `work` must leave nothing behind that a later call would take for
    finished. One process is this process.
    """
    if processes > 1:
        yield from _shared_out(work, iter(tasks), processes, should_stop)
        return
    for task in tasks:
        if should_stop():
            return
        yield work(task)


def _shared_out(
    work: Callable[[Task], Result], tasks: Iterator[Task], processes: int, should_stop: Callable[[], bool]
) -> Iterator[Result]:
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), initializer=_end_with_parent)
    pending: set[Future[Result]] = set()
    wanted = TASKS_AHEAD * processes
    try:
        while not should_stop():
            with _signals_held_back(), _script_hidden():
                pending |= {pool.submit(work, task) for task in islice(tasks, wanted - len(pending))}
            if not pending:
                return
            done, pending = wait(pending, LOOK_UP_SECONDS, FIRST_COMPLETED)
            yield from _results(done)
    finally:
        if pending:
            for child in set(multiprocessing.active_children()) - before:
                child.kill()
        pool.shutdown(cancel_futures=True)


def _results(done: Iterable[Future[Result]]) -> Iterator[Result]:
    try:
        for future in done:
            yield future.result()
    except BrokenProcessPool as error:
        raise TraindynoError(
            "a process that did part of the work was killed; most often, memory ran out",
            "what is done is kept: repeat the command with fewer --processes",
        ) from error


@contextmanager
def _signals_held_back() -> Iterator[None]:
    """Processes started meanwhile never see Ctrl-C or SIGTERM, which a terminal sends to them too: we end them."""
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


@contextmanager
def _script_hidden() -> Iterator[None]:
    """Processes started meanwhile do not run the user's script again, which need not be guarded against that."""
    script = vars(sys.modules["__main__"])
    known: dict[str, Any] = {name: script[name] for name in ("__spec__", "__file__") if name in script}
    script.update(dict.fromkeys(known))
    try:
        yield
    finally:
        script.update(known)


def _end_with_parent() -> None:
    threading.Thread(target=_wait_for_parents_end, daemon=True).start()


def _wait_for_parents_end() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
