"""Simulated runs that learn: they behave as batch sizes, rates and targets say they should."""

import math
from typing import Any

import msgspec
import pytest

from traindyno.core.events import TrialProgress
from traindyno.core.learning import Learning, NoisePlan, Recipe, Target
from traindyno.core.records import Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.runner.profile import parse_profile
from traindyno.runner.protocol import Watcher
from traindyno.runner.simulated import SimulatedRunner

NOISE_SCALE = 128.0


def spec(batch_size: int = 32, rate: float = 0.05, seed: int = 0, model: str = "m:", **recipe: Any) -> TrialSpec:
    workload = WorkloadSpec(model=model, data="digits:", optimizer=recipe.pop("optimizer", "sgd"))
    return TrialSpec(
        kind="learn",
        workload=workload,
        settings=Settings(batch_size=batch_size),
        seed=seed,
        recipe=Recipe(learning_rate=rate, **recipe),
    )


def run(trial: TrialSpec, profile: str = "", watcher: Watcher | None = None) -> TrialRecord:
    return SimulatedRunner(parse_profile(profile)).run(trial, watcher or Watcher(), None)


def learning(trial: TrialSpec, profile: str = "") -> Learning:
    measurement = run(trial, profile).measurement
    assert measurement is not None
    assert measurement.learning is not None
    return measurement.learning


def gain_rate(batch_size: int) -> float:
    """The best rate of the profile by the gain rule."""
    return 0.25 / (1 + NOISE_SCALE / batch_size)


def accuracy(trial: TrialSpec) -> float:
    last = learning(trial).evaluations[-1].accuracy
    assert last is not None
    return last


def test_equal_trials_learn_equally_and_another_seed_does_not() -> None:
    assert learning(spec()) == learning(spec())
    assert accuracy(spec()) != accuracy(spec(seed=1))


def test_accuracy_rises_and_the_loss_falls_along_the_run() -> None:
    told = learning(spec(256, gain_rate(256)), "seed_spread=0").evaluations
    assert told[0].accuracy is not None
    assert told[-1].accuracy is not None
    assert told[-1].accuracy > told[0].accuracy + 0.2
    assert told[-1].loss < told[0].loss


@pytest.mark.parametrize("batch_size", [8, 32, 256, 1024])
def test_steps_to_a_target_follow_the_noise_scale(batch_size: int) -> None:
    target = Target("accuracy", 0.9)
    whole = {"schedule": "constant", "epochs": 80, "evaluation_examples": 1000}
    constant = spec(batch_size, gain_rate(batch_size), model="mlp:64", target=target, **whole)
    reached = learning(constant, "seed_spread=0").reached
    assert reached is not None
    stretches = math.log((0.95 - 0.1) / (0.95 - 0.9))
    expected = 150 * (1 + NOISE_SCALE / batch_size) * stretches
    assert reached.step == pytest.approx(expected, rel=0.06)


def test_a_run_ends_once_two_evaluations_in_a_row_have_met_the_target() -> None:
    told = learning(spec(256, gain_rate(256), target=Target("accuracy", 0.7)))
    assert told.reached == told.evaluations[-2]
    assert told.steps < told.planned_steps
    assert told.steps == told.evaluations[-1].step


def test_without_a_target_in_reach_all_planned_steps_are_made() -> None:
    told = learning(spec(target=Target("accuracy", 0.999)))
    assert told.reached is None
    assert told.steps == told.planned_steps == round(10 * 50_000 / 32)


@pytest.mark.parametrize("batch_size", [16, 64, 512])
def test_the_rate_by_the_gain_rule_is_near_the_best_and_others_are_worse(batch_size: int) -> None:
    best = gain_rate(batch_size)
    near, low = (accuracy(spec(batch_size, rate, epochs=2)) for rate in (best, best / 10))
    assert near > low + 0.02


def test_a_rate_far_too_large_diverges_and_says_so() -> None:
    told = learning(spec(32, 10 * gain_rate(32)))
    assert told.diverged
    assert told.steps < 100
    assert math.isnan(told.evaluations[-1].loss)
    assert told.evaluations[-1].accuracy == pytest.approx(0.1, abs=0.01)


def test_evaluations_come_after_equal_examples_whatever_the_batch() -> None:
    for batch_size in (48, 128):
        told = learning(spec(batch_size, 0.05, epochs=1, evaluation_examples=10_000)).evaluations
        assert [each.step for each in told[:-1]] == [math.ceil(n * 10_000 / batch_size) for n in range(1, len(told))]
        assert [each.examples // 10_000 for each in told[:4]] == [1, 2, 3, 4]


def test_few_examples_to_normalise_over_cost_accuracy_unless_nothing_is_normalised() -> None:
    whole, shared = spec(32), spec(32, emulated_devices=4)
    assert learning(shared).norm_examples == 8
    assert accuracy(shared) < accuracy(whole) - 0.01
    assert learning(spec(32, model="mlp:64", emulated_devices=4)).norm_examples is None
    assert learning(spec(64, batch_norm="ghost", ghost_size=16)).norm_examples == 16


def test_blocks_and_seconds_of_a_record_are_those_of_its_run() -> None:
    record = run(spec())
    assert record.measurement is not None
    assert record.measurement.learning is not None
    told = record.measurement.learning
    assert sum(block.steps for block in record.measurement.blocks) == told.steps
    assert sum(block.seconds for block in record.measurement.blocks) == pytest.approx(told.seconds)
    assert record.seconds > told.seconds + told.evaluation_seconds


def test_progress_tells_of_steps_and_accuracy() -> None:
    heard: list[TrialProgress] = []

    class Listener(Watcher):
        def progress(self, progress: TrialProgress) -> None:
            heard.append(progress)

    run(spec(epochs=3), watcher=Listener())
    assert [each.steps for each in heard[1:]] == [1563, 3125, 4688]
    assert {each.planned_steps for each in heard[1:]} == {4688}
    assert all(each.accuracy is not None for each in heard[1:])


@pytest.mark.parametrize("scale", [20.0, 500.0])
def test_readings_of_noise_have_the_noise_scale_of_the_profile(scale: float) -> None:
    trial = TrialSpec(
        kind="noise",
        workload=WorkloadSpec(model="m:"),
        settings=Settings(batch_size=32),
        recipe=Recipe(learning_rate=0.01),
        noise_plan=NoisePlan(readings=200),
    )
    measurement = run(trial, f"noise_scale={scale}").measurement
    assert measurement is not None
    assert measurement.noise is not None
    readings = measurement.noise.readings
    found = sum(each.noise_trace for each in readings) / sum(each.gradient_squared for each in readings)
    assert len(readings) == 200
    assert found == pytest.approx(scale, rel=0.15)


def on(devices: int, trial: TrialSpec) -> TrialSpec:
    return msgspec.structs.replace(trial, settings=msgspec.structs.replace(trial.settings, devices=devices))


def test_devices_share_a_batch_and_pay_for_what_they_send() -> None:
    trial = spec(batch_size=256)
    one, two = learning(on(1, trial)), learning(on(2, trial))
    assert two.processes == 2
    assert (two.steps, two.examples) == (one.steps, one.examples)
    assert one.seconds / 2 < two.seconds < one.seconds
    assert learning(on(2, trial), "bandwidth=1e8").seconds > one.seconds


def test_each_device_normalises_over_its_own_share() -> None:
    assert learning(on(4, spec(batch_size=64))).norm_examples == 16
    assert learning(on(4, spec(batch_size=64, batch_norm="sync"))).norm_examples == 64
