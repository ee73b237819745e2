import math
import random
import statistics

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.analysis.mean_ratio import mean_within
from traindyno.analysis.noise_scale import gain, noise_scale_of, noise_windows
from traindyno.core.learning import Noise, NoiseReading


def run(pairs: list[tuple[float, float]], steps: int | None = None, training_examples: int = 1000) -> Noise:
    """A run at batch 8 whose readings are pairs of noise trace and squared gradient, one a step."""
    readings = tuple(
        NoiseReading(step=step, examples=8 * step, loss=1.0, gradient_squared=gradient, noise_trace=trace)
        for step, (trace, gradient) in enumerate(pairs)
    )
    return Noise(
        readings=readings,
        micro_batch=8,
        micro_batches=16,
        preconditioned=False,
        training_examples=training_examples,
        steps=steps or len(pairs),
    )


def noisy_run(seed: int, trace: float = 50.0, gradient: float = 1.0, spread: float = 0.3, count: int = 40) -> Noise:
    draw = random.Random(seed)
    return run([(draw.gauss(trace, spread * trace), draw.gauss(gradient, spread * gradient)) for _ in range(count)])


def test_the_noise_scale_is_a_ratio_of_means_and_not_a_mean_of_ratios() -> None:
    estimate = noise_scale_of([run([(10.0, 1.0), (10.0, 0.1), (10.0, 1.0), (10.0, 0.1), (10.0, 0.55)] * 20)])
    assert estimate.value == pytest.approx(10 / 0.55, rel=0.02)


def test_a_time_counts_by_the_progress_of_its_steps_and_not_by_the_length_of_its_gradients() -> None:
    """Half of the run at noise scale 8 and long gradients, half at 24 and short ones, at batch 8.

    A step is worth 1/2 and 1/4 of a noiseless one, so the way is 2/3 and 1/3 of the least steps: 2/3 · 8 + 1/3 · 24.
    """
    estimate = noise_scale_of([run([(8000.0, 1000.0)] * 200 + [(24.0, 1.0)] * 200)])
    assert estimate.value == pytest.approx(16 / 3 + 24 / 3, rel=0.02)


def test_a_time_of_low_rates_counts_for_less() -> None:
    """The second half at a hundredth of the rate is hardly a part of the way."""
    readings = run([(8.0, 1.0)] * 50 + [(80.0, 1.0)] * 50).readings
    rated = [msgspec.structs.replace(reading, learning_rate=1.0 if reading.step < 50 else 0.01) for reading in readings]
    whole = msgspec.structs.replace(run([(8.0, 1.0)]), readings=tuple(rated), steps=100)
    assert noise_scale_of([whole]).value == pytest.approx(8, rel=0.02)


def test_runs_may_have_been_read_more_or_less_often() -> None:
    estimate = noise_scale_of([run([(10.0, 1.0)] * 30), run([(10.0, 1.0)] * 5)])
    assert estimate.value == pytest.approx(10)


@given(st.floats(0.01, 1000), st.floats(1e-6, 1e6))
def test_the_unit_of_gradients_does_not_matter(noise_scale: float, unit: float) -> None:
    pairs = [(noise_scale * unit * factor, unit * factor) for factor in (1.1, 0.9, 1.0, 1.05)]
    estimate = noise_scale_of([run(pairs)])
    assert estimate.value == pytest.approx(noise_scale, rel=1e-6)


def test_a_gradient_that_may_be_nothing_has_no_noise_scale() -> None:
    estimate = noise_scale_of([run([(50.0, 1.0), (50.0, -0.9), (50.0, 1.1), (50.0, -1.0)])])
    assert estimate.value is None
    assert estimate.ci95 is None
    assert noise_scale_of([]).value is None


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    intervals = [noise_scale_of([noisy_run(1000 * trial + seed) for seed in range(3)]).ci95 for trial in range(200)]
    covering = [low <= 50 <= high for low, high in (interval or (0.0, 0.0) for interval in intervals)]
    assert sum(covering) / len(covering) >= 0.93
    assert all(interval is not None and interval[1] / interval[0] < 4 for interval in intervals)


