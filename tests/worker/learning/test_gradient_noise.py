"""Readings of gradients: right, and without a trace in the training that they interrupt."""

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from traindyno.analysis.gradient_moments import Moments, gradient_squared, noise_trace
from traindyno.core.errors import UsageError
from traindyno.core.learning import Noise, NoisePlan, Recipe
from traindyno.core.records import Measurement, Settings, TrialSpec
from traindyno.worker.devices import open_device
from traindyno.worker.kinds import noise as noise_kind
from traindyno.worker.kinds.noise import measure_noise, reading_steps
from traindyno.worker.learning.course import Course, open_course
from traindyno.worker.learning.gradient_noise import GradientReader
from traindyno.worker.steps import NonfiniteLossError
from worker.learning.small_learners import TRAINING, SilentChannel, spec_of

STEPS = 24


def noise_spec(function: str = "plain", plan: NoisePlan | None = None, **changes: Any) -> TrialSpec:
    recipe = Recipe(learning_rate=0.05, steps=STEPS, schedule="constant", **changes.pop("recipe", {}))
    plan = plan or NoisePlan(micro_batch=4, micro_batches=8, readings=6)
    return spec_of(function, recipe, noise_plan=plan, **changes)


def read(spec: TrialSpec) -> Measurement:
    return measure_noise(spec, open_device("cpu"), SilentChannel())


def noise_of(spec: TrialSpec) -> Noise:
    noise = read(spec).noise
    assert noise is not None
    return noise


@contextlib.contextmanager
def course_of(spec: TrialSpec, steps: int = 0) -> Iterator[Course]:
    with open_course(spec, open_device("cpu"), SilentChannel()) as course:
        course.train_mode()
        for _ in range(steps):
            course.step()
        yield course


def states(course: Course) -> dict[str, Any]:
    """Weights, running statistics, the optimiser's state and all random numbers to come."""
    moments = [each for state in course.optimizer.state.values() for each in state.values()]
    return {
        **{name: value.clone() for name, value in course.model.state_dict().items()},
        **{f"state {number}": torch.as_tensor(value).clone() for number, value in enumerate(moments)},
        "random": torch.get_rng_state(),
    }


