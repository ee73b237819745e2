"""A round's file becomes a round with every role settled, and is the same when it is written and read again."""

import keyword
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.round_examples import DEPTH, OPTIMIZERS, OWN, changed
from traindyno.core.round_defaults import with_defaults
from traindyno.core.round_file import format_round, parse_round
from traindyno.core.round_rules import LENGTHS
from traindyno.core.rounds import (
    Goal,
    Parameter,
    Range,
    Round,
    RoundBudget,
    RoundJob,
    RoundMetric,
    Seeds,
)


def by_name(round_: Round) -> dict[str, Parameter]:
    return {each.name: each for each in round_.parameters}


def test_roles_are_as_the_file_says() -> None:
    round_ = parse_round(DEPTH, "depth.toml")
    parameters = by_name(round_)
    assert round_.target is parameters["model"]
    assert parameters["learning_rate"].range == Range(low=0.003, high=1.0, scale="log")
    assert (parameters["weight_decay"].value, parameters["weight_decay"].caveat) == (0.0, "nobody decays weights here")
    assert round_.incumbent == {"model": "mlp:64", "learning_rate": 0.1}


def test_what_nobody_names_is_a_nuisance_by_a_rule_of_thumb() -> None:
    parameters = by_name(parse_round(DEPTH, "depth.toml"))
    unsaid = {name for name, each in parameters.items() if each.role == "nuisance" and not each.said}
    assert unsaid == {"momentum", "label_smoothing"}


def test_what_the_job_fixes_has_a_caveat() -> None:
    fixed = [each for each in parse_round(DEPTH, "depth.toml").parameters if each.role == "fixed" and not each.said]
    assert {each.field for each in fixed} == {"data", "optimizer", "schedule", "batch_size", "epochs"}
    assert all(each.caveat for each in fixed)


def test_what_the_job_names_is_not_searched() -> None:
    round_ = parse_round(changed(DEPTH, "epochs = 10", "epochs = 10\nmomentum = 0.8"), "depth.toml")
    assert by_name(round_)["momentum"].value == 0.8
    assert "momentum" not in {each.name for each in round_.searched}


def test_momentum_is_not_searched_where_the_optimiser_has_none() -> None:
    round_ = parse_round(changed(DEPTH, '"sgd"', '"adam"'), "depth.toml")
    assert "momentum" not in by_name(round_)


def test_a_fixed_parameter_without_a_caveat_gets_one() -> None:
    text = changed(DEPTH, 'caveat = "nobody decays weights here"', "")
    assert by_name(parse_round(text, "depth.toml"))["weight_decay"].caveat == "the answer holds without weight decay"


def test_each_optimiser_has_its_own_range_where_the_optimiser_is_asked_about() -> None:
    parameters = by_name(parse_round(OPTIMIZERS, "o.toml"))
    rates = parameters["sgd_learning_rate"], parameters["adam_learning_rate"]
    assert [(each.field, each.under) for each in rates] == [
        ("learning_rate", ("optimizer", "sgd")),
        ("learning_rate", ("optimizer", "adam")),
    ]
    assert rates[0].range is not None
    assert rates[1].range is not None
    assert rates[0].range.high > rates[1].range.high
    assert parameters["sgd_momentum"].under == ("optimizer", "sgd")
    assert "adam_momentum" not in parameters


def test_a_parameter_said_for_one_optimiser_leaves_the_other_to_the_rule() -> None:
    own = '[nuisance.mine]\nsets = "learning_rate"\nunder = { optimizer = "sgd" }\nlow = 0.01\nhigh = 0.1\n'
    names = {each.name for each in parse_round(OPTIMIZERS + own, "o.toml").searched if each.field == "learning_rate"}
    assert names == {"mine", "adam_learning_rate"}


def test_the_incumbent_has_the_usual_rate_of_its_optimiser_if_nobody_says_one() -> None:
    assert parse_round(OPTIMIZERS, "o.toml").incumbent == {"learning_rate": 0.05}
    adam = OPTIMIZERS + '[incumbent]\noptimizer = "adam"\n'
    assert parse_round(adam, "o.toml").incumbent["learning_rate"] == 0.002


