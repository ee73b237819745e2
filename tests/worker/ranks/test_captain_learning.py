"""The captain of a run that learns: what it passes on in both directions, and what it makes of the ranks' results."""

import queue
from typing import Any

import pytest

from traindyno.core.codec import plain
from traindyno.core.learning import Recipe
from traindyno.core.records import Block, Measurement, Memory, Settings, TrialSpec, WorkloadSpec
from traindyno.core.scaling import Group
from traindyno.worker.channel import Channel
from traindyno.worker.ranks.captain import Captain
from traindyno.worker.ranks.limits import LEARNING_SILENCE, Limits, limits_of
from traindyno.worker.ranks.lines import Inbox, News
from traindyno.worker.ranks.members import RankResult
from worker.ranks.test_captain import WHERE, Launcher, Paper, hello

SPEC = TrialSpec(
    kind="learn",
    workload=WorkloadSpec(model="mlp:8"),
    settings=Settings(batch_size=8, devices=2),
    recipe=Recipe(learning_rate=0.1),
    group=Group(devices=2),
)
MEASUREMENT = Measurement(
    batch_size=8,
    steps=2,
    step_seconds=0.1,
    ci95=(0.1, 0.1),
    steady=False,
    blocks=(Block(steps=2, seconds=0.2),),
    memory=Memory(peak_bytes=10),
    start_up_seconds=0.0,
    first_step_seconds=0.1,
    warm_up_seconds=0.0,
    warm_up_steps=0,
)


class Told(Channel):
    """Keeps the progress that it is told."""

    def __init__(self) -> None:
        super().__init__(descriptor=-1)
        self.progress: list[dict[str, Any]] = []

    def step(self, *arguments: Any, **fields: Any) -> None:
        self.progress.append(fields)


def result(line: Any, rank: int, peak_bytes: int, *notes: str) -> News:
    measured = MEASUREMENT if rank == 0 else None
    found = RankResult(reading=None, memory=Memory(peak_bytes=peak_bytes), measurement=measured, notes=notes)
    return News(line, {"type": "result", "result": plain(found), **WHERE})


class Slowly(queue.Queue[News]):
    """An inbox whose last news come only after the captain has looked at what it has."""

    def __init__(self, first: list[News], later: list[News]) -> None:
        super().__init__()
        self._later = later
        for each in first:
            self.put(each)

    def get(self, block: bool = True, timeout: float | None = None) -> News:
        if block and self.empty():
            for each in self._later:
                self.put(each)
        return super().get(block, timeout)


@pytest.fixture
def lines() -> tuple[Paper, Paper]:
    return Paper(), Paper()


def led(lines: tuple[Paper, Paper], first: list[News], asked_to_end: bool = False) -> tuple[Measurement, Told]:
    later = [result(lines[0], 0, 10, "a note"), result(lines[1], 1, 20, "a note", "another")]
    inbox: Inbox = Slowly([hello(lines[0], 0), hello(lines[1], 1), *first], later)
    channel = Told()
    captain = Captain(SPEC, channel, Limits(), inbox, Launcher(), asked_to_end=lambda: asked_to_end)  # type: ignore[arg-type]
    return captain.lead(), channel


def test_the_first_ranks_run_is_that_of_all_with_the_memory_of_who_took_most(lines: tuple[Paper, Paper]) -> None:
    measurement, _ = led(lines, [])
    assert measurement.memory.peak_bytes == 20
    assert measurement.scaling is None
    assert measurement.notes == ("a note", "another")


def test_how_far_the_run_is_and_how_accurate_is_passed_on(lines: tuple[Paper, Paper]) -> None:
    told = {"steps": 5, "step_seconds": 0.1, "planned_steps": 50, "accuracy": 0.5}
    _, channel = led(lines, [News(lines[0], {"type": "step", **told, **WHERE})])
    assert told in channel.progress


def test_a_request_to_end_goes_to_the_first_rank_alone(lines: tuple[Paper, Paper]) -> None:
    led(lines, [], asked_to_end=True)
    assert [kind for kind, _ in lines[0].told] == ["end"]
    assert lines[1].told == []


def test_a_run_that_learns_may_stand_still_for_a_checkpoint() -> None:
    assert limits_of(SPEC).silence == LEARNING_SILENCE > Limits().silence
