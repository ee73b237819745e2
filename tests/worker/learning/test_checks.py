"""When a run is looked at: by the clock, or by steps that all processes agree on."""

from typing import Any

import pytest

from traindyno.worker.learning.checks import Checks
from traindyno.worker.learning.loop import Loop
from traindyno.worker.learning.processes import ALONE, Processes
from traindyno.worker.learning.story import Story
from worker.learning.test_loop import Clockwork


class Two(Processes):
    """The first of two, without the other one."""

    def total(self, values: Any) -> Any:
        return values

    def from_first(self, value: Any) -> Any:
        return value


FIRST = Two(rank=0, world_size=2)


def looked_at(step_seconds: float, steps: int) -> list[int]:
    checks, last, seen = Checks(FIRST), 0, []
    for step in range(1, steps + 1):
        if checks.due(step, (step - last) * step_seconds):
            seen.append(step)
            checks.made(step, step - last, (step - last) * step_seconds)
            last = step
    return seen


@pytest.mark.parametrize(("step_seconds", "apart"), [(0.001, 2000), (0.1, 20), (3.0, 1)])
def test_several_processes_look_about_every_two_seconds(step_seconds, apart):
    seen = looked_at(step_seconds, steps=20_000)
    assert seen[0] == 1
    assert seen[-1] - seen[-2] == pytest.approx(apart, abs=1)


def test_one_process_looks_by_the_clock():
    checks = Checks(ALONE)
    assert [checks.due(7, seconds) for seconds in (0.5, 1.0)] == [False, True]


def test_slow_steps_of_several_processes_are_told_as_they_are_made():
    course = Clockwork(planned_steps=40, evaluation_examples=400)
    course.processes = FIRST  # type: ignore[misc]
    course.channel._clock = lambda: course.now
    Loop(course, clock=lambda: course.now).run(Story())  # type: ignore[arg-type]
    told = [fields["steps"] for kind, fields in course.channel.sent if kind == "step"]
    assert told == [*range(2, 41), 40]