def per_example_gradients(course: Course) -> Tensor:
    ((inputs, classes),) = course.data.micro_batches(TRAINING, 1, 0)
    batches = zip(inputs.split(1), classes.split(1), strict=True)
    parameters = list(course.model.parameters())
    rows = [torch.autograd.grad(course.job.loss(course.model, batch), parameters) for batch in batches]
    return torch.stack([torch.cat([part.flatten() for part in row]) for row in rows]).double()


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_run_that_is_read_ends_with_the_same_bits_as_one_that_is_not(
    optimizer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = noise_spec("with_state", workload={"optimizer": optimizer})
    with course_of(spec, STEPS) as course:
        expected = states(course)
    found: list[dict[str, Any]] = []

    @contextlib.contextmanager
    def watched(*arguments: Any) -> Iterator[Course]:
        with open_course(*arguments) as course:
            yield course
            found.append(states(course))

    monkeypatch.setattr(noise_kind, "open_course", watched)
    noise = noise_of(spec)
    assert len(noise.readings) == 6
    assert found[0].keys() == expected.keys()
    for name, value in expected.items():
        assert torch.equal(found[0][name], value), name


def test_gradients_that_wait_for_the_optimiser_are_left_alone() -> None:
    with course_of(noise_spec(), 3) as course:
        before = [parameter.grad.clone() for parameter in course.model.parameters() if parameter.grad is not None]
        reader = GradientReader(course.job, course.optimizer, course.settings, course.device)
        reader.read(course.data.micro_batches(4, 8, 0), 4, TRAINING)
        after = [parameter.grad for parameter in course.model.parameters()]
    assert all(now is not None and torch.equal(then, now) for then, now in zip(before, after, strict=True))


def readings_of(course: Course, count: int) -> list[Moments]:
    reader = GradientReader(course.job, course.optimizer, course.settings, course.device)
    return [reader.read(course.data.micro_batches(4, 8, draw), 4, TRAINING)[0] for draw in range(count)]


def is_mean_of(found: list[float], truth: float) -> bool:
    mean = math.fsum(found) / len(found)
    error = math.sqrt(math.fsum((each - mean) ** 2 for each in found)) / len(found)
    return abs(mean - truth) < 4 * error < abs(truth)


def test_over_many_draws_both_estimates_come_to_the_exact_values() -> None:
    with course_of(noise_spec(), 2) as course:
        exact, moments = per_example_gradients(course), readings_of(course, 150)
    assert is_mean_of([gradient_squared(each) for each in moments], float(exact.mean(0).square().sum()))
    assert is_mean_of([noise_trace(each) for each in moments], float(exact.var(0, correction=0).sum()))


def test_adam_is_read_after_the_preconditioner_of_its_next_step() -> None:
    steps = 40
    with course_of(noise_spec(workload={"optimizer": "adam"}), steps) as course:
        examples = per_example_gradients(course)
        exact, of_micro_batches = examples.mean(0), examples.var(0, correction=0) / 4
        squares = torch.cat([state["exp_avg_sq"].flatten() for state in course.optimizer.state.values()]).double()
        moments = readings_of(course, 150)
    next_squares = 0.999 * squares + 0.001 * (exact.square() + of_micro_batches)
    divisor = (next_squares / (1 - 0.999 ** (steps + 1))).sqrt() + 1e-8
    found = [gradient_squared(each) for each in moments]
    assert is_mean_of(found, float((exact.square() / divisor).sum()))
    assert not is_mean_of(found, float(exact.square().sum()))


def test_weights_that_had_no_gradient_before_do_not_outweigh_all_others_in_adam() -> None:
    with course_of(noise_spec(workload={"optimizer": "adam"}), 10) as course:
        usual = readings_of(course, 1)[0].distances_squared
        for state in course.optimizer.state.values():
            state["exp_avg_sq"].zero_()
        assert usual < readings_of(course, 1)[0].distances_squared < 100 * usual


def test_adam_is_not_read_before_it_has_a_state() -> None:
    every_step = NoisePlan(micro_batch=4, micro_batches=4, readings=1000)
    assert noise_of(noise_spec(plan=every_step)).readings[0].step == 0
    noise = noise_of(noise_spec(plan=every_step, workload={"optimizer": "adamw"}))
    assert [reading.step for reading in noise.readings] == list(range(1, STEPS))
    assert noise.preconditioned


def test_clipping_and_weight_decay_are_no_part_of_the_gradient() -> None:
    plan = NoisePlan(micro_batch=4, micro_batches=8, readings=STEPS)
    plain = noise_of(noise_spec(plan=plan)).readings[0]
    assert noise_of(noise_spec(plan=plan, recipe={"clip_norm": 1e-3, "weight_decay": 0.5})).readings[0] == plain


def test_label_smoothing_is_part_of_the_gradient() -> None:
    plan = NoisePlan(micro_batch=4, micro_batches=8, readings=STEPS)
    plain = noise_of(noise_spec(plan=plan)).readings[0]
    assert noise_of(noise_spec(plan=plan, recipe={"label_smoothing": 0.3})).readings[0] != plain


def test_reduced_precision_is_read_in_that_precision() -> None:
    exact = noise_of(noise_spec()).readings[0]
    rough = noise_of(noise_spec(settings=Settings(batch_size=16, precision="bf16"))).readings[0]
    assert rough.noise_trace != exact.noise_trace
    assert rough.noise_trace == pytest.approx(exact.noise_trace, rel=0.2)


def test_every_reading_draws_other_examples_and_every_seed_others_still() -> None:
    frozen = {"recipe": {"weight_decay": 0.0}}
    first, second = (noise_of(noise_spec(seed=seed, **frozen)) for seed in (0, 1))
    losses = [reading.loss for noise in (first, second) for reading in noise.readings]
    assert len(set(losses)) == len(losses)
    assert noise_of(noise_spec(seed=1, **frozen)).readings == second.readings


def test_with_batch_normalisation_micro_batches_are_larger_unless_asked_otherwise() -> None:
    plan = NoisePlan(micro_batches=4, readings=3)
    assert noise_of(noise_spec("plain", plan)).micro_batch == 8
    normalised = noise_of(noise_spec("with_state", plan))
    assert (normalised.micro_batch, normalised.norm_examples) == (16, 16)
    emulated = noise_of(noise_spec("with_state", plan, recipe={"emulated_devices": 2}))
    assert (emulated.micro_batch, emulated.norm_examples) == (32, 16)


def test_few_examples_for_batch_normalisation_are_remarked_on() -> None:
    notes = read(noise_spec("with_state")).notes
    assert any("batch normalisation saw 4 examples at once" in note and "--micro-batch" in note for note in notes)
    assert not any("batch normalisation" in note for note in read(noise_spec("plain")).notes)


def test_more_micro_batches_than_data_are_as_many_as_it_has() -> None:
    noise = noise_of(noise_spec(plan=NoisePlan(micro_batch=10, micro_batches=50, readings=2)))
    assert noise.micro_batches == TRAINING // 10
    with pytest.raises(UsageError, match="too few for two micro-batches of 60"):
        read(noise_spec(plan=NoisePlan(micro_batch=60)))


def test_a_run_that_loses_its_numbers_tells_what_it_had_read() -> None:
    spec = spec_of("plain", Recipe(learning_rate=1e30, steps=8), noise_plan=NoisePlan(micro_batch=4, readings=8))
    measurement = read(spec)
    assert measurement.noise is not None
    assert 1 <= len(measurement.noise.readings) < 8
    assert any("lost its numbers" in note for note in measurement.notes)
    later = NoisePlan(micro_batch=4, readings=1)
    with pytest.raises(NonfiniteLossError, match="the loss was no number any more"):
        read(spec_of("plain", Recipe(learning_rate=1e30, steps=8), noise_plan=later))


@pytest.mark.parametrize("readings", [1, 8])
def test_a_loss_that_never_was_a_number_is_told_apart_from_one_that_was_lost(readings: int) -> None:
    """One reading comes after the first step, the first of eight before it."""
    with pytest.raises(NonfiniteLossError, match="the loss was no number from the first step on"):
        read(noise_spec("without_numbers", plan=NoisePlan(micro_batch=4, readings=readings)))


def test_a_run_too_short_for_a_reading_does_not_blame_the_loss() -> None:
    spec = spec_of(
        "plain",
        Recipe(learning_rate=0.01, steps=1),
        noise_plan=NoisePlan(micro_batch=4),
        workload={"optimizer": "adam"},
    )
    with pytest.raises(UsageError, match="from its second step on"):
        read(spec)


def test_gradients_that_overflow_all_do_not_blame_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise_kind, "noise_trace", lambda moments: math.inf)
    with pytest.raises(NonfiniteLossError, match="all were too large for fp32"):
        read(noise_spec())


def test_the_time_of_readings_is_not_that_of_steps() -> None:
    measurement = read(noise_spec())
    assert sum(block.steps for block in measurement.blocks) == STEPS
    assert measurement.warm_up_steps == 1
    assert measurement.noise is not None
    assert measurement.noise.steps == STEPS


def test_readings_lie_in_the_middles_of_equal_parts() -> None:
    assert reading_steps(100, 4) == [12, 37, 62, 87]
    assert reading_steps(3, 50) == [0, 1, 2]
