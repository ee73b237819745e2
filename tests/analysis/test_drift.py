import math
import random

import pytest

from analysis.making import failed, ran
from traindyno.analysis.drift import drift_percent
from traindyno.core.records import TrialRecord


def study(drift: float, noise: float = 0.0, rounds: int = 3, seed: int = 0) -> list[TrialRecord]:
    """Rounds over five sizes whose steps become longer by `drift` (on the log scale) from first to last."""
    source = random.Random(seed)
    order = [(size, turn) for turn in range(rounds) for size in source.sample([8, 16, 32, 64, 128], 5)]
    last = len(order) - 1
    return [
        ran(size, 0.01 * size * math.exp(drift * index / last + source.gauss(0, noise)), repeat=turn)
        for index, (size, turn) in enumerate(order)
    ]


def test_a_steady_machine_does_not_drift() -> None:
    found = drift_percent(study(0.0))
    assert found is not None
    assert found[0] == pytest.approx(0, abs=1e-9)


def test_drift_is_the_change_over_the_whole_study() -> None:
    """Positions are the middles of trials, which together span 14/15 of the time of 15 equal trials."""
    found = drift_percent(study(math.log(1.1)))
    assert found is not None
    percent, (low, high) = found
    assert percent == pytest.approx(100 * (1.1 ** (15 / 14) - 1), rel=1e-6)
    assert low == pytest.approx(high, rel=1e-3)


def test_the_interval_covers_the_true_drift_as_often_as_it_says() -> None:
    true = 15 / 14 * 0.05
    hits = 0
    for seed in range(1000):
        found = drift_percent(study(0.05, noise=0.01, seed=seed))
        assert found is not None
        hits += found[1][0] <= 100 * math.expm1(true) <= found[1][1]
    assert 0.93 <= hits / 1000 <= 0.97


def test_too_few_repeats_say_nothing() -> None:
    assert drift_percent([]) is None
    assert drift_percent([ran(8), ran(16), failed(32)]) is None
    assert drift_percent([ran(8), ran(16), ran(8, repeat=1), ran(16, repeat=1)]) is None


def test_trials_of_another_kind_do_not_count() -> None:
    assert drift_percent([ran(8, 0.1 + 0.01 * turn, kind="fit", repeat=turn) for turn in range(8)]) is None
