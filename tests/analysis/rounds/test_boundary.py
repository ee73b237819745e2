"""Does the optimum lie inside its range? Simulated searches whose optimum is known."""

import re
from collections.abc import Callable, Mapping
from random import Random

import msgspec
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.rounds.conclude_cases import ACCURACY, DECAY, DEPTH, LOSS, MOMENTUM, RATE, a_round, a_run, searched
from traindyno.analysis.rounds.boundary import Boundary, judge_boundaries
from traindyno.analysis.rounds.boundary_checks import boundary_checks, widening_step
from traindyno.analysis.rounds.reach import reached
from traindyno.analysis.rounds.surfaces import Surfaces, rises, tops
from traindyno.analysis.rounds.unseen import unseen_parts
from traindyno.analysis.rounds.widening import is_at_limit, widened_end
from traindyno.core.rounds import Parameter, Range, Round, RoundBudget, RoundTrial, Scale

ROUND = a_round(RATE, DECAY)
Score = Callable[[Mapping[str, float]], float]


def best_at(rate: float, decay: float = 0.5) -> Score:
    """A hill whose top lies at these places of the two ranges; beyond 0 or 1 it is outside."""
    return lambda places: 0.9 - (places["learning_rate"] - rate) ** 2 / 4 - (places["weight_decay"] - decay) ** 2 / 4


def judged(score: Score, count: int = 24, noise: float = 0.01, seed: int = 0, round_: Round = ROUND) -> Boundary:
    return judge_boundaries(round_, searched(round_, count, score, noise=noise, seed=seed))[0]


def without_score_above(runs: list[RoundTrial], rate: float) -> list[RoundTrial]:
    return [
        msgspec.structs.replace(each, ending="diverged", score=None)
        if float(each.draw.values["learning_rate"]) > rate
        else each
        for each in runs
    ]


@pytest.mark.parametrize(("place", "above"), [(1.3, True), (1.1, True), (-0.1, False), (-0.5, False)])
def test_an_optimum_beyond_an_end_is_found_to_be_there(place: float, above: bool) -> None:
    found = judged(best_at(place))
    assert (found.verdict, found.above) == ("edge", above)


@pytest.mark.parametrize("place", [0.3, 0.5, 0.7])
def test_an_optimum_in_the_middle_half_is_inside(place: float) -> None:
    found = judged(best_at(place))
    assert found.verdict == "inside"
    assert found.near == pytest.approx(0.001 * 1000**place, rel=0.7)


def test_scores_that_collapse_to_guessing_do_not_hide_where_the_best_ones_lie() -> None:
    """Twelve runs of a perceptron on digits: rate, momentum, accuracy."""
    seen = (
        (0.0033, 0.06, 0.614), (0.0068, 0.91, 0.961), (0.0097, 0.56, 0.935), (0.014, 0.49, 0.938),
        (0.029, 0.27, 0.961), (0.0416, 0.70, 0.972), (0.0599, 0.38, 0.972), (0.124, 0.17, 0.946),
        (0.178, 0.87, 0.101), (0.256, 0.80, 0.842), (0.529, 0.59, 0.101), (0.760, 0.24, 0.099),
    )  # fmt: skip
    runs = [
        a_run(score, {"learning_rate": rate, "momentum": momentum}, index=index)
        for index, (rate, momentum, score) in enumerate(seen)
    ]
    found = judge_boundaries(a_round(RATE, MOMENTUM), runs)[0]
    assert found.verdict == "inside"
    assert found.near is not None
    assert 0.01 < found.near < 0.12


@pytest.mark.slow
def test_rates_over_many_searches_keep_the_promise() -> None:
    random = numpy.random.default_rng(5)
    outside = [judged(best_at(1 + random.uniform(0.1, 0.5)), seed=seed).verdict for seed in range(100)]
    centred = [judged(best_at(random.uniform(0.25, 0.75)), seed=seed).verdict for seed in range(100)]
    assert outside.count("edge") >= 90
    assert centred.count("edge") <= 5


