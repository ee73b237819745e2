"""Runs in processes of their own: some are killed without warning, some learn together."""

import contextlib
import multiprocessing
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from traindyno.core.codec import decode, encode
from traindyno.core.records import TrialSpec
from traindyno.worker.learning import checkpoints
from traindyno.worker.learning.course import Course
from worker.learning.small_learners import run_keeping


class Stopped(Exception):
    """What ends a run in a test where nothing is killed."""


def stopping_at(step: int | None) -> Callable[[Course], None]:
    def stop(course: Course) -> None:
        if course.step_count == step:
            raise Stopped

    return stop


def start(function: Callable[..., None], *arguments: Any) -> multiprocessing.process.BaseProcess:
    """A process that has torch at once: it is forked from a server that imported it."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["traindyno.worker.kinds", "torch._dynamo"])
    process = context.Process(target=function, args=arguments)
    process.start()
    return process


def run_until_killed(document: str, folder: Path, moment: str, number: int) -> None:
    """One run that kills itself: before the step of this number, or when it writes its checkpoint of this number."""
    torch.set_num_threads(1)
    _kill_when(moment, number)

    def before_step(course: Course) -> None:
        if moment == "step" and course.step_count == number:
            _die()

    run_keeping(decode(document, TrialSpec), folder, before_step)


def _kill_when(moment: str, number: int) -> None:
    """Die in the middle of writing a state, before it gets its name, or after the one before it lost its own."""
    save, replace, written = torch.save, os.replace, [0]

    def saving(state: Any, file: Any) -> None:
        save(state, file)
        written[0] += "story" in state
        if moment == "half written" and written[0] == number:
            file.truncate(file.tell() // 2)
            _die()

    def renaming(source: Any, target: Any) -> None:
        ending = written[0] == number and Path(target).name in (checkpoints.LAST, checkpoints.PREVIOUS)
        if ending and moment == "before renaming":
            _die()
        replace(source, target)
        if ending and moment == "between renamings":
            _die()

    checkpoints.torch.save, checkpoints.os.replace = saving, renaming  # type: ignore[attr-defined, assignment]


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def run_together(spec: TrialSpec, folder: Path, processes: int, stop_at: int | None = None) -> list[Any]:
    """What each of several processes has at the end: the story, the weights."""
    port = _free_port()
    folder.mkdir(exist_ok=True)
    started = [start(_run_one, encode(spec), folder, rank, processes, port, stop_at) for rank in range(processes)]
    for process in started:
        process.join(240)
        assert process.exitcode == 0
    files = [folder / f"{rank}.result" for rank in range(processes)]
    return [torch.load(file, map_location="cpu", weights_only=True) for file in files]


def _run_one(document: str, folder: Path, rank: int, processes: int, port: int, stop_at: int | None) -> None:
    torch.set_num_threads(1)
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": processes, "MASTER_PORT": port}
    os.environ |= {name: str(value) for name, value in place.items()} | {"MASTER_ADDR": "127.0.0.1"}
    result: Any = None
    with contextlib.suppress(Stopped):
        story, weights, _ = run_keeping(decode(document, TrialSpec), folder, stopping_at(stop_at))
        result = {"story": encode(story), "weights": weights}
    torch.save(result, folder / f"{rank}.result")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
