"""The target by itself: arms are compared at equal numbers of draws, against the incumbent's."""

from collections.abc import Mapping

import numpy
import pytest

from analysis.rounds.conclude_cases import DEPTH, LOSS, RATE, a_round, a_run, scored, searched
from traindyno.analysis.rounds.arms import arm_row, draws_by_arm, runs_by_arm
from traindyno.analysis.rounds.isolation import incumbent_arm, isolate
from traindyno.core.rounds import Parameter

ROUND = a_round(DEPTH, RATE)


def test_an_arm_with_more_draws_has_no_advantage() -> None:
    few, many = [0.5, 0.6, 0.7, 0.8], [0.5, 0.6, 0.7, 0.8] * 4
    rows = isolate(ROUND, {"mlp:64": scored(few), "mlp:64x64": scored(many)})
    assert [row.k for row in rows] == [4, 4]
    assert rows[0].expected_best == pytest.approx(0.8)
    assert rows[1].expected_best is not None
    assert rows[1].expected_best < 0.8


def test_the_difference_is_to_the_incumbents_arm() -> None:
    draws = {"mlp:64": scored([0.9, 0.92, 0.91, 0.9]), "mlp:64x64": scored([0.95, 0.96, 0.94, 0.95])}
    first, second = isolate(ROUND, draws)
    assert first.difference is None
    assert second.difference == pytest.approx(0.04)
    turned = isolate(a_round(DEPTH, RATE, incumbent={"model": "mlp:64x64"}), draws)
    assert turned[0].difference == pytest.approx(-0.04)
    assert turned[1].difference is None


def test_an_incumbent_outside_all_arms_leaves_the_first_to_compare_with() -> None:
    elsewhere = a_round(DEPTH, RATE, incumbent={"model": "mlp:16"})
    assert incumbent_arm(elsewhere) is None
    rows = isolate(elsewhere, {"mlp:64": scored([0.9] * 4), "mlp:64x64": scored([0.8] * 4)})
    assert rows[1].difference == pytest.approx(-0.1)


def test_an_arm_without_a_score_has_no_figures_and_spoils_none() -> None:
    rows = isolate(ROUND, {"mlp:64": scored([0.9, 0.8]), "mlp:64x64": scored([None, None])})
    assert rows[0].expected_best == pytest.approx(0.9)
    assert rows[1].expected_best is None


def test_equal_arms_are_seldom_told_apart() -> None:
    def score(places: Mapping[str, float]) -> float:
        return 0.97 - 0.3 * (places["learning_rate"] - 0.6) ** 2

    random, shown = numpy.random.default_rng(2), 0
    for _ in range(60):
        draws = {
            arm: searched(ROUND, 16, score, arm=arm, noise=0.005, seed=int(random.integers(2**32)))
            for arm in ("mlp:64", "mlp:64x64")
        }
        ends = isolate(ROUND, draws)[1].difference_ci95
        assert ends is not None
        shown += not ends[0] <= 0 <= ends[1]
    assert shown <= 6


def test_runs_placed_where_others_were_good_are_no_draws_but_may_be_the_best() -> None:
    values = {"model": "mlp:64", "learning_rate": 0.1}
    runs = [
        a_run(0.9, values, arm="mlp:64"),
        a_run(0.95, values, arm="mlp:64", phase="exploit"),
        a_run(0.99, values, arm="mlp:64", phase="gate"),
    ]
    assert [len(each) for each in draws_by_arm(ROUND, runs).values()] == [1, 0]
    assert arm_row(ROUND, "mlp:64", runs_by_arm(ROUND, runs)["mlp:64"]).best_score == 0.95


def test_runs_outside_a_range_that_was_narrowed_since_are_no_draws() -> None:
    low = a_run(0.9, {"model": "mlp:64", "learning_rate": 0.0001}, arm="mlp:64")
    assert draws_by_arm(ROUND, [low])["mlp:64"] == []


def test_rows_of_a_loss_know_what_is_better() -> None:
    round_ = a_round(DEPTH, RATE, metric=LOSS)
    rows = isolate(round_, {"mlp:64": scored([0.5, 0.4]), "mlp:64x64": scored([0.3, 0.2])})
    assert rows[1].expected_best == pytest.approx(0.2)
    assert rows[1].difference == pytest.approx(-0.2)


def test_an_arm_tells_how_its_runs_ended_and_how_fast_they_were() -> None:
    stride = Parameter(name="conv1_stride", role="target", values=(1, 2))
    runs = [
        a_run(0.9, {"conv1_stride": 1}, arm="1", examples_per_second=100.0),
        a_run(0.8, {"conv1_stride": 1}, arm="1", index=1, examples_per_second=120.0),
        a_run(None, {"conv1_stride": 1}, arm="1", index=2, ending="diverged"),
        a_run(None, {"conv1_stride": 1}, arm="1", index=3, ending="out_of_memory"),
    ]
    row = arm_row(a_round(stride), "1", runs)
    assert (row.trials, row.feasible, row.infeasible) == (4, 2, {"diverged": 1, "out_of_memory": 1})
    assert (row.best_score, row.best_index, row.examples_per_second) == (0.9, 0, 110.0)


def test_arms_at_the_same_points_are_told_apart_better_than_either_is_known() -> None:
    def score(places: Mapping[str, float]) -> float:
        return 0.9 - 0.5 * (places["learning_rate"] - 0.5) ** 2

    same = {
        arm: searched(
            ROUND, 12, lambda places, lift=lift: score(places) + lift, arm=arm, settled={"model": arm}, noise=0.0
        )
        for arm, lift in (("mlp:64", 0.0), ("mlp:64x64", 0.01))
    }
    own, deep = isolate(ROUND, same, seed_spread=0.001)
    assert own.ci95 is not None
    assert deep.difference_ci95 is not None
    low, high = deep.difference_ci95
    assert deep.difference == pytest.approx(0.01)
    assert 0 < low < high < 0.02
    assert high - low < own.ci95[1] - own.ci95[0]


def test_no_difference_is_known_better_than_seeds_allow() -> None:
    flat = {"mlp:64": scored([0.9] * 8, "mlp:64"), "mlp:64x64": scored([0.91] * 8, "mlp:64x64")}
    ends = isolate(ROUND, flat, seed_spread=0.01)[1].difference_ci95
    assert ends is not None
    assert ends[0] < 0 < ends[1]


def test_an_arm_that_has_only_failed_where_the_other_was_drawn_too_is_compared_all_the_same() -> None:
    few = scored([0.8, 0.9], "mlp:64")
    many = scored([None, None, 0.85, 0.95], "mlp:64x64")
    row = isolate(ROUND, {"mlp:64": few, "mlp:64x64": many})[1]
    assert row.k == 2
    assert row.difference is not None
    assert row.difference < 0.05
