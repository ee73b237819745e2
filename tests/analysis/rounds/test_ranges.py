"""What is proposed for each nuisance: wider, narrower, fixed or the same, and more trials, each with a reason."""

from collections.abc import Callable, Mapping

import msgspec

from analysis.rounds.conclude_cases import DECAY, DEPTH, MOMENTUM, RATE, a_round, searched
from traindyno.analysis.rounds.arms import draws_by_arm
from traindyno.analysis.rounds.best_of_k import best_of_k
from traindyno.analysis.rounds.importance import importance_in
from traindyno.analysis.rounds.ranges import propose_ranges
from traindyno.core.answers.rounds import RangeProposal
from traindyno.core.rounds import Parameter, Range, Round, RoundTrial

SMOOTHING = Parameter(name="label_smoothing", role="nuisance", range=Range(low=0.0, high=0.2))
ROUND = a_round(RATE, MOMENTUM, DECAY)


def proposed(round_: Round, trials: list[RoundTrial]) -> dict[str, RangeProposal]:
    draws = draws_by_arm(round_, trials)
    importance = tuple(row for arm, each in draws.items() for row in importance_in(round_, arm, each))
    curves = tuple(best_of_k(round_, arm, each, None) for arm, each in draws.items() if each)
    return {each.parameter: each for each in propose_ranges(round_, trials, importance, curves)}


def best_at(place: float, sharp: float = 0.5) -> Callable[[Mapping[str, float]], float]:
    return lambda places: 0.97 - sharp * (places["learning_rate"] - place) ** 2


def test_a_range_whose_best_values_lie_at_its_end_is_widened_there() -> None:
    found = proposed(ROUND, searched(ROUND, 24, best_at(1.3)))["learning_rate"]
    assert (found.kind, found.low) == ("widen", 0.001)
    assert found.high is not None
    assert found.high > 1.0
    assert "high end" in found.reason


def test_a_range_with_a_part_that_has_no_run_yet_is_kept() -> None:
    wider = a_round(msgspec.structs.replace(RATE, range=Range(low=0.001, high=100.0, scale="log")), MOMENTUM, DECAY)
    found = proposed(wider, searched(ROUND, 24, best_at(1.3)))["learning_rate"]
    assert (found.kind, found.reason) == ("keep", "a part of its range has no run yet")


def test_what_matters_is_narrowed_to_the_best_third_with_air() -> None:
    found = proposed(ROUND, searched(ROUND, 40, best_at(0.5)))["learning_rate"]
    assert found.kind == "narrow"
    assert found.low is not None
    assert found.high is not None
    assert 0.001 < found.low < 0.001**0.5 < found.high < 1.0


def test_what_does_not_matter_is_fixed_with_what_that_leaves_open() -> None:
    round_ = a_round(RATE, SMOOTHING, incumbent={"learning_rate": 0.1, "label_smoothing": 0.1})
    found = proposed(round_, searched(round_, 40, best_at(0.5)))["label_smoothing"]
    assert (found.kind, found.value) == ("fix", 0.0)
    assert "the answer holds without label smoothing" in found.reason


def test_a_fixed_value_is_the_incumbents_where_it_has_one() -> None:
    round_ = a_round(RATE, MOMENTUM, incumbent={"learning_rate": 0.1, "momentum": 0.9})
    found = proposed(round_, searched(round_, 40, best_at(0.5)))["momentum"]
    assert (found.kind, found.value) == ("fix", 0.9)


def test_a_learning_rate_is_never_fixed() -> None:
    found = proposed(ROUND, searched(ROUND, 40, lambda places: 0.97 - 0.5 * (places["momentum"] - 0.5) ** 2))
    assert found["learning_rate"].kind == "keep"
    assert "moves with nearly every other change" in found["learning_rate"].reason


def test_with_few_runs_everything_is_kept() -> None:
    found = proposed(ROUND, searched(ROUND, 8, best_at(0.5)))
    assert {found[name].kind for name in ("momentum", "weight_decay")} == {"keep"}
    assert "do not tell" in found["momentum"].reason


def test_arms_that_want_different_values_leave_room_for_both() -> None:
    round_ = a_round(DEPTH, RATE)
    apart = [
        run
        for arm, place in (("mlp:64", 0.2), ("mlp:64x64", 0.8))
        for run in searched(round_, 24, best_at(place), arm=arm, settled={"model": arm})
    ]
    assert proposed(round_, apart)["learning_rate"].kind == "keep"


def test_a_search_that_still_finds_better_values_asks_for_more_trials() -> None:
    round_ = a_round(RATE, MOMENTUM, DECAY, trials=12)
    runs = searched(round_, 12, lambda places: sum(places.values()) / 3, noise=0.0)
    found = proposed(round_, runs)["trials"]
    assert (found.kind, found.value) == ("add_trials", 24)


def test_without_a_score_nothing_is_proposed() -> None:
    assert propose_ranges(ROUND, [], (), ()) == ()
