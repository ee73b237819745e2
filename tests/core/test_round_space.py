"""The space of a round: places and values, arms and branches, what exists where, and configurations by field."""

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from traindyno.core.round_space import (
    arms_of,
    branches_of,
    configuration_of,
    contains,
    dimensions_of,
    gate_runs,
    has_incumbent,
    incumbent_of,
    planned_trials,
    target_value,
    unit_of,
    value_at,
    values_of,
)
from traindyno.core.rounds import ALONE, Goal, Parameter, Range, Round, RoundBudget, RoundJob, Seeds

UNITS = some.floats(0.0, 1.0, exclude_max=True)


def nuisance(name: str, low: float, high: float, scale: str = "linear", **others: Any) -> Parameter:
    whole = others.pop("integer", False)
    return Parameter(name=name, role="nuisance", range=Range(low=low, high=high, scale=scale, integer=whole), **others)


def choice(name: str, *values: Any, role: str = "nuisance", **others: Any) -> Parameter:
    return Parameter(name=name, role=role, values=values, **others)


def fixed(name: str, value: Any, **others: Any) -> Parameter:
    return Parameter(name=name, role="fixed", value=value, caveat="only so", **others)


def a_round(*parameters: Parameter, **changes: Any) -> Round:
    job = RoundJob(model="mlp:64", data="digits:", values={"batch_size": 64})
    plain: dict[str, Any] = {"name": "r", "goal": Goal(kind="helps"), "job": job, "budget": RoundBudget(trials=4)}
    return Round(parameters=parameters, **{**plain, **changes})


RATE = nuisance("learning_rate", 0.001, 1.0, "log")
OPTIMIZER = choice("optimizer", "sgd", "adam")
MOMENTUM = nuisance("sgd_momentum", 0.0, 0.95, sets="momentum", under=("optimizer", "sgd"))


@some.composite
def parameters(draw: some.DrawFn) -> Parameter:
    kind = draw(some.sampled_from(["linear", "log", "whole", "whole log", "choice"]))
    if kind == "choice":
        return choice("x", *draw(some.lists(some.text(max_size=3) | some.booleans(), min_size=1, unique=True)))
    if kind.startswith("whole"):
        low = draw(some.integers(1, 1000))
        scale = "log" if "log" in kind else "linear"
        return nuisance("x", low, low + draw(some.integers(0, 1000)), scale, integer=True)
    low = draw(some.floats(1e-6, 1e3))
    return nuisance("x", low, low * draw(some.floats(1.001, 1e6)), kind)


@given(parameters(), UNITS)
@settings(deadline=None)
def test_a_value_lies_in_its_range_and_near_the_place_it_was_drawn_at(parameter: Parameter, unit: float) -> None:
    value = value_at(parameter, unit)
    again = unit_of(parameter, value)
    if parameter.range is None:
        assert value in parameter.values
        assert again == pytest.approx(unit, abs=0.51 / len(parameter.values))
    elif parameter.range.integer:
        assert isinstance(value, int)
        assert parameter.range.low <= value <= parameter.range.high
        assert value_at(parameter, again) == value
    else:
        assert parameter.range.low <= float(value) <= parameter.range.high
        assert again == pytest.approx(unit, abs=2e-4)


@given(parameters(), UNITS, UNITS)
@settings(deadline=None)
def test_values_keep_the_order_of_their_places(parameter: Parameter, first: float, second: float) -> None:
    if parameter.range is not None:
        low, high = sorted((first, second))
        assert value_at(parameter, low) <= value_at(parameter, high)


def test_whole_numbers_and_choices_have_equal_shares() -> None:
    places = [(place + 0.5) / 1000 for place in range(1000)]
    layers = [value_at(nuisance("layers", 1, 5, integer=True), place) for place in places]
    assert [layers.count(number) for number in range(1, 6)] == [200] * 5
    names = [value_at(choice("activation", "relu", "gelu", "tanh", "silu"), place) for place in places]
    assert [names.count(name) for name in ("relu", "gelu", "tanh", "silu")] == [250] * 4


def test_a_log_range_gives_every_factor_of_ten_the_same_share() -> None:
    assert value_at(RATE, 1 / 3) == pytest.approx(0.01)
    assert value_at(RATE, 2 / 3) == pytest.approx(0.1)
    assert unit_of(RATE, 0.1) == pytest.approx(2 / 3)


def test_drawn_numbers_are_short_enough_to_be_typed_again() -> None:
    assert all(len(str(value_at(RATE, place / 97))) <= 9 for place in range(97))


