"""The training loop on a course made of clockwork: what the clock counts, and when a run ends."""

import contextlib
import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from traindyno.core.learning import Recipe, Target
from traindyno.core.records import Settings
from traindyno.core.rounds import Floor
from traindyno.worker.devices import CpuDevice
from traindyno.worker.handing import signature_of
from traindyno.worker.learning.loop import Loop
from traindyno.worker.learning.processes import ALONE
from traindyno.worker.learning.story import Story
from worker.learning.small_learners import SilentChannel

EXAMPLES, BATCH = 40, 10


class Clockwork:
    """Steps of one second and evaluations of a hundred, by a clock of its own. Losses are the numbers of the steps."""

    batch_size, processes = BATCH, ALONE
    floors: tuple[Floor, ...] = ()
    settings = Settings(batch_size=BATCH)
    data = SimpleNamespace(
        training_examples=EXAMPLES,
        supplying=contextlib.nullcontext,
        training=lambda first: contextlib.nullcontext(lambda: torch.ones(BATCH)),
    )

    def __init__(self, planned_steps: int, nonfinite_from: float = math.inf, **recipe: Any) -> None:
        self.planned_steps, self.nonfinite_from = planned_steps, nonfinite_from
        self.recipe = Recipe(learning_rate=1.0, **recipe)
        self.now, self.step_count, self.waits = 0.0, 0, 0
        self.device, self.channel = CpuDevice(), SilentChannel()
        self.model = nn.Linear(1, 1)
        self.job = SimpleNamespace(notes=[], signature=signature_of(self.model))
        self.device.synchronize = self.wait  # type: ignore[method-assign]
        self.accuracies = [number / 10 for number in range(10)]

    @property
    def examples(self) -> int:
        return self.step_count * BATCH

    def wait(self) -> None:
        self.waits += 1

    def step(self) -> torch.Tensor:
        self.now += 1.0
        self.step_count += 1
        return torch.tensor(math.nan if self.step_count >= self.nonfinite_from else float(self.step_count))

    def evaluate(self) -> tuple[float, float | None]:
        self.now += 100.0
        return (1.0 if self.step_count < self.nonfinite_from else math.nan), self.accuracies.pop(0)

    def rate(self, step: int) -> float:
        return float(step)


class Writer:
    """Takes long to write checkpoints and curves."""

    def __init__(self, course: Clockwork) -> None:
        self._course = course
        self.kept: list[tuple[int, bool]] = []
        self.kept_between: list[Story] = []

    def write(self, story: Story) -> None:
        self._course.now += 1000.0

    def keep(self, course: Any, story: Story, over: bool) -> None:
        self.write(story)
        self.kept.append((course.step_count, over))

    def keep_state(self, course: Any, story: Story) -> None:
        self.write(story)
        self.kept_between.append(story)


def run(course: Any, writer: Any = None, end_at: float = math.inf) -> Story:
    loop = Loop(course, writer, writer, lambda: course.now, asked_to_end=lambda: course.step_count >= end_at)
    return loop.run(Story())


def test_the_training_clock_stands_still_during_evaluations_and_writing():
    course = Clockwork(planned_steps=10)
    story = run(course, Writer(course))
    assert [each.seconds for each in story.evaluations] == [4.0, 8.0, 10.0]
    assert story.seconds == 10.0
    assert story.evaluation_seconds == 300.0
    assert course.now == 10 + 300 + 3 * 2000


def test_the_device_is_waited_for_at_the_edges_and_not_at_each_step():
    course = Clockwork(planned_steps=40)
    story = run(course)
    assert course.waits == 2 * len(story.blocks) + 1


def test_every_evaluation_tells_where_the_run_is():
    story = run(Clockwork(planned_steps=10))
    assert [(each.step, each.examples) for each in story.evaluations] == [(4, 40), (8, 80), (10, 100)]
    assert [each.training_loss for each in story.evaluations] == [2.5, 6.5, 9.5]
    assert [each.learning_rate for each in story.evaluations] == [3.0, 7.0, 9.0]
    assert [(block.steps, block.seconds) for block in story.blocks] == [(4, 4.0), (4, 4.0), (2, 2.0)]


