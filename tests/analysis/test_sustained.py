"""Rates over all steps and all time, and intervals that hold the mean."""

import random
from collections.abc import Callable

import pytest

from traindyno.analysis.sustained import mean_interval, sustained, sustained_seconds
from traindyno.core.records import Block, Measurement, Memory


def of_blocks(blocks: tuple[Block, ...], counted: int) -> Measurement:
    return Measurement(
        batch_size=32,
        steps=sum(block.steps for block in blocks[-counted:]),
        step_seconds=1.0,
        ci95=(1.0, 1.0),
        steady=True,
        blocks=blocks,
        memory=Memory(peak_bytes=1),
        start_up_seconds=0.0,
        first_step_seconds=0.0,
        warm_up_seconds=9.0,
        warm_up_steps=1000,
    )


def independent(chance: random.Random, count: int) -> list[float]:
    return [chance.gauss(10, 1) for _ in range(count)]


def alike_to_the_one_before(chance: random.Random, count: int) -> list[float]:
    """Neighbours with a correlation of 0.3."""
    found = [chance.gauss(0, 1)]
    for _ in range(count - 1):
        found.append(0.3 * found[-1] + chance.gauss(0, (1 - 0.3**2) ** 0.5))
    return [10 + each for each in found]


def coverage(draw: Callable[[random.Random, int], list[float]], count: int, rounds: int = 2000) -> float:
    chance = random.Random(1)
    intervals = [mean_interval(draw(chance, count)) for _ in range(rounds)]
    return sum(low <= 10 <= high for low, high in intervals) / rounds


def test_the_blocks_that_count_are_the_last_ones_whatever_was_done_before() -> None:
    blocks = (Block(steps=1, seconds=9.0), *(Block(steps=5, seconds=5.0),) * 3)
    assert sustained(of_blocks(blocks, counted=3)).step_seconds == 1.0
    assert sustained(of_blocks(blocks, counted=4)).step_seconds == pytest.approx(24 / 16)


def test_long_blocks_weigh_more_than_short_ones() -> None:
    seconds, (low, high) = sustained_seconds([Block(steps=1, seconds=4.0), Block(steps=9, seconds=9.0)])
    assert seconds == pytest.approx(1.3)
    assert low <= seconds <= high


def test_a_single_block_may_be_anything() -> None:
    assert mean_interval([1.0]) == (0.0, float("inf"))


@pytest.mark.parametrize("count", [8, 12, 20])
def test_the_interval_holds_the_mean(count: int) -> None:
    assert 0.94 <= coverage(independent, count) <= 0.99
    assert coverage(alike_to_the_one_before, count) >= 0.9


def test_slow_blocks_in_company_leave_more_open_than_the_same_ones_apart() -> None:
    together, apart = [1.0] * 6 + [2.0] * 4, [1.0, 2.0, 1.0, 1.0, 2.0, 1.0, 2.0, 1.0, 1.0, 2.0]
    assert mean_interval(together)[1] - 1.4 > 1.5 * (mean_interval(apart)[1] - 1.4)
