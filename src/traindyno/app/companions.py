"""Training in several processes that torchrun started: the first does the whole study, the others train with it."""

import os
import tempfile
import time
from collections.abc import Callable, Mapping

import msgspec

from traindyno.app.learning_checks import without_deadline
from traindyno.app.sources import NamedAgain, moved_code, relocated
from traindyno.app.train import check_train, train_plan
from traindyno.app.workshop import deadlines, settle
from traindyno.core.errors import NothingMeasuredError, UsageError
from traindyno.core.events import TrialProgress
from traindyno.core.learning import LEARNING
from traindyno.core.records import Budget, Settings, TrialSpec
from traindyno.core.requests import Bench, Request, TrainRequest, workloads_of
from traindyno.machine.gpu import open_reader
from traindyno.machine.locks import device_lock
from traindyno.runner.choose import open_runner
from traindyno.runner.protocol import Watcher
from traindyno.store.ledger import Ledger

TICK_SECONDS = 0.1
NEWS_SECONDS = 5.0
PATIENCE_SECONDS = 25.0
"""The first process is to end first when all are told to, so that it finds its trial stopped and not broken."""


class Companion(Watcher):
    """Ends its trial when it is told to; one that learns already has some time to end by itself, with the others."""

    def __init__(self, told_to_stop: Callable[[], bool]) -> None:
        self._told_to_stop = told_to_stop
        self._told_at: float | None = None
        self._learns = False

    def progress(self, progress: TrialProgress) -> None:
        self._learns = self._learns or progress.phase == LEARNING

    def is_told_soon(self) -> bool:
        """Whether everybody was told to stop: torchrun does so when one process has failed, which takes a moment."""
        deadline = time.monotonic() + NEWS_SECONDS
        while not self._told_to_stop() and time.monotonic() < deadline:
            time.sleep(TICK_SECONDS)
        return self._told_to_stop()

    def should_stop(self) -> bool:
        if self._told_at is None and self._told_to_stop():
            self._told_at = time.monotonic()
        patience = PATIENCE_SECONDS if self._learns else 0.0
        return self._told_at is not None and time.monotonic() - self._told_at >= patience


def accompany(request: TrainRequest, told_to_stop: Callable[[], bool], moved: Mapping[str, str] | None = None) -> None:
    """Train as one of several processes. Nothing is kept or told here; a failure of this process's own is raised."""
    began = time.monotonic()
    check_train(request)
    bench = _bench_here(without_deadline(request.bench))
    if bench.runner.startswith("simulated"):
        return
    with device_lock(bench.device), tempfile.TemporaryDirectory(prefix="traindyno-companion-") as folder:
        runner, watcher = open_runner(bench.runner, deadlines(bench)), Companion(told_to_stop)
        try:
            record = runner.run(relocated(_spec(request, bench, folder), moved or {}), watcher, None)
        finally:
            runner.close()
    if record.failure is None or _is_spent(bench, began) or watcher.is_told_soon():
        return
    place = f"process {os.environ['RANK']} of {os.environ['WORLD_SIZE']}"
    raise NothingMeasuredError(f"{place}: {record.failure.message}", record.failure.remedy)


def accompany_again(name: str, store: str, named_again: NamedAgain, told_to_stop: Callable[[], bool]) -> None:
    """The same for a study that the first process resumes."""
    with Ledger.open(store, create=False) as ledger:
        row = ledger.study(name)
    if row.state != "done":
        request = row.request
        accompany(_of_training(request), told_to_stop, moved_code(workloads_of(request), named_again))


def _of_training(request: Request) -> TrainRequest:
    if isinstance(request, TrainRequest):
        return request
    raise UsageError("only `train` runs under torchrun", "resume this study without it")


def _spec(request: TrainRequest, bench: Bench, folder: str) -> TrialSpec:
    """The trial that the first process runs, which keeps its state; what is kept here is of no use to anybody."""
    settings = Settings(batch_size=1, precision=bench.precision, device=bench.device)
    template = TrialSpec(
        kind="learn",
        workload=request.workload,
        settings=settings,
        budget=Budget(),
        seed=bench.seed,
        memory_limit_bytes=bench.memory_limit_bytes,
    )
    plan = train_plan(msgspec.structs.replace(request, tensorboard=None), template, None)
    proposal = plan.ask([])
    assert proposal is not None, "nothing was run yet"
    return msgspec.structs.replace(proposal.spec, checkpoints=folder)


def _bench_here(bench: Bench) -> Bench:
    """Each process on a machine has a GPU of its own."""
    reader = open_reader()
    try:
        bench = settle(bench, reader)
    finally:
        reader.close()
    if not bench.device.startswith("cuda"):
        return bench
    return msgspec.structs.replace(bench, device=f"cuda:{os.environ.get('LOCAL_RANK', 0)}")


def _is_spent(bench: Bench, began: float) -> bool:
    """Whether the first process has ended the run because its time was up."""
    budget = bench.time_budget_seconds
    return budget is not None and time.monotonic() - began >= budget - NEWS_SECONDS