def test_arms_are_the_targets_values_as_text_and_can_be_read_back() -> None:
    for values, labels in (((True, False), ("true", "false")), ((0.0, 0.1), ("0.0", "0.1")), (("a", "b"), ("a", "b"))):
        round = a_round(choice("x", *values, role="target"))
        assert arms_of(round) == labels
        assert tuple(target_value(round, arm) for arm in labels) == values
    assert arms_of(a_round(RATE)) == (ALONE,)
    assert target_value(a_round(RATE), ALONE) is None


def test_a_choice_on_which_others_depend_makes_branches_and_another_choice_does_not() -> None:
    round = a_round(RATE, OPTIMIZER, MOMENTUM, choice("schedule", "constant", "cosine"))
    assert branches_of(round, ALONE) == {"optimizer=sgd": {"optimizer": "sgd"}, "optimizer=adam": {"optimizer": "adam"}}
    with_sgd = [each.name for each in dimensions_of(round, ALONE, "optimizer=sgd")]
    with_adam = [each.name for each in dimensions_of(round, ALONE, "optimizer=adam")]
    assert with_sgd == ["learning_rate", "sgd_momentum", "schedule"]
    assert with_adam == ["learning_rate", "schedule"]


def test_a_child_of_the_target_exists_in_its_arm_alone() -> None:
    dropout = choice("use_dropout", True, False, role="target")
    round = a_round(dropout, RATE, nuisance("dropout", 0.0, 0.5, under=("use_dropout", True)))
    assert [each.name for each in dimensions_of(round, "true", ALONE)] == ["learning_rate", "dropout"]
    assert [each.name for each in dimensions_of(round, "false", ALONE)] == ["learning_rate"]
    assert branches_of(round, "true") == {ALONE: {}}


def test_conditions_within_conditions_need_all_of_them() -> None:
    nesterov = choice("nesterov", True, False, under=("optimizer", "sgd"))
    deep = nuisance("dampening", 0.0, 0.5, under=("nesterov", False))
    round = a_round(deep, nesterov, OPTIMIZER)
    assert set(branches_of(round, ALONE)) == {
        "optimizer=sgd,nesterov=true", "optimizer=sgd,nesterov=false", "optimizer=adam",
    }  # fmt: skip
    assert [each.name for each in dimensions_of(round, ALONE, "optimizer=sgd,nesterov=false")] == ["dampening"]
    assert dimensions_of(round, ALONE, "optimizer=sgd,nesterov=true") == ()
    assert dimensions_of(round, ALONE, "optimizer=adam") == ()


def test_a_parent_may_be_fixed_or_a_part_of_the_job() -> None:
    assert dimensions_of(a_round(MOMENTUM), ALONE, ALONE) == (MOMENTUM,), "the recipe's optimiser is sgd by default"
    adam = RoundJob(model="mlp:64", values={"optimizer": "adam"})
    assert dimensions_of(a_round(MOMENTUM, job=adam), ALONE, ALONE) == ()
    assert dimensions_of(a_round(MOMENTUM, fixed("optimizer", "adam")), ALONE, ALONE) == ()
    assert dimensions_of(a_round(MOMENTUM, fixed("optimizer", "sgd")), ALONE, ALONE) == (MOMENTUM,)


def test_a_configuration_has_the_jobs_values_the_fixed_ones_and_the_drawn_ones_by_field() -> None:
    betas = fixed("beta", 0.99, sets="model.beta", under=("optimizer", "adam"))
    round = a_round(RATE, OPTIMIZER, MOMENTUM, betas, fixed("weight_decay", 0.0))
    with_sgd = configuration_of(round, {"optimizer": "sgd", "learning_rate": 0.2, "sgd_momentum": 0.5})
    assert with_sgd == {
        "model": "mlp:64", "data": "digits:", "batch_size": 64, "weight_decay": 0.0,
        "optimizer": "sgd", "learning_rate": 0.2, "momentum": 0.5,
    }  # fmt: skip
    assert configuration_of(round, {"optimizer": "adam", "learning_rate": 0.2})["model.beta"] == 0.99


def test_a_job_of_the_users_own_has_its_arguments_alone() -> None:
    job = RoundJob(function="train.py:run", values={"epochs": 3})
    assert configuration_of(a_round(RATE, job=job), {"learning_rate": 0.2}) == {"epochs": 3, "learning_rate": 0.2}


