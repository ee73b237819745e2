"""Learning rates from the first step to the last."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.core.learning import Recipe
from traindyno.worker.learning.schedule import planned_steps, rate_of, warm_up_steps

PLANNED = st.integers(1, 400)
EPOCHS = st.floats(0, 5)
SCHEDULES = st.sampled_from(["cosine", "constant", "step"])


def rates(recipe: Recipe, planned: int, steps_per_epoch: float = 10.0) -> list[float]:
    return [rate_of(recipe, step, planned, steps_per_epoch) for step in range(planned)]


@given(schedule=SCHEDULES, planned=PLANNED, warm_up=EPOCHS)
def test_no_rate_is_above_the_recipes_and_the_first_after_the_warm_up_is_just_that(schedule, planned, warm_up):
    recipe = Recipe(learning_rate=0.3, schedule=schedule, warm_up_epochs=warm_up)
    found = rates(recipe, planned)
    assert max(found) == found[warm_up_steps(recipe, planned, 10.0)] or schedule == "step"
    assert all(0 < rate <= 0.3 for rate in found)


@given(planned=PLANNED, warm_up=EPOCHS)
def test_a_warm_up_rises_by_equal_parts(planned, warm_up):
    recipe = Recipe(learning_rate=1.0, schedule="constant", warm_up_epochs=warm_up)
    found = rates(recipe, planned)
    steps = warm_up_steps(recipe, planned, 10.0)
    assert found[: steps + 1] == pytest.approx([(number + 1) / (steps + 1) for number in range(steps + 1)])
    assert found[steps:] == [1.0] * (planned - steps)


@given(planned=PLANNED)
def test_cosine_falls_over_the_runs_own_length_whatever_that_is(planned):
    recipe = Recipe(learning_rate=2.0)
    found = rates(recipe, planned)
    assert found == sorted(found, reverse=True)
    assert found[0] == 2.0
    assert found[-1] == pytest.approx(1 - math.cos(math.pi / planned), abs=1e-9)
    assert sum(found) / planned == pytest.approx(1.0, abs=1.0 / planned + 1e-9)


def test_runs_of_different_lengths_do_not_share_a_horizon():
    recipe = Recipe(learning_rate=1.0)
    assert rate_of(recipe, 50, 100, 10.0) == pytest.approx(0.5)
    assert rate_of(recipe, 50, 1000, 10.0) > 0.99


def test_steps_come_at_shares_of_the_run():
    recipe = Recipe(learning_rate=1.0, schedule="step", step_at=(0.5, 0.75), step_factor=0.1)
    assert rates(recipe, 8) == pytest.approx([1, 1, 1, 1, 0.1, 0.1, 0.01, 0.01])


@given(epochs=st.floats(0.01, 50), examples=st.integers(1, 10_000), batch_size=st.integers(1, 1024))
def test_equal_epochs_are_equal_examples_to_half_a_batch(epochs, examples, batch_size):
    steps = planned_steps(Recipe(learning_rate=1.0, epochs=epochs), examples, batch_size)
    assert steps >= 1
    assert steps == 1 or abs(steps * batch_size - epochs * examples) <= batch_size / 2 + 1e-6


def test_steps_that_are_given_count_whatever_the_batch():
    assert planned_steps(Recipe(learning_rate=1.0, steps=7), 1000, 10) == 7
