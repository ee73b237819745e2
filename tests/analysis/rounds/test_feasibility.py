"""Runs without a score: how many there may be, and which parameter parts them from the others."""

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.rounds.conclude_cases import DEPTH, MOMENTUM, RATE, a_round, a_run, searched
from traindyno.analysis.rounds.borders import border_of, find_border
from traindyno.analysis.rounds.feasibility import feasibility_checks
from traindyno.core.rounds import Ending, RoundTrial

ROUND = a_round(RATE, MOMENTUM)


def runs_with(lost: int, count: int, ending: Ending = "diverged") -> list[RoundTrial]:
    """Runs of which some have no score, by no rule: they lie all over both ranges."""
    runs = searched(ROUND, count, lambda places: 0.5)
    skip = {index * count // lost for index in range(lost)} if lost else set()
    return [
        a_run(None, each.draw.values, index=number, ending=ending) if number in skip else each
        for number, each in enumerate(runs)
    ]


@pytest.mark.parametrize(
    ("lost", "state"), [(0, "passed"), (4, "passed"), (5, "warning"), (6, "warning"), (7, "failed")]
)
def test_above_a_third_is_a_warning_and_above_a_half_a_failure(lost: int, state: str) -> None:
    (check,) = feasibility_checks(ROUND, runs_with(lost, 12))
    assert check.state == state
    assert (check.next_step is None) == (state == "passed")


def test_the_check_says_how_runs_ended() -> None:
    runs = [*runs_with(4, 12), a_run(None, {"learning_rate": 0.1, "momentum": 0.5}, index=12, ending="out_of_memory")]
    (check,) = feasibility_checks(ROUND, runs)
    assert "5 of 13 runs gave no score: 4 diverged, 1 ran out of memory" in check.text


def test_where_no_loss_ever_was_a_number_no_range_is_at_fault() -> None:
    runs = runs_with(12, 12)
    never = [each if each.feasible else msgspec.structs.replace(each, never_finite=True) for each in runs]
    (check,) = feasibility_checks(ROUND, never)
    assert "Look for NaN in the data and in what model and loss return." in (check.next_step or "")
    (check,) = feasibility_checks(ROUND, runs)
    assert "Lower the learning rate's range" in (check.next_step or "")


def test_one_run_is_told_as_one() -> None:
    (check,) = feasibility_checks(ROUND, runs_with(0, 1))
    assert check.text == "The only run gave a score."
    (check,) = feasibility_checks(ROUND, runs_with(1, 1))
    assert check.text.startswith("The only run gave no score")


def test_the_parameter_that_parts_them_is_named_with_where_it_does() -> None:
    runs = [
        a_run(None, each.draw.values, index=number, ending="diverged")
        if float(each.draw.values["learning_rate"]) > 0.05
        else each
        for number, each in enumerate(searched(ROUND, 24, lambda places: 0.5))
    ]
    lost = sum(not each.feasible for each in runs)
    (check,) = feasibility_checks(ROUND, runs)
    assert f"{lost} of {lost} runs with learning_rate above 0.0" in check.text
    assert "diverged" in check.text
    assert "momentum" not in check.text
    assert "high = 0.0" in (check.next_step or "")


def test_a_user_error_is_told_in_its_own_words_and_blamed_on_no_parameter() -> None:
    runs = [
        a_run(None, {"learning_rate": 0.5 + index / 100, "momentum": 0.5}, index=index, ending="failed")
        for index in range(8)
    ]
    good = [a_run(0.5, {"learning_rate": 0.01, "momentum": 0.5}, index=index) for index in range(8, 12)]
    (check,) = feasibility_checks(ROUND, [*runs, *good])
    assert check.state == "failed"
    assert "learning_rate" not in check.text
    assert "Mend what fails" in (check.next_step or "")


def test_each_arm_has_its_own_share() -> None:
    round_ = a_round(DEPTH, RATE)
    small = [a_run(0.5, {"model": "mlp:64", "learning_rate": 0.1}, arm="mlp:64", index=index) for index in range(4)]
    large = [
        a_run(None, {"model": "mlp:64x64", "learning_rate": 0.1}, arm="mlp:64x64", index=index, ending="out_of_memory")
        for index in range(4)
    ]
    checks = feasibility_checks(round_, [*small, *large])
    assert [(check.subject, check.state) for check in checks] == [("mlp:64", "passed"), ("mlp:64x64", "failed")]


places = st.lists(st.floats(0, 1), min_size=0, max_size=20)


def test_a_clean_cut_is_a_border_on_the_side_that_fails() -> None:
    low, high = [0.05 * step for step in range(12)], [0.8, 0.85, 0.9, 0.95]
    above, below = find_border(low, high), find_border(high, low)
    assert above is not None
    assert below is not None
    assert (above.above, above.failed, above.runs) == (True, 4, 4)
    assert above.place == pytest.approx((0.55 + 0.8) / 2)
    assert below.above is False


def test_two_failures_or_failures_everywhere_are_no_border() -> None:
    assert find_border([0.05 * step for step in range(12)], [0.8, 0.9]) is None
    assert find_border([0.1, 0.3, 0.5, 0.7, 0.9], [0.2, 0.4, 0.6, 0.8, 1.0]) is None


def test_what_others_show_counts_only_where_these_runs_fail_as_well() -> None:
    def at(*rates: float, ending: Ending = "ok") -> list[RoundTrial]:
        return [a_run(0.5 if ending == "ok" else None, {"learning_rate": rate}, ending=ending) for rate in rates]

    low = at(0.001, 0.003, 0.01, 0.02, 0.03, 0.05)
    others = [*low, *at(0.3, 0.4, 0.5, 0.6, ending="diverged")]
    assert border_of(RATE, others) is not None
    assert border_of(RATE, [*low, *at(0.5, ending="diverged")]) is None
    assert border_of(RATE, [*low, *at(0.5, ending="diverged")], others) is not None
    assert border_of(RATE, low, others) is None
    assert border_of(RATE, [*low, *at(0.5, 0.6, 0.7), *at(0.8, ending="diverged")], others) is None


@given(feasible=places, infeasible=places)
def test_most_runs_beyond_a_border_have_failed_and_turning_the_range_round_turns_it(
    feasible: Sequence[float], infeasible: Sequence[float]
) -> None:
    border = find_border(feasible, infeasible)
    if border is None:
        return
    beyond = [each for each in infeasible if (each > border.place) == border.above]
    spared = [each for each in feasible if (each > border.place) == border.above]
    assert len(beyond) == border.failed
    assert len(spared) == border.runs - border.failed
    assert border.failed >= 2 * len(spared)
