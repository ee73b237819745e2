"""Further processes that run a round beside this one: they join its study, and nothing of theirs is shown."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from traindyno.app.context import Context
from traindyno.app.interrupts import catching_interrupts
from traindyno.app.loader_workload import usable_cpus
from traindyno.app.workshop import Workshop
from traindyno.core.base import Record
from traindyno.core.codec import decode, encode
from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.events import Notice
from traindyno.core.requests import AdoptRequest, Bench, RoundRequest
from traindyno.runner.linux import die_with_parent
from traindyno.runner.ray_runner import RayRunner

THREADS = "OMP_NUM_THREADS"
PATIENCE_SECONDS = 30.0
MOST_PROCESSES = 256


class Part(Record, frozen=True):
    """What a further process is told: what to run, where it is kept, and where code of the user's own lies now."""

    request: RoundRequest | AdoptRequest
    store: str
    moved: dict[str, str]
    parent: int
    name: str | None = None


def further_processes(processes: int, workshop: Workshop) -> int:
    """Those beside this one: as many as were asked for, or one for each further lane of a cluster."""
    return workshop.runner.lanes - 1 if isinstance(workshop.runner, RayRunner) else processes - 1


def check_processes(processes: int, bench: Bench) -> None:
    """A GPU is for one process at a time, whose runs would else take each other's memory and time."""
    if processes > 1 and bench.executor == "ray":
        raise UsageError(
            "over a Ray cluster one process runs for each GPU or machine that it has", "leave --processes away"
        )
    if not 1 <= processes <= MOST_PROCESSES:
        raise UsageError(f"a round cannot be run by {processes} processes", "give --processes 1 or more")
    if processes > 1 and bench.device.startswith("cuda"):
        raise UsageError(
            f"on a GPU one process runs at a time, and this round runs on {bench.device}",
            "leave --processes away; for another card, type the same command with --device cuda:1 in another terminal",
        )


@contextmanager
def sharing_cpus(processes: int, bench: Bench) -> Iterator[None]:
    """Let each of several processes compute with its share of the CPUs, unless the user has said how many."""
    if processes == 1 or THREADS in os.environ:
        yield
        return
    os.environ[THREADS] = str(max(1, int(usable_cpus(bench, 1) / processes)))
    try:
        yield
    finally:
        del os.environ[THREADS]


@contextmanager
def beside(number: int, request: RoundRequest | AdoptRequest, context: Context, folder: Path) -> Iterator[None]:
    """Have so many further processes run the round while the block runs; what they print goes to files in `folder`."""
    moved, name = dict(context.moved), context.resume or context.name
    part = Part(request=request, store=context.store, moved=moved, parent=os.getpid(), name=name)
    logs = [folder / f"process-{place}-{os.getpid()}.log" for place in range(2, number + 2)]
    partners = [_start(part, log) for log in logs]
    try:
        yield
    finally:
        for partner, log in zip(partners, logs, strict=True):
            _tell_to_end(partner, lambda text: context.emit(Notice(level="warning", text=text)), log)
        deadline = time.monotonic() + PATIENCE_SECONDS
        for partner in partners:
            _end(partner, deadline)


def _start(part: Part, log: Path) -> subprocess.Popen[bytes]:
    """In a session of its own: Ctrl-C reaches us alone, and we tell them."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        partner = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    assert partner.stdin is not None
    with contextlib.suppress(BrokenPipeError), partner.stdin:
        partner.stdin.write(encode(part).encode())
    return partner


def _tell_to_end(partner: subprocess.Popen[bytes], warn: Callable[[str], None], log: Path) -> None:
    """When we end, there is nothing left to run, or all are to stop. A run that one of them has is given back."""
    if partner.poll() not in (None, 0):
        warn(f"a further process of the round ended early, and its run was taken over: see {log}")
    partner.terminate()


def _end(partner: subprocess.Popen[bytes], deadline: float) -> None:
    try:
        partner.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        partner.kill()
        partner.wait()


def take_part(part: Part, should_stop: Callable[[], bool]) -> None:
    """Run what the round has left; whoever started this process concludes."""
    from traindyno.app.rounds.adopt import driving_adoption
    from traindyno.app.rounds.run import driving

    context = Context(store=part.store, name=part.name, should_stop=should_stop, moved=part.moved)
    request = part.request
    joined = driving_adoption(request, context) if isinstance(request, AdoptRequest) else driving(request, context)
    with joined as (study, strategy):
        study.drive(strategy)


def _main() -> int:
    part = decode(sys.stdin.read(), Part)
    die_with_parent(part.parent)
    try:
        with catching_interrupts() as interrupts:
            take_part(part, interrupts)
    except TraindynoError as error:
        print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(_main())