def test_noise_alone_raises_few_alarms() -> None:
    verdicts = [judged(lambda places: 0.5, noise=0.1, seed=seed).verdict for seed in range(60)]
    assert verdicts.count("edge") <= 3


def test_an_irrelevant_range_raises_few_alarms() -> None:
    runs = [
        judge_boundaries(ROUND, searched(ROUND, 20, lambda places: -((places["learning_rate"] - 0.5) ** 2), seed=seed))
        for seed in range(40)
    ]
    assert sum(decay.verdict == "edge" for _, decay in runs) <= 2


def test_a_range_is_widened_past_where_the_optimum_seems_to_be() -> None:
    high, low = judged(best_at(1.3)).widened, judged(best_at(-0.3)).widened
    assert high is not None
    assert low is not None
    assert 0.001 * 1000**1.25 <= high <= 0.001 * 1000**2 * 1.3
    assert 0.001 * 1000**-1 * 0.7 <= low <= 0.001 * 1000**-0.25


def test_where_runs_diverge_beyond_the_optimum_lies_at_the_edge_of_stability() -> None:
    runs = without_score_above(searched(ROUND, 24, best_at(1.1)), 0.2)
    found = judge_boundaries(ROUND, runs)[0]
    assert (found.verdict, found.above, found.widened) == ("stability", True, None)
    assert found.border == pytest.approx(0.2, rel=0.4)
    assert found.failed_beyond == found.runs_beyond == sum(not each.feasible for each in runs)


def test_runs_that_diverge_far_from_the_optimum_are_no_edge() -> None:
    found = judge_boundaries(ROUND, without_score_above(searched(ROUND, 24, best_at(0.35)), 0.2))[0]
    assert found.verdict == "inside"


def test_one_failed_run_at_an_end_leaves_open_whether_there_is_anything_beyond() -> None:
    runs = searched(ROUND, 12, best_at(1.3))
    last = max(float(each.draw.values["learning_rate"]) for each in runs)
    assert judge_boundaries(ROUND, runs)[0].verdict == "edge"
    doubtful = judge_boundaries(ROUND, without_score_above(runs, 0.99 * last))[0]
    assert (doubtful.verdict, doubtful.widened) == ("unknown", None)


def test_another_arm_helps_to_see_where_runs_fail() -> None:
    round_ = a_round(DEPTH, RATE, DECAY)
    runs = [
        run
        for arm, seed in (("mlp:64", 0), ("mlp:64x64", 1))
        for run in searched(round_, 12, best_at(1.1), arm=arm, settled={"model": arm}, seed=seed)
    ]
    found = judge_boundaries(round_, without_score_above(runs, 0.3))
    assert {each.verdict for each in found if each.parameter == "learning_rate"} == {"stability"}


def test_divergence_at_one_end_says_nothing_of_an_optimum_beyond_the_other() -> None:
    found = judge_boundaries(ROUND, without_score_above(searched(ROUND, 24, best_at(-0.3)), 0.2))[0]
    assert (found.verdict, found.above) == ("edge", False)


def test_few_runs_and_equal_scores_cannot_tell() -> None:
    assert judged(best_at(1.3), count=4).verdict == "unknown"
    assert judged(lambda places: 0.5, noise=0.0).verdict == "unknown"
    assert [each.verdict for each in judge_boundaries(ROUND, [])] == ["unknown", "unknown"]


def test_each_arm_is_judged_by_its_own_runs() -> None:
    round_ = a_round(DEPTH, RATE, DECAY)
    runs = [
        *searched(round_, 24, best_at(1.3), arm="mlp:64", settled={"model": "mlp:64"}),
        *searched(round_, 24, best_at(0.5), arm="mlp:64x64", settled={"model": "mlp:64x64"}),
    ]
    found = {(each.arm, each.parameter): each.verdict for each in judge_boundaries(round_, runs)}
    assert found["mlp:64", "learning_rate"] == "edge"
    assert found["mlp:64x64", "learning_rate"] == "inside"


