import math
import random
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.analysis.intervals import median_interval
from traindyno.analysis.steady import enough, precise_enough, steady_from


def noisy(level: float, count: int, noise: float, seed: int = 0) -> list[float]:
    source = random.Random(seed)
    return [level * (1 + source.gauss(0, noise)) for _ in range(count)]


def test_one_block_or_two_are_never_steady() -> None:
    assert steady_from([0.1]) is None
    assert steady_from([0.1] * 2) is None


@pytest.mark.parametrize("count", [3, 4, 5])
def test_a_few_blocks_are_steady_if_all_of_them_agree(count: int) -> None:
    """Steps of seconds leave no room for more."""
    assert steady_from([5.0, 5.06, 4.98, 5.02, 5.05][:count]) == 0
    assert steady_from([5.0, 5.2, 4.98, 5.02, 5.05][:count]) is None
    assert steady_from([5.0 - 0.03 * block for block in range(count)]) is None


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
def test_the_answer_is_an_index_that_leaves_two_windows_or_all_of_a_few(blocks: list[float]) -> None:
    start = steady_from(blocks)
    assert start is None or 0 <= start <= len(blocks) - 6 or (start == 0 and 3 <= len(blocks) < 6)


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


@pytest.mark.parametrize("noise", [0.01, 0.015, 0.02])
def test_the_interval_at_the_moment_of_stopping_holds_the_truth_about_as_often_as_it_says(noise: float) -> None:
    """In 94 to 95 of 100 cases of independent blocks; to stop at the first narrow interval brought it down to 89."""
    held = 0
    for seed in range(300):
        low, high = median_interval(until_enough(noise, seed))
        held += low <= 1.0 <= high
    assert held >= 0.92 * 300


def until_enough(noise: float, seed: int, most: int = 50) -> list[float]:
    """The blocks that count of a trial that ends when it may, or after the most blocks."""
    source = random.Random(seed)
    blocks: list[float] = []
    while len(blocks) < most and not enough(blocks, 8, partial(precise_enough, relative_interval=0.01)):
        blocks.append(math.exp(source.gauss(0, noise)))
    return blocks[steady_from(blocks) or 0 :]


def test_quiet_blocks_are_enough_when_there_are_just_as_many_as_wanted() -> None:
    precise = partial(precise_enough, relative_interval=0.01)
    assert not enough([0.1] * 7, 8, precise)
    assert enough([0.1] * 8, 8, precise)


def test_an_interval_that_is_narrow_for_the_first_time_is_not_enough() -> None:
    precise = partial(precise_enough, relative_interval=0.01)
    blocks = [1.0, 1.02, 1.0, 0.98, *[1.0] * 8]
    first = next(count for count in range(8, 13) if precise(blocks[:count]))
    assert not enough(blocks[:first], 8, precise)
    assert enough(blocks[: first + 1], 8, precise)


def test_at_least_twice_as_many_blocks_count_as_were_discarded() -> None:
    precise = partial(precise_enough, relative_interval=0.01)
    slow = [0.2] * 6
    assert not enough([*slow, *[0.1] * 10], 8, precise)
    assert enough([*slow, *[0.1] * 13], 8, precise)
