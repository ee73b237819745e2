"""Scores on an axis: whatever they are, the best stay in sight and nothing is drawn outside."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.report.charts.rounds_parameters import ParameterAxis, domain_of, log_ticks, unit_on
from traindyno.report.charts.rounds_runs import arm_names, short
from traindyno.report.charts.rounds_scores import Scores, is_share, window_of

FINITE = st.floats(min_value=-1e6, max_value=1e6)
ACCURACY = Scores(metric="accuracy", higher_is_better=True, in_percent=True)
LOSS = Scores(metric="loss", higher_is_better=False, in_percent=False)


@given(st.lists(FINITE, min_size=1, max_size=30), st.lists(FINITE, max_size=3), st.booleans())
def test_the_better_half_and_what_must_be_seen_lie_inside_and_the_rest_at_the_edge(
    values: list[float], always: list[float], higher_is_better: bool
) -> None:
    window = window_of(Scores(metric="m", higher_is_better=higher_is_better, in_percent=False), values, always)
    low, high = sorted((window.edge, window.high))
    better = sorted(values, reverse=higher_is_better)[: (len(values) + 1) // 2]
    assert not any(window.is_beyond(value) for value in (*better, *always))
    assert all(low <= window.shown(value) <= high for value in (*values, *always))
    assert not low <= window.strip <= high


def test_without_any_score_there_is_still_a_place_for_the_runs() -> None:
    window = window_of(LOSS, [None, float("nan")])
    assert not window.has_scores
    assert window.strip < window.edge < window.high


@given(st.floats(min_value=1e-8, max_value=1e3), st.floats(min_value=1.01, max_value=1e6))
def test_the_ticks_of_a_logarithmic_axis_lie_on_it_and_can_be_read(low: float, times: float) -> None:
    ticks = log_ticks(low, low * times)
    assert all(low <= tick <= low * times for tick in ticks)
    assert len(ticks) <= 15
    assert ticks == sorted(set(ticks))


@given(st.floats(min_value=1e-3, max_value=1.0), st.floats(min_value=1e-5, max_value=10.0))
def test_a_value_outside_of_the_range_still_lies_on_the_axis(inside: float, outside: float) -> None:
    axis = ParameterAxis(name="rate", field="rate", kind="log", low=1e-3, high=1.0)
    domain = domain_of(axis, [outside])
    units = [unit_on(axis, value, domain) for value in (inside, outside)]
    assert all(unit is not None and 0 <= unit <= 1 for unit in units)


def test_zero_lies_on_no_logarithmic_axis() -> None:
    axis = ParameterAxis(name="decay", field="decay", kind="log", low=1e-6, high=1e-2)
    assert unit_on(axis, 0.0, domain_of(axis, [0.0])) is None


@given(st.lists(st.text(max_size=80), unique=True, max_size=12))
def test_no_two_arms_have_the_same_name_in_a_picture(arms: list[str]) -> None:
    names = arm_names(arms)
    assert len(set(names.values())) == len(arms)


def test_a_long_name_keeps_both_of_its_ends() -> None:
    assert short("networks/deep_and_narrow.py:number_7", 20) == "networks/d…:number_7"


def test_a_difference_of_accuracies_is_told_in_points_and_any_other_as_it_is() -> None:
    assert ACCURACY.difference(0.0121, (0.008, 0.0162)) == "+1.21 points (+0.80 to +1.62)"
    assert LOSS.difference(-0.0121, (-0.02, 0.001)) == "-0.0121 (-0.02 to +0.001)"
    assert ACCURACY.with_span(0.975, (0.97, 0.98)) == "97.50 % (97.00 to 98.00 %)"
    assert LOSS.words(None) == "n/a"


@pytest.mark.parametrize(
    ("metric", "values", "share"),
    [("accuracy", [0.5, None, float("nan")], True), ("accuracy", [93.1], False), ("f1", [0.5], False)],
)
def test_an_accuracy_that_a_job_counts_in_hundreds_is_no_share(metric: str, values: list[float], share: bool) -> None:
    assert is_share(metric, values) is share
