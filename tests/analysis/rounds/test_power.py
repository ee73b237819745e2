"""Looking again costs something, and seeds are asked for only where they would decide."""

import math

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.analysis.rounds.evidence import evidence_of, judge
from traindyno.analysis.rounds.power import ERROR, MOST_SEEDS, fewest_seeds, level_of_look, seeds_to_show, spent_before
from traindyno.analysis.row_comparisons import Sample


@given(looks=st.integers(1, 40))
def test_however_often_one_looks_the_error_stays_within_five_percent(looks: int) -> None:
    assert spent_before(looks) == pytest.approx(ERROR * (1 - 2.0**-looks))
    assert spent_before(looks) + level_of_look(looks) <= ERROR


def test_the_first_look_has_half_of_the_error() -> None:
    assert (level_of_look(0), level_of_look(1), spent_before(0), spent_before(1)) == (0.025, 0.0125, 0.0, 0.025)


def test_four_seeds_can_prove_one_candidate_and_five_are_needed_for_three() -> None:
    assert fewest_seeds(0.025, 1) == 4
    assert fewest_seeds(0.025, 3) == 5


def test_a_smaller_effect_needs_more_seeds_and_a_tiny_one_no_reasonable_number() -> None:
    needed = [seeds_to_show(effect, 1.0, beyond=6, level=0.0125, tests=1) for effect in (3.0, 1.5, 1.0, 0.5)]
    assert needed == sorted(needed, key=lambda seeds: seeds or math.inf)
    assert seeds_to_show(0.05, 1.0, beyond=6, level=0.0125, tests=1) is None
    assert seeds_to_show(0.0, 1.0, beyond=6, level=0.0125, tests=1) is None


def test_more_candidates_need_seeds_to_show() -> None:
    alone = seeds_to_show(1.0, 1.0, beyond=6, level=0.0125, tests=1)
    beside = seeds_to_show(1.0, 1.0, beyond=6, level=0.0125, tests=3)
    assert alone is not None
    assert beside is not None
    assert alone < beside < MOST_SEEDS


def test_what_is_asked_for_shows_a_true_effect_about_eight_times_out_of_ten() -> None:
    level, effect = level_of_look(1), 1.2
    seeds = seeds_to_show(effect, 1.0, beyond=4, level=level, tests=1) or 0
    generator = numpy.random.default_rng(11)
    shown = 0
    for _ in range(300):
        incumbent = Sample(label="a", values=tuple(generator.normal(size=seeds)))
        candidate = Sample(label="b", values=tuple(generator.normal(effect, size=seeds)))
        evidence = evidence_of(incumbent, candidate, level)
        shown += judge(evidence, evidence.p_value, level, 0.0) == "adopt"
    assert 0.72 <= shown / 300 <= 0.9
