import itertools
import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traindyno.analysis.gradient_moments import Moments, gradient_squared, noise_trace

Vector = Sequence[float]


def mean(vectors: Sequence[Vector]) -> list[float]:
    return [math.fsum(column) / len(vectors) for column in zip(*vectors, strict=True)]


def squared(vector: Vector) -> float:
    return math.fsum(value * value for value in vector)


def distance(a: Vector, b: Vector) -> float:
    return squared([x - y for x, y in zip(a, b, strict=True)])


def moments(drawn: Sequence[Vector], micro_batch: int, examples: int) -> Moments:
    """What a reading keeps of a draw."""
    parts = [mean(drawn[first : first + micro_batch]) for first in range(0, len(drawn), micro_batch)]
    center = mean(parts)
    return Moments(
        mean_squared=squared(center),
        distances_squared=math.fsum(distance(part, center) for part in parts),
        micro_batch=micro_batch,
        micro_batches=len(parts),
        training_examples=examples,
    )


numbers = st.floats(-10, 10)


@settings(max_examples=25)
@given(st.lists(st.tuples(numbers, numbers), min_size=4, max_size=4), st.sampled_from([(1, 2), (2, 2), (1, 3), (3, 2)]))
def test_over_all_independent_draws_both_estimates_are_exact(
    population: list[tuple[float, float]], plan: tuple[int, int]
) -> None:
    """Every choice of micro-batches is a draw, so that the mean over them is the expectation itself."""
    micro_batch, count = plan
    choices = list(itertools.combinations(population, micro_batch))
    chosen = itertools.product(choices, repeat=count)
    draws = [moments([each for part in parts for each in part], micro_batch, 4) for parts in chosen]
    center = mean(population)
    trace = math.fsum(distance(each, center) for each in population) / 4
    assert math.fsum(map(noise_trace, draws)) / len(draws) == pytest.approx(trace, rel=1e-9, abs=1e-9)
    assert math.fsum(map(gradient_squared, draws)) / len(draws) == pytest.approx(squared(center), rel=1e-9, abs=1e-9)


def test_noise_that_is_drawn_anew_each_time_leaves_the_gradient_unbiased_on_little_data() -> None:
    """Half of the noise comes from the examples, which are few, and half from crops or dropout, which never run out."""
    draw = random.Random(3)
    examples = [draw.gauss(0.4, 2.0) for _ in range(32)]
    exact = (math.fsum(examples) / 32) ** 2

    def reading() -> Moments:
        parts = [draw.sample(examples, 2) for _ in range(16)]
        return moments([[each + draw.gauss(0, 2.0)] for part in parts for each in part], 2, 32)

    found = [gradient_squared(reading()) for _ in range(20_000)]
    average = math.fsum(found) / len(found)
    error = math.sqrt(math.fsum((each - average) ** 2 for each in found)) / len(found)
    assert abs(average - exact) < 4 * error
    assert error < 0.05 * 8 / 32  # what a correction for a draw of all examples would leave out


def test_from_a_large_set_of_gaussian_gradients_the_truth_comes_out() -> None:
    draw = random.Random(1)
    readings = [moments([[draw.gauss(0.5, 2.0) for _ in range(4)] for _ in range(64)], 8, 10**9) for _ in range(1000)]
    assert math.fsum(map(noise_trace, readings)) / 1000 == pytest.approx(16, rel=0.05)
    assert math.fsum(map(gradient_squared, readings)) / 1000 == pytest.approx(1, rel=0.05)


def test_a_linear_model_has_the_noise_of_its_residuals() -> None:
    """Gradients of ½(w·x − y)² at w = 0 are −x·y: for y = x·u + noise their mean is −u, their trace known."""
    draw = random.Random(2)
    u = (1.0, -1.0, 0.5)

    def gradient() -> list[float]:
        x = [draw.gauss(0, 1) for _ in u]
        y = sum(a * b for a, b in zip(x, u, strict=True)) + draw.gauss(0, 2.0)
        return [-a * y for a in x]

    readings = [moments([gradient() for _ in range(64)], 8, 10**9) for _ in range(2000)]
    length = squared(u)
    trace = len(u) * (length + 4.0) + length  # the fourth moments of x give |u|² (d + 1), the noise d · 4
    assert math.fsum(map(noise_trace, readings)) / 2000 == pytest.approx(trace, rel=0.05)
    assert math.fsum(map(gradient_squared, readings)) / 2000 == pytest.approx(length, rel=0.05)
