"""A run that is clearly behind others ends early, and counts as what it was until then."""

from pathlib import Path
from typing import Any

import pytest

from traindyno.core.learning import Recipe, Target
from traindyno.core.rounds import Floor
from traindyno.worker.learning.loop import Loop
from worker.learning.small_learners import learnt, spec_of
from worker.learning.test_loop import BATCH, Clockwork, Writer, run


def course_with(*floors: Floor, accuracies: list[Any], **recipe: Any) -> Clockwork:
    """Evaluated after every second of its ten steps."""
    course = Clockwork(planned_steps=10, evaluation_examples=2 * BATCH, **recipe)
    course.floors, course.accuracies = floors, accuracies
    return course


@pytest.mark.parametrize(
    ("floors", "accuracies", "evaluated"),
    [
        ([Floor(40, "accuracy", 0.5)], [0.1, 0.4, 0.9], 2),
        ([Floor(30, "accuracy", 0.5)], [0.1, 0.4, 0.9], 2),
        ([Floor(40, "accuracy", 0.5)], [0.1, 0.5, 0.4, 0.9], 3),
        ([Floor(20, "accuracy", 0.1), Floor(60, "accuracy", 0.7)], [0.2, 0.3, 0.6, 0.9], 3),
        ([Floor(40, "loss", 0.9)], [None, None, None], 2),
    ],
)
def test_the_first_evaluation_worse_than_a_floor_that_holds_by_then_is_the_last(floors, accuracies, evaluated):
    story = run(course_with(*floors, accuracies=accuracies))
    assert len(story.evaluations) == evaluated
    assert story.pruned
    assert not story.diverged


@pytest.mark.parametrize(
    ("floor", "accuracies"),
    [
        (Floor(40, "accuracy", 0.5), [0.1, 0.5, 0.6, 0.7, 0.8]),
        (Floor(40, "accuracy", 0.5), [None] * 5),
        (Floor(40, "loss", 1.0), [0.0] * 5),
        (Floor(100, "accuracy", 0.5), [0.1, 0.1, 0.1, 0.1, 0.2]),
    ],
)
def test_a_run_that_is_not_worse_or_is_at_its_end_anyway_is_not_cut(floor, accuracies):
    story = run(course_with(floor, accuracies=accuracies))
    assert [each.step for each in story.evaluations] == [2, 4, 6, 8, 10]
    assert not story.pruned


def test_a_run_that_has_reached_its_target_is_done_and_not_behind():
    floor, target = Floor(20, "accuracy", 0.9), Target("accuracy", 0.5)
    course = course_with(floor, accuracies=[0.95, 0.6, 0.7], target=target)
    story = run(course)
    assert not story.pruned
    assert len(story.evaluations) == 2


def test_a_run_that_loses_its_numbers_has_diverged_and_is_not_merely_behind():
    course = Clockwork(planned_steps=10, nonfinite_from=3, evaluation_examples=2 * BATCH)
    course.floors = (Floor(30, "accuracy", 0.5),)
    story = run(course)
    assert story.diverged
    assert not story.pruned


def test_a_run_that_was_cut_is_over():
    course = course_with(Floor(40, "accuracy", 0.5), accuracies=[0.1, 0.2, 0.9])
    writer = Writer(course)
    story = run(course, writer)
    assert writer.kept == [(2, False), (4, True)]
    assert Loop(course, clock=lambda: course.now).run(story) == story  # type: ignore[arg-type]


def test_a_trial_tells_that_it_was_cut_and_a_resumed_one_trains_no_more(tmp_path: Path):
    recipe = Recipe(learning_rate=0.1, epochs=4, evaluation_examples=48)
    spec = spec_of("plain", recipe, floors=(Floor(100, "accuracy", 1.1),), checkpoints=str(tmp_path))
    measurement, again = learnt(spec), learnt(spec)
    assert measurement.learning is not None
    assert again.learning is not None
    assert measurement.learning.pruned
    assert (measurement.learning.steps, measurement.learning.planned_steps) == (9, 24)
    assert [each.examples for each in measurement.learning.evaluations] == [48, 96, 144]
    assert not measurement.learning.diverged
    assert again.learning.pruned
    assert again.learning.evaluations == measurement.learning.evaluations
