"""Whose fault it is that a loss is no number."""

import math

import pytest

from traindyno.core.learning import NoisePlan, Recipe
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Settings
from traindyno.worker.classify import failure_of
from traindyno.worker.devices import open_device
from traindyno.worker.errors import BadBatchError
from traindyno.worker.kinds.noise import measure_noise
from traindyno.worker.learning.order import Order
from worker.learning.small_learners import TRAINING, SilentChannel, learnt, spec_of

SPOILT = 37


def test_a_training_example_that_is_no_number_is_an_error_of_the_data_with_the_step_it_came_in():
    order = Order(TRAINING, seed=0).epoch(0).tolist()
    step = order.index(SPOILT) // 16 + 1
    with pytest.raises(BadBatchError, match=f"the batch of step {step} holds values") as told:
        learnt(spec_of("with_gaps"))
    failure = failure_of(told.value, None, "training")
    assert failure.outcome is Outcome.DATA_ERROR
    assert failure.message.startswith("the batch of step")
    assert "mend such examples" in failure.remedy


def test_a_rate_far_too_high_on_good_data_has_diverged():
    learning = learnt(spec_of(recipe=Recipe(learning_rate=1e30, epochs=20, schedule="constant"))).learning
    assert learning.diverged
    assert learning.began_finite


def test_a_loss_that_never_is_a_number_is_told_apart_from_one_that_was_lost():
    learning = learnt(spec_of("without_numbers")).learning
    assert learning.diverged
    assert learning.began_finite is False


def test_an_evaluation_example_that_is_no_number_is_noted_and_training_goes_on():
    measurement = learnt(spec_of("with_gaps_in_evaluation"))
    learning = measurement.learning
    assert not learning.diverged
    assert learning.steps == learning.planned_steps
    assert math.isnan(learning.evaluations[-1].loss)
    assert math.isfinite(learning.evaluations[-1].training_loss)
    assert sum("evaluation examples" in note for note in measurement.notes) == 1


@pytest.mark.parametrize("settings", [Settings(batch_size=4), Settings(batch_size=16, accumulation_steps=4)])
def test_a_batch_or_a_part_of_one_without_any_target_is_an_error_of_the_data(settings):
    with pytest.raises(BadBatchError, match="has no target but -100"):
        learnt(spec_of("with_padding", settings=settings))


@pytest.mark.parametrize(("readings", "where"), [(30, "a micro-batch that was read before"), (1, "the batch of step")])
def test_where_gradients_are_read_it_is_an_error_of_the_data_too(readings, where):
    """The one comes in a reading first, the other in a step long before there is one."""
    plan = NoisePlan(micro_batch=4, micro_batches=2 if readings == 1 else 24, readings=readings)
    spec = spec_of("with_gaps", Recipe(learning_rate=0.05, steps=30), noise_plan=plan)
    with pytest.raises(BadBatchError, match=where):
        measure_noise(spec, open_device("cpu"), SilentChannel())