def test_a_choice_that_lifts_scores_does_not_move_an_optimum() -> None:
    choice = Parameter(name="schedule", role="nuisance", values=("constant", "cosine"))
    round_ = a_round(RATE, DECAY, choice)
    found = judged(lambda places: best_at(0.5)(places) + (places["schedule"] > 0.5), round_=round_)
    assert found.verdict == "inside"
    explained = judged(lambda places: float(places["schedule"] > 0.5), noise=0.0, round_=round_)
    assert explained.verdict == "unknown"


def test_runs_from_before_a_range_was_widened_still_count() -> None:
    wider = a_round(msgspec.structs.replace(RATE, range=Range(low=0.001, high=30.0, scale="log")), DECAY)
    runs = searched(ROUND, 24, best_at(1.2))
    assert judge_boundaries(wider, runs)[0].runs == 24


def widened(high: float = 30.0, low: float = 0.001, trials: int = 24) -> Round:
    return a_round(msgspec.structs.replace(RATE, range=Range(low=low, high=high, scale="log")), DECAY, trials=trials)


@pytest.mark.parametrize("high", [4.0, 30.0, 1000.0])
def test_a_new_part_of_a_range_without_a_run_is_not_judged(high: float) -> None:
    runs = searched(ROUND, 24, best_at(1.3))
    last = max(float(each.draw.values["learning_rate"]) for each in runs)
    found = judge_boundaries(widened(high), runs)[0]
    assert (found.verdict, found.above, found.widened, found.reached) == ("unseen", True, None, last)


def test_a_part_that_was_added_at_the_low_end_is_not_judged_either() -> None:
    runs = searched(ROUND, 24, best_at(-0.3))
    found = judge_boundaries(widened(1.0, 1e-5), runs)[0]
    assert (found.verdict, found.above) == ("unseen", False)


def test_an_optimum_inside_what_was_run_stays_inside_when_the_range_grows() -> None:
    assert judge_boundaries(widened(), searched(ROUND, 24, best_at(0.5)))[0].verdict == "inside"


def test_the_check_of_a_new_part_names_where_runs_end_and_the_trials_that_go_on() -> None:
    runs = searched(ROUND, 24, best_at(1.3))
    last = max(float(each.draw.values["learning_rate"]) for each in runs)
    check = boundary_checks(widened(), runs)[0]
    assert check.state == "failed", "widening alone must not make a round ready"
    assert f"towards learning_rate = {last:.3g}: its range goes on to 30, but no run lies there yet" in check.text
    (trials,) = map(int, re.findall(r"trials = (\d+)", check.next_step or ""))
    assert "high" not in (check.next_step or "")
    wider = widened(trials=trials)
    new = searched(wider, trials, lambda at: best_at(1.3)({**at, "learning_rate": 1.49 * at["learning_rate"]}))[24:]
    assert sum(float(each.draw.values["learning_rate"]) > 1 for each in new) >= 2
    assert judge_boundaries(wider, [*runs, *new])[0].verdict != "unseen"


def test_a_new_part_is_reached_by_going_on_where_trials_are_left() -> None:
    check = boundary_checks(widened(trials=60), searched(ROUND, 24, best_at(1.3)))[0]
    assert (check.next_step or "").startswith("Run the round again")


def test_an_edge_names_the_new_end_and_the_trials_for_it() -> None:
    round_ = a_round(RATE, DECAY, trials=24)
    step = boundary_checks(round_, searched(round_, 24, best_at(1.3)))[0].next_step or ""
    (trials,) = map(int, re.findall(r"trials = (\d+) under \[budget\]", step))
    assert re.search(r"high = \d+ under \[nuisance.learning_rate\]", step)
    assert 24 < trials <= 48
    hours = msgspec.structs.replace(round_, budget=RoundBudget(hours=0.5))
    assert "raise hours to 1 under [budget]" in (
        boundary_checks(hours, searched(round_, 24, best_at(1.3)))[0].next_step or ""
    )


