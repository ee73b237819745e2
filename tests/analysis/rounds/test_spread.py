"""How far seeds move the score, against the search and its arms."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.rounds.conclude_cases import DEPTH, LOSS, RATE, a_round, a_run, scored
from traindyno.analysis.rounds.next_steps import RUN
from traindyno.analysis.rounds.spread import lead_of, seed_spread, spread_check
from traindyno.core.rounds import RoundTrial, Seeds

ROUND = a_round(DEPTH, RATE)


def gate(*scores: float) -> list[RoundTrial]:
    return [a_run(score, index=index, phase="gate") for index, score in enumerate(scores)]


def arms(first: float, second: float) -> list[RoundTrial]:
    """Two arms of eight runs whose best are these; the others are far below."""
    worse = [0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6]
    return [*scored([*worse, first], arm="mlp:64"), *scored([*worse, second], arm="mlp:64x64")]


def test_arms_that_differ_by_less_than_seeds_do_are_told() -> None:
    check = spread_check(ROUND, [*gate(0.80, 0.81, 0.82), *arms(0.900, 0.905)])
    assert check.state == "warning"
    assert "mlp:64x64 and mlp:64, differ by 0.5 points" in check.text
    assert "round adopt depth" in (check.next_step or "")


def test_arms_that_differ_by_more_than_seeds_do_pass() -> None:
    check = spread_check(ROUND, [*gate(0.80, 0.81, 0.82), *arms(0.80, 0.90)])
    assert (check.state, check.next_step) == ("passed", None)


def test_a_search_that_spreads_no_further_than_seeds_is_luck() -> None:
    alone = a_round(RATE)
    runs = scored([0.79, 0.80, 0.81, 0.82, 0.80, 0.81, 0.79, 0.82])
    check = spread_check(alone, [*gate(0.75, 0.80, 0.85), *runs])
    assert check.state == "warning"
    assert "luck" in check.text


def test_one_seed_says_nothing() -> None:
    check = spread_check(msgspec.structs.replace(ROUND, seeds=Seeds(gate=1)), [*gate(0.8), *arms(0.9, 0.8)])
    assert check.state == "unknown"
    assert "gate = 3" in (check.next_step or "")
    assert spread_check(ROUND, [*gate(0.8), *arms(0.9, 0.8)]).next_step == RUN


def test_few_seeds_are_said_to_be_few() -> None:
    assert "3 seeds" in spread_check(ROUND, [*gate(0.80, 0.81, 0.82), *arms(0.8, 0.9)]).text
    many = gate(0.80, 0.81, 0.82, 0.81, 0.80, 0.81)
    assert "alone" not in spread_check(ROUND, [*many, *arms(0.8, 0.9)]).text


def test_the_lead_is_of_the_better_arm_whichever_way_the_metric_goes() -> None:
    higher, lower = lead_of(ROUND, arms(0.7, 0.9)), lead_of(a_round(DEPTH, RATE, metric=LOSS), arms(0.05, 0.02))
    assert higher is not None
    assert lower is not None
    assert (higher.first, higher.second, higher.difference) == ("mlp:64x64", "mlp:64", pytest.approx(0.2))
    assert (lower.first, lower.difference) == ("mlp:64x64", pytest.approx(0.03))


@given(scores=st.lists(st.floats(0, 1), min_size=2, max_size=8), constant=st.floats(-3, 3))
def test_the_spread_does_not_depend_on_where_zero_is(scores: list[float], constant: float) -> None:
    moved = seed_spread(gate(*[score + constant for score in scores]))
    assert moved == pytest.approx(seed_spread(gate(*scores)), abs=1e-9)