def test_an_initial_round_searches_the_rate_alone_and_has_nothing_to_beat() -> None:
    text = changed(OPTIMIZERS, '[target.optimizer]\nvalues = ["sgd", "adam"]\n', "").replace('"effect"', '"initial"')
    round_ = parse_round(text, "first.toml")
    assert [each.name for each in round_.searched] == ["learning_rate"]
    assert by_name(round_)["weight_decay"].value == 0.0
    assert round_.incumbent == {}


def test_nothing_is_searched_unasked_in_a_job_of_the_users_own() -> None:
    round_ = parse_round(OWN, "own.toml")
    assert [each.name for each in round_.searched] == ["layers"]
    assert round_.metric == RoundMetric(name="score", higher_is_better=True)


def test_a_name_alone_takes_the_usual_range() -> None:
    text = changed(DEPTH, 'low = 0.003\nhigh = 1.0\nscale = "log"\n', "")
    assert by_name(parse_round(text, "depth.toml"))["learning_rate"].range == Range(low=1e-3, high=1.0, scale="log")


def test_a_rate_is_searched_on_a_log_scale_unless_another_is_said() -> None:
    text = changed(DEPTH, 'scale = "log"\n', "")
    assert by_name(parse_round(text, "depth.toml"))["learning_rate"].range == Range(low=0.003, high=1.0, scale="log")


def test_whole_numbers_are_known_by_the_field() -> None:
    text = DEPTH + "[nuisance.ghost_size]\nlow = 8\nhigh = 64\n"
    ghost = parse_round(changed(text, "epochs = 10", 'epochs = 10\nbatch_norm = "ghost"'), "g.toml")
    assert by_name(ghost)["ghost_size"].range == Range(low=8, high=64, scale="log", integer=True)


def test_the_name_comes_from_the_file_where_none_is_given() -> None:
    assert parse_round(changed(DEPTH, 'name = "depth"', ""), "rounds/wide.toml").name == "wide"


def test_loss_is_better_when_it_is_lower() -> None:
    assert parse_round(changed(DEPTH, '"accuracy"', '"loss"'), "d.toml").metric.higher_is_better is False


@pytest.mark.parametrize("text", [DEPTH, OPTIMIZERS, OWN])
def test_a_written_round_reads_back_the_same(text: str) -> None:
    round_ = parse_round(text, "it.toml")
    assert parse_round(format_round(round_), "again.toml") == round_


def test_the_text_shows_what_was_settled_unsaid() -> None:
    text = format_round(parse_round(DEPTH, "depth.toml"), {"": "From a friend.", "learning_rate": "It matters most."})
    assert text.startswith("# From a friend.\n")
    assert "# It matters most.\n[nuisance.learning_rate]" in text
    assert "#   momentum: 0 to 0.99" in text
    assert 'optimizer = "sgd"  # the answer holds with sgd' in text


def test_comments_cannot_break_out_of_their_line() -> None:
    round_ = parse_round(changed(DEPTH, '"digits:"', '"folder:a\\nname = 3"'), "depth.toml")
    text = format_round(round_, {"goal": "one\x00two\nname = 4"})
    assert parse_round(text, "again.toml") == round_


def test_what_a_rule_of_thumb_no_longer_explains_is_written() -> None:
    """As a next round has it that narrows what nobody named."""
    import msgspec

    round_ = parse_round(DEPTH, "depth.toml")
    narrow = Range(low=0.5, high=0.95)
    parameters = tuple(
        msgspec.structs.replace(each, range=narrow) if each.name == "momentum" else each for each in round_.parameters
    )
    text = format_round(msgspec.structs.replace(round_, parameters=parameters))
    assert by_name(parse_round(text, "next.toml"))["momentum"].range == narrow


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NAMES = TEXTS.filter(lambda text: text != "" and text not in LENGTHS and text not in ("function",))
ARGUMENTS = st.from_regex(r"zz_[a-z]{1,6}", fullmatch=True).filter(lambda text: not keyword.iskeyword(text))
NUMBERS = st.floats(min_value=-1e6, max_value=1e6)
VALUES = st.booleans() | st.integers(-1000, 1000) | NUMBERS | TEXTS
CHOICES = st.lists(VALUES, min_size=2, max_size=4, unique_by=lambda value: str(value).lower()).filter(
    lambda values: len({str(float(each)) if isinstance(each, (int, float)) else each for each in values}) == len(values)
)


@st.composite
def ranges(draw: Any) -> Range:
    low, high = sorted(draw(st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=2, unique=True)))
    if draw(st.booleans()):
        return Range(low=float(int(low)), high=float(int(high) + 1), integer=True)
    return Range(low=low, high=high, scale=draw(st.sampled_from(["linear", "log"])))