def test_a_checkpoint_may_come_at_every_evaluation_and_must_at_the_end():
    course = Clockwork(planned_steps=10)
    writer = Writer(course)
    run(course, writer)
    assert writer.kept == [(4, False), (8, False), (10, True)]


def test_a_target_met_twice_in_a_row_ends_the_run():
    course = Clockwork(planned_steps=100, target=Target(metric="accuracy", value=0.5), evaluation_examples=20)
    course.accuracies = [0.1, 0.6, 0.2, 0.5, 0.7, 0.9]
    story = run(course)
    assert [each.accuracy for each in story.evaluations] == [0.1, 0.6, 0.2, 0.5, 0.7]
    assert not story.diverged


@pytest.mark.parametrize("step", [1, 2, 4, 7])
def test_a_run_that_loses_its_numbers_ends_soon_with_one_last_evaluation(step):
    course = Clockwork(planned_steps=4000, nonfinite_from=step, evaluation_examples=4 * BATCH)
    story = run(course)
    assert story.diverged
    assert course.step_count <= step + 1
    assert len(story.evaluations) == (step - 1) // 4 + 1
    assert math.isnan(story.evaluations[-1].loss)


def test_a_loss_that_only_the_evaluation_sees_lost_is_noted_and_training_goes_on():
    course = Clockwork(planned_steps=8)
    course.evaluate = lambda: (math.nan, 0.1)  # type: ignore[method-assign]
    story = run(course)
    assert not story.diverged
    assert [each.step for each in story.evaluations] == [4, 8]
    (note,) = course.job.notes
    assert "evaluation examples" in note


def test_weights_that_are_no_numbers_after_the_last_step_have_diverged_though_its_loss_was_one():
    course = Clockwork(planned_steps=8)
    course.evaluate = lambda: (math.nan, 0.1)  # type: ignore[method-assign]
    with torch.no_grad():
        course.model.weight.fill_(math.nan)
    story = run(course)
    assert story.diverged
    assert [each.step for each in story.evaluations] == [4]
    assert course.job.notes == []


def test_between_evaluations_far_apart_the_state_is_kept_every_minute_with_the_clock_stopped():
    course = Clockwork(planned_steps=200, evaluation_examples=200 * BATCH)
    writer = Writer(course)
    story = run(course, writer)
    assert [each.steps for each in writer.kept_between] == [60, 120, 180]
    assert [(block.steps, block.seconds) for block in story.blocks] == [(200, 200.0)]
    assert [each.training_loss for each in story.evaluations] == [100.5]


def test_a_run_that_is_asked_to_end_keeps_its_state_and_then_tells_how_far_it_was():
    course = Clockwork(planned_steps=100)
    writer = Writer(course)
    story = run(course, writer, end_at=6)
    assert [each.step for each in story.evaluations] == [4, 6]
    (kept,) = writer.kept_between
    assert (kept.steps, kept.seconds, len(kept.evaluations)) == (6, 6.0, 1)
    assert not story.diverged


def test_a_run_that_goes_on_between_two_evaluations_counts_what_came_before():
    stopped, course = Clockwork(planned_steps=8), Clockwork(planned_steps=8)
    writer = Writer(stopped)
    run(stopped, writer, end_at=6)
    course.step_count = 6
    story = Loop(course, clock=lambda: course.now).run(writer.kept_between[0])  # type: ignore[arg-type]
    assert [each.training_loss for each in story.evaluations] == [2.5, 6.5]
    assert [each.seconds for each in story.evaluations] == [4.0, 8.0]


def test_a_finished_run_is_left_as_it_was():
    course = Clockwork(planned_steps=4)
    story = run(course)
    assert Loop(course, clock=lambda: course.now).run(story) == story  # type: ignore[arg-type]


def test_progress_tells_steps_and_accuracy():
    course = Clockwork(planned_steps=10)
    course.channel._clock = lambda: course.now
    run(course)
    told = [fields for kind, fields in course.channel.sent if kind == "step"]
    assert {each["planned_steps"] for each in told} == {10}
    assert [each["accuracy"] for each in told if each["accuracy"] is not None] == [0.0, 0.1, 0.2]
    phases = [fields["name"] for kind, fields in course.channel.sent if kind == "phase"]
    assert phases == ["first step", "training", "first step", "training"]
