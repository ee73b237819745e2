"""Simulated runs of tuning rounds: what is tuned matters, in a way that a search can find."""

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.core.codec import decode, encode
from traindyno.core.learning import Learning, Recipe
from traindyno.core.records import Measurement, Settings, TrialSpec, WorkloadSpec
from traindyno.core.rounds import Floor, JobResult, Value
from traindyno.runner.profile import Profile, parse_profile
from traindyno.runner.protocol import Watcher
from traindyno.runner.simulated import SimulatedRunner
from traindyno.runner.simulated_gains import gain_of

BEST_RATE = 0.25 / 3
"""Of the usual profile at a batch of 64, by the gain rule."""


def learning(
    model: str = "mlp:64",
    optimizer: str = "sgd",
    profile: str = "seed_spread=0",
    floors: tuple[Floor, ...] = (),
    arguments: dict[str, Value] | None = None,
    seed: int = 0,
    **recipe: Any,
) -> Learning:
    spec = TrialSpec(
        kind="learn",
        workload=WorkloadSpec(model=model, optimizer=optimizer, arguments=arguments or {}),  # type: ignore[arg-type]
        settings=Settings(batch_size=64),
        recipe=Recipe(**{"learning_rate": BEST_RATE, **recipe}),
        floors=floors,
        seed=seed,
    )
    told = measured(spec, profile).learning
    assert told is not None
    return told


def measured(spec: TrialSpec, profile: str = "") -> Measurement:
    record = SimulatedRunner(parse_profile(profile)).run(spec, Watcher(), None)
    assert record.measurement is not None
    return record.measurement


def accuracy(**changes: Any) -> float:
    last = learning(**changes).evaluations[-1].accuracy
    assert last is not None
    return last


def gain(optimizer: str = "sgd", **recipe: float) -> float:
    workload = WorkloadSpec(model="mlp:64", optimizer=optimizer)  # type: ignore[arg-type]
    return gain_of(Profile(), workload, Recipe(learning_rate=0.1, **recipe))  # type: ignore[arg-type]


def job_spec(arguments: dict[str, Value], seed: int = 0) -> TrialSpec:
    workload = WorkloadSpec(model="train.py:run", arguments=arguments)
    return TrialSpec(kind="job", workload=workload, settings=Settings(batch_size=1), seed=seed)


def job(arguments: dict[str, Value], seed: int = 0, profile: str = "seed_spread=0") -> JobResult:
    told = measured(job_spec(arguments, seed), profile).job
    assert told is not None
    return told


def test_a_second_layer_helps_and_a_third_hardly_more() -> None:
    one, two, three = (accuracy(model=f"mlp:{widths}") for widths in ("64", "64x64", "64x64x64"))
    assert two - one == pytest.approx(0.01, abs=0.004)
    assert three - one == pytest.approx(0.012, abs=0.004)
    losses = [learning(model=model).evaluations[-1].loss for model in ("mlp:64", "mlp:64x64")]
    assert losses[1] < losses[0] - 0.02


def test_a_profile_may_say_that_depth_does_not_help() -> None:
    one, two = (accuracy(model=model, profile="seed_spread=0,depth_gain=0") for model in ("mlp:64", "mlp:64x64"))
    assert two == pytest.approx(one, abs=0.004)


@pytest.mark.parametrize(("optimizer", "best"), [("sgd", 5e-4), ("adam", 5e-4), ("adamw", 1e-2)])
def test_weight_decay_gains_a_little_up_to_a_point_that_the_optimiser_decides(optimizer: str, best: float) -> None:
    gains = [gain(optimizer, weight_decay=best * share) for share in (0.0, 0.1, 0.5, 1.0, 2.0, 4.0, 200.0)]
    assert gains[0] == 0
    assert 0 < gains[1] < gains[2] < gains[3] > gains[4] > 0
    assert gains[3] < 0.01
    assert gains[5] == pytest.approx(0)
    assert gains[6] < -0.1
    assert accuracy(weight_decay=0.1) < accuracy() - 0.1


