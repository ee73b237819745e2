import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.analysis.steady import precise_enough, steady_from


def noisy(level: float, count: int, noise: float, seed: int = 0) -> list[float]:
    source = random.Random(seed)
    return [level * (1 + source.gauss(0, noise)) for _ in range(count)]


def test_too_few_blocks_are_never_steady() -> None:
    assert steady_from([0.1] * 5) is None


def test_equal_blocks_are_steady_from_the_first() -> None:
    assert steady_from([0.1] * 6) == 0


def test_a_slow_first_block_is_left_out() -> None:
    assert steady_from([1.0, *noisy(0.1, 8, 0.002)]) == 1


def test_three_slow_blocks_at_the_start_are_left_out() -> None:
    assert steady_from([1.0, 0.6, 0.3, *noisy(0.1, 12, 0.002)]) == 3


def test_a_ramp_is_not_steady_while_it_lasts() -> None:
    ramp = [0.1 * (1 - 0.01 * block) for block in range(20)]
    assert all(steady_from(ramp[:count]) is None for count in range(21))


def test_a_noisy_ramp_is_not_steady_while_it_lasts() -> None:
    for seed in range(20):
        ramp = [time * (1 - 0.02 * block) for block, time in enumerate(noisy(0.1, 20, 0.002, seed))]
        assert steady_from(ramp) is None


def test_the_blocks_of_a_ramp_do_not_belong_to_the_steady_state_after_it() -> None:
    for seed in range(20):
        ramp = [0.1 * (1.3 - 0.03 * block) for block in range(10)]
        start = steady_from(ramp + noisy(0.1, 15, 0.003, seed))
        assert start is not None
        assert 9 <= start <= 20


@pytest.mark.parametrize("noise", [0.001, 0.01, 0.05, 0.2])
def test_noise_alone_becomes_steady_soon(noise: float) -> None:
    """Within 20 blocks in at least 95 of 100 runs, however loud it is."""
    soon = 0
    for seed in range(100):
        blocks = [abs(time) + 1e-6 for time in noisy(0.1, 20, noise, seed)]
        soon += any(steady_from(blocks[:count]) is not None for count in range(6, 21))
    assert soon >= 95


def test_single_spikes_do_not_matter() -> None:
    for seed in range(50):
        blocks = noisy(0.1, 30, 0.005, seed)
        for index in (4, 11, 12, 22):
            blocks[index] *= 10
        start = steady_from(blocks)
        assert start is not None
        assert start <= 20


def test_a_lasting_slowdown_moves_the_steady_state_behind_it() -> None:
    blocks = noisy(0.1, 12, 0.002) + noisy(0.12, 12, 0.002, seed=1)
    start = steady_from(blocks)
    assert start is not None
    assert start >= 11


def test_the_first_blocks_after_a_slowdown_are_not_yet_steady() -> None:
    assert steady_from(noisy(0.1, 12, 0.002) + noisy(0.12, 3, 0.002, seed=1)) is None


@given(st.lists(st.floats(min_value=1e-6, max_value=1e3), max_size=60))
def test_the_answer_is_an_index_that_leaves_two_windows(blocks: list[float]) -> None:
    start = steady_from(blocks)
    assert start is None or 0 <= start <= len(blocks) - 6


@given(st.lists(st.floats(min_value=1e-3, max_value=1e3), min_size=6, max_size=40), st.sampled_from([0.25, 8.0]))
def test_the_unit_does_not_matter(blocks: list[float], factor: float) -> None:
    assert steady_from(blocks) == steady_from([block * factor for block in blocks])


def test_two_samples_are_never_precise() -> None:
    assert not precise_enough([0.1, 0.1], 0.01)


def test_samples_within_the_wanted_interval_are_precise() -> None:
    assert precise_enough(noisy(0.1, 12, 0.001), 0.01)
    assert not precise_enough(noisy(0.1, 12, 0.1), 0.01)


def test_more_samples_make_the_same_noise_precise() -> None:
    blocks = noisy(0.1, 400, 0.03)
    assert not precise_enough(blocks[:10], 0.01)
    assert precise_enough(blocks, 0.01)
