"""A run that is asked to end, or that goes on for long between evaluations: its state is kept where it is."""

from typing import Any

import pytest

from traindyno.worker.learning.loop import KEEP_SECONDS, Loop
from traindyno.worker.learning.story import Story
from worker.learning.test_loop import Clockwork


class Keeper:
    """Remembers what was kept, between evaluations and at them."""

    def __init__(self) -> None:
        self.between: list[tuple[int, Story]] = []
        self.at_evaluations: list[tuple[int, bool]] = []

    def keep(self, course: Any, story: Story, over: bool) -> None:
        self.at_evaluations.append((course.step_count, over))

    def keep_state(self, course: Any, story: Story) -> None:
        self.between.append((course.step_count, story))


class Slow(Clockwork):
    """Compiles for half a minute in the first step of each process."""

    first = True

    def step(self) -> Any:
        self.now += 30.0 if self.first else 0.0
        self.first = False
        return super().step()


def loop_of(course: Any, keeper: Any, ends_after: float = float("inf")) -> Loop:
    return Loop(course, keeper, clock=lambda: course.now, asked_to_end=lambda: course.step_count >= ends_after)


def test_a_run_asked_to_end_keeps_its_state_and_tells_how_far_it_was():
    course, keeper = Clockwork(planned_steps=40), Keeper()
    story = loop_of(course, keeper, ends_after=6).run(Story())
    assert [each.step for each in story.evaluations] == [4, 6]
    assert story.evaluations[-1].training_loss == pytest.approx(5.5)
    ((step, kept),) = keeper.between
    assert step == 6
    assert [each.step for each in kept.evaluations] == [4]
    assert (kept.steps, kept.seconds) == (6, 6.0)


def test_a_run_that_goes_on_has_the_evaluations_of_one_that_was_never_stopped():
    whole = loop_of(Clockwork(planned_steps=20), Keeper()).run(Story())
    course, keeper = Clockwork(planned_steps=20), Keeper()
    loop_of(course, keeper, ends_after=6).run(Story())
    course.accuracies.insert(0, 0.1)
    ((_, kept),) = keeper.between
    resumed = loop_of(course, keeper).run(kept)
    assert resumed.evaluations == whole.evaluations
    assert resumed.blocks == whole.blocks


def test_a_run_that_goes_on_remembers_whether_its_first_loss_was_a_number():
    course, keeper = Clockwork(planned_steps=20), Keeper()
    loop_of(course, keeper, ends_after=6).run(Story())
    ((_, kept),) = keeper.between
    lost = loop_of(Clockwork(planned_steps=20, nonfinite_from=1), keeper).run(Story())
    course.nonfinite_from = 7
    resumed = loop_of(course, keeper).run(kept)
    assert (lost.began_finite, kept.began_finite, resumed.began_finite) == (False, True, True)
    assert resumed.diverged


@pytest.mark.parametrize("ends_after", [1, 3, 6])
def test_a_run_that_goes_on_in_another_process_does_not_pay_for_a_first_step_twice(ends_after):
    course, keeper = Slow(planned_steps=20), Keeper()
    loop_of(course, keeper, ends_after).run(Story())
    ((_, kept),) = keeper.between
    course.step_count, course.first = kept.steps, True
    resumed = loop_of(course, keeper).run(kept)
    assert kept.first_step_seconds == resumed.first_step_seconds == 31.0
    paid_before = 31.0 if kept.steps == 1 else 1.0
    assert resumed.seconds == pytest.approx(kept.seconds + paid_before + 20 - kept.steps - 1)


def test_a_request_that_comes_with_an_evaluation_ends_the_run_there():
    course, keeper = Clockwork(planned_steps=40), Keeper()
    story = loop_of(course, keeper, ends_after=4).run(Story())
    assert [each.step for each in story.evaluations] == [4]
    assert keeper.at_evaluations == [(4, True)]
    assert keeper.between == []


def test_between_evaluations_that_are_far_apart_the_state_is_kept_now_and_then():
    course, keeper = Clockwork(planned_steps=200, evaluation_examples=2000), Keeper()
    story = loop_of(course, keeper).run(Story())
    assert [step for step, _ in keeper.between] == [int(KEEP_SECONDS * n) for n in (1, 2, 3)]
    assert [each.step for each in story.evaluations] == [200]
    assert story.evaluations[0].training_loss == pytest.approx(100.5)
    assert story.evaluations[0].seconds == pytest.approx(200)


def test_losing_all_numbers_is_told_and_not_kept_as_a_state_to_go_on_from():
    course, keeper = Clockwork(planned_steps=200, nonfinite_from=3, evaluation_examples=2000), Keeper()
    story = loop_of(course, keeper).run(Story())
    assert story.diverged
    assert keeper.between == []