def test_label_smoothing_gains_a_little_and_then_harms() -> None:
    gains = [gain(label_smoothing=amount) for amount in (0.0, 0.05, 0.1, 0.15, 0.9)]
    assert 0 == gains[0] < gains[1] < gains[2] > gains[3] > gains[4]
    assert accuracy(label_smoothing=0.9) < accuracy() - 0.05


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.99])
def test_momentum_makes_a_rate_act_as_a_larger_one(momentum: float) -> None:
    usual = learning(epochs=0.5, profile="noise=0,seed_spread=0")
    same = learning(epochs=0.5, momentum=momentum, learning_rate=BEST_RATE * (1 - momentum) / 0.1)
    assert same.evaluations[-1].accuracy == pytest.approx(usual.evaluations[-1].accuracy, abs=0.006)


def test_much_momentum_with_a_rate_that_was_good_without_it_diverges() -> None:
    assert not learning(learning_rate=0.5, momentum=0.0).diverged
    assert learning(learning_rate=0.5, momentum=0.99).diverged
    assert learning(optimizer="adam", learning_rate=0.003, momentum=0.99).diverged is False


def test_a_run_below_a_floor_ends_there() -> None:
    whole = learning(learning_rate=BEST_RATE / 50)
    behind = learning(learning_rate=BEST_RATE / 50, floors=(Floor(100_000, "accuracy", 0.9),))
    assert behind.pruned
    assert not behind.diverged
    assert [each.examples for each in behind.evaluations] == [each.examples for each in whole.evaluations[:2]]
    assert behind.steps == behind.evaluations[-1].step < behind.planned_steps
    ahead = learning(floors=(Floor(100_000, "accuracy", 0.5),))
    assert not ahead.pruned
    assert ahead.steps == ahead.planned_steps


def test_arguments_of_ones_own_model_matter_and_without_any_nothing_changes() -> None:
    plain = accuracy(model="own.py:net")
    widths = [accuracy(model="own.py:net", arguments={"width": width}) for width in (8, 32, 128, 512)]
    assert max(widths) - min(widths) > 0.005
    assert max(widths) < plain + 0.004


def test_a_job_is_the_same_for_equal_trials_and_varies_with_the_seed() -> None:
    assert job({"rate": 0.1}, 1, "") == job({"rate": 0.1}, 1, "")
    values = [job({"rate": 0.1}, seed, "").value for seed in range(40)]
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / 39)
    assert spread == pytest.approx(0.004, rel=0.5)


def test_a_job_has_one_best_rate_in_four_powers_of_ten_and_gets_worse_away_from_it() -> None:
    values = [job({"rate": 10 ** (-3 + step / 10)}).value for step in range(41)]
    best = values.index(max(values))
    around = values[best:] + values[1:best]
    half = around.index(min(around))
    assert max(values) - min(values) > 0.25
    assert around[: half + 1] == sorted(around[: half + 1], reverse=True)


def test_choices_shift_what_a_job_comes_to_and_leave_the_best_rate_where_it_is() -> None:
    rates = [10 ** (-3 + step / 10) for step in range(41)]
    adam, sgd = ([job({"rate": rate, "optimizer": name}).value for rate in rates] for name in ("adam", "sgd"))
    assert abs(max(adam) - max(sgd)) > 0.001
    assert adam.index(max(adam)) == sgd.index(max(sgd))


def test_a_job_reports_on_its_way_up_and_is_one_step_in_all() -> None:
    measurement = measured(job_spec({"rate": 0.1}))
    told = measurement.job
    assert told is not None
    assert [each.step for each in told.points] == list(range(100, 1001, 100))
    assert [each.value for each in told.points] == sorted(each.value for each in told.points)
    assert told.value == told.points[-1].value
    assert (measurement.batch_size, measurement.steps) == (1, 1)
    assert measurement.step_seconds == told.seconds == told.points[-1].seconds
    assert msgspec.structs.asdict(decode(encode(measurement), Measurement)) == msgspec.structs.asdict(measurement)


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=8),
        st.one_of(st.booleans(), st.integers(-(10**9), 10**9), st.floats(-1e9, 1e9), st.text(max_size=5)),
        max_size=5,
    )
)
def test_whatever_a_job_is_called_with_it_comes_to_a_finite_metric(arguments: dict[str, Value]) -> None:
    assert -0.01 <= job(arguments).value <= 0.96