def test_the_incumbent_is_filled_from_the_job_and_the_recipes_defaults() -> None:
    round = a_round(RATE, OPTIMIZER, MOMENTUM, nuisance("weight_decay", 0.0, 0.1), incumbent={"learning_rate": 0.3})
    assert incumbent_of(round) == {
        "model": "mlp:64", "data": "digits:", "batch_size": 64,
        "optimizer": "sgd", "learning_rate": 0.3, "momentum": 0.9, "weight_decay": 0.0,
    }  # fmt: skip
    assert values_of(round, incumbent_of(round)) == {
        "learning_rate": 0.3, "optimizer": "sgd", "sgd_momentum": 0.9, "weight_decay": 0.0,
    }  # fmt: skip
    other = msgspec.structs.replace(round, incumbent={"learning_rate": 0.3, "optimizer": "adam"})
    assert "momentum" not in incumbent_of(other)


def test_a_recipe_that_nobody_told_a_rate_has_no_incumbent_and_no_gate() -> None:
    untold = a_round(RATE, seeds=Seeds(gate=3))
    assert not has_incumbent(untold)
    assert gate_runs(untold) == 0
    told = a_round(RATE, seeds=Seeds(gate=3), incumbent={"learning_rate": 0.1})
    assert gate_runs(told) == 3
    assert gate_runs(msgspec.structs.replace(told, goal=Goal(kind="initial"))) == 0
    assert has_incumbent(a_round(RATE, job=RoundJob(function="train.py:run")))


def test_planned_runs_are_those_of_the_gate_and_of_every_arm() -> None:
    target = choice("model", "mlp:8", "mlp:16", role="target")
    round = a_round(target, RATE, incumbent={"learning_rate": 0.1}, then="gp", then_trials=3)
    assert planned_trials(round) == 3 + 2 * (4 + 3)
    assert planned_trials(msgspec.structs.replace(round, budget=RoundBudget(hours=1.0))) is None


@some.composite
def spaces(draw: some.DrawFn) -> Round:
    """A target, a choice, and numbers that may depend on either."""
    target = choice(
        "target", *draw(some.lists(some.integers(0, 9), min_size=1, max_size=3, unique=True)), role="target"
    )
    kind = choice("kind", *draw(some.lists(some.sampled_from("abcd"), min_size=1, max_size=3, unique=True)))
    parents = [("target", value) for value in target.values] + [("kind", value) for value in kind.values]
    children = [
        nuisance(f"p{number}", 0.1, 10.0, draw(some.sampled_from(["linear", "log"])),
                 under=draw(some.none() | some.sampled_from(parents)))
        for number in range(draw(some.integers(0, 5)))
    ]  # fmt: skip
    return a_round(*draw(some.permutations([target, kind, *children])))


@given(spaces(), UNITS)
@settings(deadline=None)
def test_what_is_drawn_in_a_branch_lies_in_it_and_in_no_other(round: Round, unit: float) -> None:
    target = round.target
    assert target is not None
    seen = set()
    for arm in arms_of(round):
        for branch, settled in branches_of(round, arm).items():
            value = target_value(round, arm)
            assert value is not None
            drawn = {each.name: value_at(each, unit) for each in dimensions_of(round, arm, branch)}
            values = {target.name: value, **settled, **drawn}
            assert contains(round, arm, branch, values)
            assert values_of(round, configuration_of(round, values)) == values
            homes = [
                (other, place) for other in arms_of(round) for place in branches_of(round, other)
                if contains(round, other, place, values)
            ]  # fmt: skip
            assert homes == [(arm, branch)]
            seen.add((arm, branch))
    assert len(seen) == sum(len(branches_of(round, arm)) for arm in arms_of(round))


def test_a_run_outside_a_range_or_without_a_value_is_not_in_the_space() -> None:
    round = a_round(RATE, nuisance("weight_decay", 0.0, 0.1))
    inside = {"learning_rate": 0.1, "weight_decay": 0.05}
    assert contains(round, ALONE, ALONE, inside)
    assert not contains(round, ALONE, ALONE, {**inside, "learning_rate": 2.0})
    assert not contains(round, ALONE, ALONE, {"learning_rate": 0.1})
    assert not contains(round, ALONE, "optimizer=sgd", inside)
    assert not contains(round, ALONE, ALONE, {**inside, "learning_rate": math.nan})


def test_a_run_from_before_a_parameter_was_fixed_counts_if_it_had_that_value() -> None:
    round = a_round(RATE, fixed("weight_decay", 0.0))
    assert contains(round, ALONE, ALONE, {"learning_rate": 0.1, "weight_decay": 0.0})
    assert not contains(round, ALONE, ALONE, {"learning_rate": 0.1, "weight_decay": 0.01})