def test_a_wider_range_without_trials_for_it_is_told_whatever_scores_say() -> None:
    runs = searched(ROUND, 24, best_at(0.5))
    told = unseen_parts(widened(), runs)
    assert list(told) == ["learning_rate"]
    assert "goes on to 30, but no run lies above" in told["learning_rate"]
    assert "all trials are spent: set trials = " in told["learning_rate"]
    assert unseen_parts(a_round(RATE, DECAY, trials=24), runs) == {}
    assert unseen_parts(widened(trials=25), runs) == {}, "runs are still to come"


def test_a_whole_number_next_to_the_end_is_the_end_of_what_there_is() -> None:
    layers = own("layers", 1, 3, integer=True)
    runs = searched(a_round(layers), 12, lambda at: at["layers"])
    assert reached(layers, runs) == layers
    assert reached(own("layers", 1, 6, integer=True), runs) == layers


@given(
    place=st.sampled_from([-0.3, 0.5, 1.3]),
    constant=st.floats(-5, 5),
    times=st.floats(0.1, 10),
    turned=st.booleans(),
    order=st.randoms(use_true_random=False),
)
@settings(max_examples=15, deadline=None)
def test_only_the_order_of_scores_and_their_distances_count(
    place: float, constant: float, times: float, turned: bool, order: Random
) -> None:
    runs = searched(ROUND, 24, best_at(place))
    moved = [
        msgspec.structs.replace(each, score=constant + times * (-1 if turned else 1) * (each.score or 0.0))
        for each in runs
    ]
    order.shuffle(moved)
    same = msgspec.structs.replace(ROUND, metric=LOSS if turned else ACCURACY)
    plain, other = (judge_boundaries(*each) for each in ((ROUND, runs), (same, moved)))
    assert [(each.verdict, each.above) for each in plain] == [(each.verdict, each.above) for each in other]


def test_the_check_names_the_edit_that_widens_a_range() -> None:
    check = boundary_checks(ROUND, searched(ROUND, 24, best_at(1.3)))[0]
    assert (check.state, check.subject) == ("failed", "learning_rate")
    assert "high end" in check.text
    assert "high = " in (check.next_step or "")
    assert "[nuisance.learning_rate]" in (check.next_step or "")


def test_the_check_passes_with_the_optimum_inside_or_at_the_edge_of_stability() -> None:
    inside = boundary_checks(ROUND, searched(ROUND, 24, best_at(0.5)))
    assert [check.state for check in inside] == ["passed", "passed"]
    stable = boundary_checks(ROUND, without_score_above(searched(ROUND, 24, best_at(1.1)), 0.2))[0]
    assert stable.state == "passed"
    assert "edge of stability" in stable.text


def test_what_cannot_be_told_asks_for_trials() -> None:
    runs = searched(ROUND, 5, best_at(1.3))
    cut, whole = (boundary_checks(a_round(RATE, DECAY, trials=trials), runs)[0] for trials in (16, 5))
    assert cut.state == whole.state == "unknown"
    assert "trials = 10" in (whole.next_step or "")
    assert (cut.next_step or "").startswith("Run the round again")


def test_one_arm_at_an_edge_fails_the_check_of_all() -> None:
    round_ = a_round(DEPTH, RATE, DECAY)
    runs = [
        *searched(round_, 24, best_at(1.3), arm="mlp:64", settled={"model": "mlp:64"}),
        *searched(round_, 24, best_at(0.5), arm="mlp:64x64", settled={"model": "mlp:64x64"}),
    ]
    check = boundary_checks(round_, runs)[0]
    assert check.state == "failed"
    assert "(mlp:64)" in check.text
    assert "(mlp:64x64)" in check.text


def test_the_widest_end_that_an_arm_asks_for_is_proposed() -> None:
    near, far = (
        Boundary(arm=arm, branch="", parameter="learning_rate", verdict="edge", runs=9, above=True, widened=end)
        for arm, end in (("mlp:64", 3.0), ("mlp:64x64", 8.0))
    )
    low = msgspec.structs.replace(near, above=False, widened=0.0005)
    lower = msgspec.structs.replace(near, above=False, widened=0.0001)
    assert "low = 0.0001 and high = 8 " in (widening_step(ROUND, RATE, [near, far, low, lower], []) or "")


