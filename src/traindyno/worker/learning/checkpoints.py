"""The state of a run in files, from which it goes on as if it had never stopped.

A file is written beside its place, flushed to the disk and then renamed, so whatever ends the process leaves a whole
one; the one before is kept as well. Where files are there and none is whole, the run is refused: it would begin anew.
"""

import contextlib
import math
import os
import pickle
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import torch

from traindyno.core.codec import decode, encode
from traindyno.core.errors import TraindynoError, UsageError
from traindyno.worker.learning.course import Course
from traindyno.worker.learning.folders import check_folder, make_folder
from traindyno.worker.learning.randomness import random_state, set_random_state
from traindyno.worker.learning.story import Story, best, score

FORMAT = "traindyno/checkpoint/1"
LAST, PREVIOUS, BEST = "last.pt", "previous.pt", "best.pt"
EVERY_SECONDS = 30.0


class DamagedCheckpointsError(TraindynoError):
    """There are files to go on from, and none of them is whole."""


class Checkpoints:
    """The folder of one run, made when there is something to keep.

    Files are written at evaluations, not more often than every so many seconds. The state is also written between two
    evaluations that are far apart, and when the run is asked to end.
    """

    def __init__(
        self,
        folder: Path,
        key: str,
        every_seconds: float = EVERY_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder, self._key, self._every, self._clock = folder, key, every_seconds, clock
        self._written = clock()
        self._last_is_whole = True
        self._best_score = -math.inf
        check_folder(folder, "checkpoints")

    @property
    def last(self) -> Path:
        return self._folder / LAST

    def resume(self, course: Course) -> Story:
        """Put the course where the newest whole checkpoint was and start it; at its beginning where there is none."""
        state, notes = self._newest() if course.processes.first else (None, [])
        state = course.processes.from_first(state)
        course.job.notes.extend(notes)
        self._best_score = self._score_kept() if course.processes.first else -math.inf
        if state is None:
            course.start()
            return Story()
        course.model.load_state_dict(state["model"])
        course.optimizer.load_state_dict(state["optimizer"])
        if course.update.scaler is not None:
            course.update.scaler.load_state_dict(state["scaler"])
        course.step_count = state["step"]
        course.start()
        self._restore_randomness(course, state["random"])
        story = decode(state["story"], Story)
        return msgspec.structs.replace(story, resumed_from=(*story.resumed_from, course.step_count))

    def keep(self, course: Course, story: Story, over: bool) -> None:
        """Write the state where it is due, and the weights wherever they are the best so far."""
        if course.processes.first and best(story.evaluations) is story.evaluations[-1]:
            self._keep_best(course, score(story.evaluations[-1]))
        due = course.processes.from_first(over or self._clock() - self._written >= self._every)
        if due:
            self.keep_state(course, story)

    def keep_state(self, course: Course, story: Story) -> None:
        """Write what the run goes on from, wherever it is."""
        first = course.processes.first
        random_states = course.processes.gathered(random_state(course.device.torch_device))
        if first:
            self._write_last(self._state(course, story, random_states))
        self._written = self._clock()

    def _keep_best(self, course: Course, reached: float) -> None:
        """A run that goes on from an older state may have had better weights, which stay."""
        if reached <= self._best_score:
            return
        self._best_score = reached
        weights = {"format": FORMAT, "key": self._key, "step": course.step_count, "score": reached}
        _write(weights | {"model": course.model.state_dict()}, self._folder / BEST)

    def _score_kept(self) -> float:
        """That of the best weights in the folder, if they are of this run."""
        kept = _read(self._folder / BEST)
        return -math.inf if kept is None or kept["key"] != self._key else kept.get("score", -math.inf)

    def _state(self, course: Course, story: Story, random_states: list[Any]) -> dict[str, Any]:
        scaler = course.update.scaler
        return {
            "format": FORMAT,
            "key": self._key,
            "step": course.step_count,
            "story": encode(story),
            "model": course.model.state_dict(),
            "optimizer": course.optimizer.state_dict(),
            "scaler": None if scaler is None else scaler.state_dict(),
            "random": random_states,
        }

    def _write_last(self, state: dict[str, Any]) -> None:
        def keep_previous() -> None:
            with contextlib.suppress(FileNotFoundError):
                if self._last_is_whole:
                    os.replace(self.last, self._folder / PREVIOUS)

        _write(state, self.last, keep_previous)
        self._last_is_whole = True

    def _newest(self) -> tuple[dict[str, Any] | None, list[str]]:
        """The newest state that is whole, and what to know about those that are not."""
        notes = []
        for path in (self.last, self._folder / PREVIOUS):
            if not path.exists():
                continue
            state = _read(path)
            if state is None or "story" not in state:
                self._last_is_whole &= path != self.last
                notes.append(f"{path} is damaged or no checkpoint of traindyno, and was passed over")
            elif state["key"] != self._key:
                raise UsageError(
                    f"the folder {self._folder} holds checkpoints of another run",
                    "give each run a folder of its own, or empty this one",
                )
            else:
                return state, notes
        if notes:
            raise DamagedCheckpointsError(
                f"the run cannot go on: no checkpoint in {self._folder} is whole",
                f"put back a copy of {LAST} if there is one; to begin at step 0 again, remove {LAST} and {PREVIOUS}",
            )
        return None, notes

    def _restore_randomness(self, course: Course, random_states: list[Any]) -> None:
        if len(random_states) != course.processes.world_size:
            course.job.notes.append(
                f"the run was begun by {len(random_states)} processes and went on with {course.processes.world_size}: "
                "what is drawn at random differs from there on"
            )
            return
        set_random_state(random_states[course.processes.rank], course.device.torch_device)


def _write(state: dict[str, Any], path: Path, before_rename: Callable[[], None] = lambda: None) -> None:
    """All or nothing, even if the machine fails in the middle."""
    make_folder(path.parent, "checkpoints")
    unfinished = path.with_suffix(".unfinished")
    try:
        with unfinished.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        before_rename()
        os.replace(unfinished, path)
        _flush_names(path.parent)
    except OSError as error:
        raise TraindynoError(
            f"the checkpoint {path} could not be written: {error.strerror}",
            "make room on the disk or choose another folder; the run goes on from the checkpoint before",
        ) from error


def _flush_names(folder: Path) -> None:
    """A new name is on the disk only after its folder is."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(path: Path) -> dict[str, Any] | None:
    """The state in a file; null where it is torn, altered or something else. No code in it is ever run."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.testzip() is not None:
                return None
        state = torch.load(path, map_location="cpu", weights_only=True)
    except (zipfile.BadZipFile, pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError, OSError):
        return None
    return state if isinstance(state, dict) and state.get("format") == FORMAT else None