@pytest.mark.parametrize("batch_size", [16, 256, 16384])
def test_a_batch_above_the_noise_scale_makes_the_estimate_neither_too_high_nor_too_sure(batch_size: int) -> None:
    """Single readings cannot tell the gradient: it is 1 with a deviation of 1, beside noise of 200."""
    ratios, covering = [], 0
    for trial in range(100):
        noisy = noisy_run(trial, trace=200.0, gradient=1.0, spread=1.0, count=50)
        chance = random.Random(trial)
        readings = tuple(
            msgspec.structs.replace(each, examples=batch_size * each.step, noise_trace=chance.gauss(200.0, 10.0))
            for each in noisy.readings
        )
        estimate = noise_scale_of([msgspec.structs.replace(noisy, readings=readings)])
        assert estimate.value is not None
        assert estimate.ci95 is not None
        ratios.append(estimate.value / 200)
        covering += estimate.ci95[0] <= 200 <= estimate.ci95[1]
    assert statistics.median(ratios) == pytest.approx(1, abs=0.06)
    assert covering >= 90


def test_neighbours_that_share_a_reading_count_for_less_than_as_many_independent_ones() -> None:
    """The relative variance of a variance from n differences of neighbours is about 3/n, and not 2/n."""
    found = mean_within([[(float(number % 3), 1.0) for number in range(31)]])
    assert found is not None
    assert found.degrees_of_freedom == 20


def test_runs_that_differ_widen_the_interval() -> None:
    alike = noise_scale_of([noisy_run(1), noisy_run(2), noisy_run(3)]).ci95
    unlike = noise_scale_of([noisy_run(1), noisy_run(2, trace=80), noisy_run(3, trace=20)]).ci95
    assert alike is not None
    assert unlike is not None
    assert unlike[0] < alike[0] < alike[1] < unlike[1]


def test_a_trend_over_training_is_not_taken_for_chance() -> None:
    """The gradient falls a hundredfold over the run; readings themselves are exact."""
    falling = run([(10.0, 100.0 ** (1 - step / 99)) for step in range(100)])
    interval = noise_scale_of([falling]).ci95
    assert interval is not None
    assert interval[1] / interval[0] < 1.05


def test_a_gradient_that_grows_fainter_shows_in_the_windows() -> None:
    pairs = [(50.0 + step % 3, 2.0 - step / 100 + 0.01 * (step % 2)) for step in range(100)]
    windows = noise_windows([run(pairs), run(pairs)], batch_size=10)
    assert [(window.first_step, window.last_step) for window in windows] == [(0, 25), (25, 50), (50, 75), (75, 100)]
    scales = [window.noise_scale or math.nan for window in windows]
    assert scales == sorted(scales)
    assert scales[-1] > 1.5 * scales[0]
    assert windows[-1].epochs == pytest.approx(1.0)


def test_a_window_without_a_significant_gradient_is_there_without_a_value() -> None:
    pairs = [(50.0, 1.0 + 0.01 * (step % 2)) for step in range(50)] + [(50.0, (-1.0) ** step) for step in range(50)]
    windows = noise_windows([run(pairs)], batch_size=10, windows=2)
    assert windows[0].noise_scale == pytest.approx(50, rel=0.1)
    assert windows[1].noise_scale is None


def test_runs_cut_short_have_no_windows_where_nothing_was_read() -> None:
    cut = msgspec.structs.replace(run([(50.0, 1.0), (51.0, 1.0)] * 5), steps=100)
    assert [window.first_step for window in noise_windows([cut], batch_size=10)] == [0]


@given(st.floats(0.1, 1e4), st.integers(1, 4096), st.integers(1, 4096))
def test_the_gain_lies_between_none_and_linear(noise_scale: float, reference: int, size: int) -> None:
    factor = gain(noise_scale, reference, size)
    linear = size / reference
    assert min(1.0, linear) * (1 - 1e-9) <= factor <= max(1.0, linear) * (1 + 1e-9)
    assert factor * gain(noise_scale, size, reference) == pytest.approx(1)