@st.composite
def own_rounds(draw: Any) -> Round:
    """Rounds over jobs of the user's own, whose arguments and values may be anything."""
    target, parent, child, other, fixed = draw(st.lists(ARGUMENTS, min_size=5, max_size=5, unique=True))
    values = draw(CHOICES)
    parameters = [
        Parameter(name=target, role="target", values=tuple(draw(CHOICES))),
        Parameter(name=parent, role="nuisance", values=tuple(values)),
        Parameter(name=child, role="nuisance", range=draw(ranges()), under=(parent, values[0])),
        Parameter(name=draw(NAMES.filter(lambda name: not name.startswith("zz_"))), sets=child, role="nuisance",
                  range=draw(ranges()), under=(parent, values[1])),
        Parameter(name=fixed, role="fixed", value=draw(VALUES), caveat=draw(NAMES.filter(str.strip))),
    ]  # fmt: skip
    job = RoundJob(function="train.py:run", values={other: draw(VALUES), fixed: parameters[-1].value})
    incumbent = {target: parameters[0].values[0], parent: values[0], other: draw(VALUES)}
    return with_defaults(
        Round(
            name=draw(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,57}", fullmatch=True)),
            goal=Goal(kind=draw(st.sampled_from(["helps", "effect"])), question=draw(st.none() | TEXTS)),
            job=job,
            parameters=tuple(parameters),
            budget=draw(st.sampled_from([RoundBudget(trials=3), RoundBudget(hours=0.25)])),
            metric=RoundMetric(
                name=draw(TEXTS), higher_is_better=draw(st.booleans()), at=draw(st.sampled_from(["end", "best"]))
            ),
            seeds=Seeds(gate=draw(st.integers(1, 5)), adopt=draw(st.integers(2, 20))),
            incumbent=incumbent,
            minimum_gain=draw(st.floats(0, 1)),
            **draw(st.sampled_from([{}, {"then": "gp", "then_trials": 4}])),
        )
    )


@given(own_rounds())
@settings(max_examples=60, deadline=None)
def test_whatever_a_job_of_the_users_own_takes_is_written_and_read_back(round_: Round) -> None:
    assert parse_round(format_round(round_), "it.toml") == round_


@st.composite
def recipe_rounds(draw: Any) -> Round:
    goal = draw(st.sampled_from(["helps", "maximise", "initial"]))
    choices = {
        "model": ("mlp:8", "mlp:16", "my.py:net"),
        "optimizer": ("sgd", "adamw"),
        "conv1_stride": (1, 2),
        "batch_norm": ("own", "ghost"),
        "weight_decay": (0.0, 0.1),
    }
    target = draw(st.sampled_from(list(choices))) if goal == "helps" else None
    parameters = [] if target is None else [Parameter(name=target, role="target", values=choices[target])]
    if draw(st.booleans()):
        span = Range(low=1e-3, high=draw(st.floats(0.01, 10)), scale="log")
        parameters.append(Parameter(name="rate", sets="learning_rate", role="nuisance", range=span))
    values: dict[str, Any] = {"batch_size": draw(st.integers(1, 512)), "conv1_stride": 1}
    values |= draw(st.sampled_from([{}, {"steps": 100}, {"epochs": 2.5, "precision": "bf16"}, {"learning_rate": 0.3}]))
    if target != "weight_decay" and draw(st.booleans()):
        value, caveat = draw(st.sampled_from([0.0, 0.01])), "as ever"
        parameters.append(Parameter(name="weight_decay", role="fixed", value=value, caveat=caveat))
        values["weight_decay"] = value
    return with_defaults(
        Round(
            name="it",
            goal=Goal(kind=goal),
            job=RoundJob(model=draw(st.sampled_from(["mlp:8", "my.py:net"])), data=draw(NAMES), values=values),
            parameters=tuple(parameters),
            budget=RoundBudget(trials=draw(st.integers(1, 100))),
        )
    )


@given(recipe_rounds().filter(lambda round_: round_.target is not None or round_.searched))
@settings(max_examples=100, deadline=None)
def test_rounds_over_the_recipe_are_written_and_read_back(round_: Round) -> None:
    assert parse_round(format_round(round_), "it.toml") == round_
