"""Were there enough runs for so many dimensions, and would more of them find better ones?"""

import numpy
import pytest

from analysis.rounds.conclude_cases import DECAY, MOMENTUM, RATE, a_round, a_run, searched
from traindyno.analysis.rounds.points import points_checks
from traindyno.core.answers.rounds import Check
from traindyno.core.rounds import Parameter, Round, RoundTrial

FLAT = (0.700, 0.701, 0.702)


def gate(scores: tuple[float, ...] = FLAT) -> list[RoundTrial]:
    return [a_run(score, index=index, phase="gate") for index, score in enumerate(scores)]


def checked(round_: Round, runs: list[RoundTrial]) -> Check:
    (check,) = points_checks(round_, [*gate(), *runs])
    return check


def plateau(round_: Round, count: int) -> list[RoundTrial]:
    return searched(round_, count, lambda places: 0.9, noise=0.0005)


@pytest.mark.parametrize(("count", "state"), [(5, "failed"), (8, "warning"), (12, "passed")])
def test_two_dimensions_take_six_runs_at_least_and_twelve_to_be_enough(count: int, state: str) -> None:
    round_ = a_round(RATE, DECAY, trials=count)
    assert checked(round_, plateau(round_, count)).state == state


def test_more_dimensions_take_more_runs() -> None:
    two, three = a_round(RATE, DECAY, trials=12), a_round(RATE, DECAY, MOMENTUM, trials=12)
    assert checked(two, plateau(two, 12)).state == "passed"
    assert checked(three, plateau(three, 12)).state == "warning"


def test_the_next_step_is_a_budget_that_would_be_enough() -> None:
    round_ = a_round(RATE, DECAY, MOMENTUM, trials=8)
    check = checked(round_, plateau(round_, 8))
    assert "trials = 18" in (check.next_step or "")


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ([0.9], "1 score for 1 searched dimension. "),
        ([0.9, 0.5, 0.4], "3 scores for 1 searched dimension; no other as good as the best. "),
        ([0.9, 0.9, 0.4], "3 scores for 1 searched dimension; 2 as good as the best. "),
    ],
)
def test_the_best_is_not_told_to_be_as_good_as_itself(scores: list[float], words: str) -> None:
    runs = [a_run(score, {"learning_rate": 0.1 * (at + 1)}, index=at) for at, score in enumerate(scores)]
    assert checked(a_round(RATE), runs).text.startswith(words)


def test_runs_without_a_score_are_no_points() -> None:
    round_ = a_round(RATE, DECAY, trials=12)
    runs = plateau(round_, 12)
    lost = [a_run(None, each.draw.values, index=each.draw.index, ending="diverged") for each in runs[:8]]
    assert checked(round_, [*lost, *runs[8:]]).state == "failed"


def test_a_search_that_was_cut_is_to_go_on() -> None:
    round_ = a_round(RATE, DECAY, trials=30)
    check = checked(round_, plateau(round_, 14))
    assert check.state == "warning"
    assert "14 of 30" in check.text
    assert "Run the round again" in (check.next_step or "")


def test_a_best_that_stands_alone_and_still_rises_asks_for_more() -> None:
    round_ = a_round(RATE, DECAY, trials=16)
    scores = numpy.linspace(0.1, 0.9, 16)
    runs = [
        a_run(float(score), each.draw.values, index=each.draw.index)
        for score, each in zip(scores, plateau(round_, 16), strict=True)
    ]
    assert checked(round_, runs).state == "warning"
    assert "trials = 32" in (checked(round_, runs).next_step or "")


def test_a_best_that_others_have_reached_as_well_does_not() -> None:
    round_ = a_round(RATE, DECAY, trials=16)
    for reached, state in ((1, "warning"), (3, "passed")):
        scores = [0.9] * reached + [0.1 + index / 1000 for index in range(16 - reached)]
        runs = [
            a_run(score, each.draw.values, index=each.draw.index)
            for score, each in zip(scores, plateau(round_, 16), strict=True)
        ]
        assert checked(round_, runs).state == state


def test_a_branch_with_few_runs_is_what_counts() -> None:
    optimizer = Parameter(name="optimizer", role="nuisance", values=("sgd", "adam"))
    momentum = Parameter(name="momentum", role="nuisance", range=MOMENTUM.range, under=("optimizer", "sgd"))
    round_ = a_round(RATE, optimizer, momentum, trials=16)
    many = searched(round_, 13, lambda _: 0.9, branch="optimizer=sgd", settled={"optimizer": "sgd"}, noise=0.0005)
    few = searched(round_, 2, lambda _: 0.9, branch="optimizer=adam", settled={"optimizer": "adam"}, noise=0.0005)
    check = checked(round_, [*many, *few])
    assert check.state == "failed"
    assert check.text.startswith("2 scores in the branch with fewest for 1 searched dimension; 12 of all as good")


def test_nothing_searched_is_nothing_to_check() -> None:
    assert points_checks(a_round(RATE), gate()) == ()


def test_runs_outside_the_range_are_neither_points_nor_as_good_as_the_best() -> None:
    round_ = a_round(RATE, trials=4)
    inside = [a_run(0.90, {"learning_rate": rate}, index=index) for index, rate in enumerate((0.1, 0.2))]
    outside = [a_run(0.90, {"learning_rate": rate}, index=2 + index) for index, rate in enumerate((2.0, 3.0))]
    assert checked(round_, [*inside, *outside]).text.startswith("2 scores for 1 searched dimension; 2 as good as")
