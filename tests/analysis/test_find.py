"""Rates that training sustains, gains round by round, and what is promised and kept."""

import math
import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.analysis.find.rates import faster_by
from traindyno.analysis.find.training import rate_factor
from traindyno.analysis.find.verify import still_holds
from traindyno.analysis.sustained import Rate, sustained
from traindyno.core.records import Block, Measurement, Memory


def measured(per_step: list[float], steps: int = 10, warm_up_blocks: int = 0, batch_size: int = 32) -> Measurement:
    blocks = tuple(Block(steps=steps, seconds=steps * each) for each in per_step)
    counted = sorted(each for each in per_step[warm_up_blocks:])
    return Measurement(
        batch_size=batch_size,
        steps=steps * len(counted),
        step_seconds=counted[len(counted) // 2],
        ci95=(counted[0], counted[-1]),
        steady=True,
        blocks=blocks,
        memory=Memory(peak_bytes=1),
        start_up_seconds=0.0,
        first_step_seconds=0.0,
        warm_up_seconds=0.0,
        warm_up_steps=steps * warm_up_blocks,
    )


def rate(seconds: float, batch_size: int = 32) -> Rate:
    return Rate(batch_size=batch_size, step_seconds=seconds, ci95=(0.99 * seconds, 1.01 * seconds))


def test_a_burst_does_not_flatter_the_rate() -> None:
    """Two fast blocks and a slow one again and again: the middle block is fast, an epoch is not."""
    bursts = measured([0.1, 0.1, 0.4] * 4)
    assert bursts.step_seconds == 0.1
    assert sustained(bursts).step_seconds == pytest.approx(0.2)
    assert sustained(bursts).examples_per_second == pytest.approx(160)


def test_the_warm_up_does_not_count() -> None:
    assert sustained(measured([5.0, 5.0, 0.1, 0.1, 0.1], warm_up_blocks=2)).step_seconds == pytest.approx(0.1)


@given(st.lists(st.floats(0.001, 10.0), min_size=1, max_size=30))
def test_a_rate_lies_within_its_interval(per_step: list[float]) -> None:
    found = sustained(measured(per_step))
    assert 0 <= found.ci95[0] <= found.step_seconds * (1 + 1e-9)
    assert found.step_seconds <= found.ci95[1] * (1 + 1e-9)
    low, high = found.interval
    assert low <= found.examples_per_second * (1 + 1e-9)
    assert found.examples_per_second <= high * (1 + 1e-9)


@given(st.floats(0.01, 1.0), st.floats(0.2, 20.0), st.lists(st.floats(0.5, 2.0), min_size=2, max_size=6))
def test_what_slows_a_whole_round_down_does_not_change_the_gain(
    seconds: float, gain: float, slowness: list[float]
) -> None:
    slow = {number: rate(seconds * each) for number, each in enumerate(slowness)}
    fast = {number: rate(seconds * each / gain) for number, each in enumerate(slowness)}
    found = faster_by(fast, slow)
    assert found is not None
    assert found[0] == pytest.approx(gain)
    assert found[1][0] <= gain * (1 + 1e-9)
    assert gain <= found[1][1] * (1 + 1e-9)


def test_a_gain_is_of_examples_and_not_of_steps() -> None:
    """Twice the batch in the same time per step is twice as fast."""
    found = faster_by({0: rate(0.1, 64)}, {0: rate(0.1, 32)})
    assert found is not None
    assert found[0] == pytest.approx(2.0)


def test_rounds_that_only_one_has_do_not_count() -> None:
    found = faster_by({0: rate(0.1), 1: rate(9.0)}, {0: rate(0.2)})
    assert found is not None
    assert found[0] == pytest.approx(2.0)
    assert faster_by({1: rate(0.1)}, {0: rate(0.2)}) is None


def test_the_interval_of_a_gain_holds_the_truth_most_of_the_time() -> None:
    chance, held, studies = random.Random(1), 0, 400
    for _ in range(studies):
        slow = {number: rate(math.exp(chance.gauss(0, 0.03))) for number in range(4)}
        fast = {number: rate(math.exp(chance.gauss(0, 0.03)) / 1.5) for number in range(4)}
        found = faster_by(fast, slow)
        assert found is not None
        held += found[1][0] <= 1.5 <= found[1][1]
    assert 0.92 < held / studies < 0.99


@pytest.mark.parametrize(
    ("speedup", "ci95", "promised", "holds"),
    [
        (1.5, (1.45, 1.55), 1.5, True),
        (1.47, (1.4, 1.52), 1.5, True),
        (1.2, (1.15, 1.25), 1.5, False),
        (1.4, (1.2, 1.6), 1.5, None),
        (1.5, (0.9, 2.5), 1.5, None),
        (0.9, (0.85, 0.95), 1.5, False),
        (1.0, (0.98, 1.02), 1.0, True),
        (1.3, (1.2, 1.4), None, True),
        (0.99, (0.97, 1.01), None, None),
    ],
)
def test_a_promise_is_kept_broken_or_left_open(
    speedup: float, ci95: tuple[float, float], promised: float | None, holds: bool | None
) -> None:
    assert still_holds(speedup, ci95, promised) is holds


def test_the_learning_rate_follows_the_batch_by_the_rule_of_its_optimiser() -> None:
    assert rate_factor(1024, 256, "sgd") == 4
    assert rate_factor(1024, 256, "adam") == 2
    assert rate_factor(64, 256, "adamw") == 0.5


def test_records_of_rates_survive_the_store() -> None:
    found = sustained(measured([0.1, 0.2, 0.3]))
    assert msgspec.json.decode(msgspec.json.encode(found), type=Rate) == found