def test_a_surface_without_a_top_is_highest_at_the_end_towards_which_it_rises() -> None:
    bowl = Surfaces(
        slopes=numpy.array([[0.5], [-0.5]]), curvatures=numpy.array([[1.0], [1.0]]), twists=numpy.zeros((2, 1, 1))
    )
    assert tops(bowl, numpy.array([0.0])).tolist() == [[1.0], [-1.0]]
    hill = bowl._replace(curvatures=-bowl.curvatures)
    assert tops(hill, numpy.array([0.0])).tolist() == [[0.25], [-0.25]]
    assert (rises(hill, tops(hill, numpy.array([0.0]))) > 0).tolist() == [[True], [False]]


def test_nothing_is_widened_past_what_numbers_allow() -> None:
    assert is_at_limit(MOMENTUM, above=False)
    assert widened_end(MOMENTUM, above=False, place=-0.5) is None
    high = widened_end(MOMENTUM, above=True, place=1.5)
    assert high is not None
    assert 0.95 < high < 1


def test_an_optimum_at_a_limit_passes() -> None:
    round_ = a_round(RATE, MOMENTUM)
    runs = searched(round_, 24, lambda at: -((at["learning_rate"] - 0.5) ** 2) - (at["momentum"] + 0.3) ** 2)
    rate, momentum = judge_boundaries(round_, runs)
    assert (rate.verdict, momentum.verdict, momentum.above) == ("inside", "limit", False)
    assert boundary_checks(round_, runs)[1].state == "passed"


@given(
    low=st.floats(1e-6, 1.0),
    factor=st.floats(1.5, 1e4),
    scale=st.sampled_from(["linear", "log"]),
    above=st.booleans(),
    place=st.floats(-2, 3),
)
def test_a_widened_end_always_lies_beyond_the_old_one(
    low: float, factor: float, scale: Scale, above: bool, place: float
) -> None:
    within = Range(low=low, high=low * factor, scale=scale)
    end = widened_end(Parameter(name="anything", role="nuisance", range=within), above, place)
    assert end is None or (end > within.high if above else end < within.low)


def own(name: str, low: float, high: float, *, integer: bool = False, scale: Scale = "linear") -> Parameter:
    return Parameter(name=name, role="nuisance", range=Range(low=low, high=high, scale=scale, integer=integer))


def test_a_range_of_the_users_own_that_ends_at_one_is_widened_like_any_other() -> None:
    temperature = own("temperature", 0.1, 1.0)
    round_ = a_round(temperature)
    (check,) = boundary_checks(round_, searched(round_, 24, lambda at: -((at["temperature"] - 2.5) ** 2)))
    assert check.state == "failed"
    assert "Set high = 2 " in (check.next_step or "")


@pytest.mark.parametrize(("place", "end"), [(-0.4, "low"), (1.4, "high")])
def test_only_the_user_knows_if_anything_lies_beyond_a_share_of_their_own(place: float, end: str) -> None:
    round_ = a_round(own("mixing", 0.0, 1.0))
    (check,) = boundary_checks(round_, searched(round_, 24, lambda at: -((at["mixing"] - place) ** 2)))
    assert check.state == "warning"
    assert (check.next_step or "").startswith(f"If such values make sense: Set {end} = ")


def test_whole_numbers_are_widened_to_whole_numbers_and_count_from_one() -> None:
    assert is_at_limit(own("n", 1, 64, integer=True, scale="log"), above=False)
    assert widened_end(own("n", 3, 64, integer=True, scale="log"), above=False, place=-0.9) == 1
    assert widened_end(own("n", 2, 9, integer=True), above=False, place=-3) == 0
    assert widened_end(own("n", -1, 1, integer=True), above=False, place=0.0) == -2


def test_a_log_range_is_widened_by_a_decade_at_the_most() -> None:
    assert widened_end(RATE, above=True, place=2.5) == 10
    assert widened_end(RATE, above=False, place=-2.0) == pytest.approx(1e-4)
