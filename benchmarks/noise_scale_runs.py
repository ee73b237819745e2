"""Runs on scikit-learn's digits for `noise_scale.py`: the product's own course, many in one process."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from traindyno.analysis.intervals import median
from traindyno.core.learning import Recipe
from traindyno.core.records import OptimizerName, Settings, TrialSpec, WorkloadSpec
from traindyno.worker.channel import Channel
from traindyno.worker.devices import open_device
from traindyno.worker.learning.course import Course, open_course

DATA = "digits:"
COARSE, FINE = 2.0, math.sqrt(2)
MOST_MOVES = 12


@dataclass(frozen=True)
class Way:
    """A model, an optimiser, and a rate to begin with at the smallest batch."""

    name: str
    optimizer: OptimizerName
    momentum: float
    first_rate: float
    model: str = "mlp:64"


WAYS = {
    "sgd": Way("sgd", "sgd", 0.0, 0.16),
    "momentum": Way("momentum", "sgd", 0.9, 0.016),
    "adam": Way("adam", "adam", 0.9, 0.004),
}


class Silent(Channel):
    """Progress that nobody watches."""

    def __init__(self) -> None:
        super().__init__(-1)

    def _send(self, kind: str, **fields: Any) -> None:
        pass


@contextmanager
def opened(way: Way, batch_size: int, rate: float, seed: int, **recipe: Any) -> Iterator[Course]:
    """A run that is ready for its first step."""
    given: dict[str, Any] = {"schedule": "constant", "momentum": way.momentum} | recipe
    spec = TrialSpec(
        kind="learn",
        workload=WorkloadSpec(model=way.model, data=DATA, optimizer=way.optimizer),
        settings=Settings(batch_size=batch_size),
        seed=seed,
        recipe=Recipe(learning_rate=rate, **given),
    )
    with open_course(spec, open_device("cpu"), Silent()) as course:
        yield course


def steps_to_loss(way: Way, batch_size: int, rate: float, seed: int, target: float, most_steps: int) -> float:
    """Steps until the loss over all training examples is at the target; between two looks, along their logarithms.

    Looks come at even distances of the logarithm of the steps, so that all batches are looked at alike.
    """
    with opened(way, batch_size, rate, seed, steps=most_steps) as course:
        (everything,) = course.data.micro_batches(course.data.training_examples, 1, 0)
        before, steps_before = math.nan, 0
        for step in looks(most_steps):
            while course.step_count < step:
                course.step()
            with torch.no_grad():
                loss = float(course.job.loss(course.model, everything))
            if not math.isfinite(loss):
                return math.inf
            if loss <= target:
                share = 1.0 if not before > target else math.log(before / target) / math.log(before / loss)
                return steps_before + share * (step - steps_before)
            before, steps_before = loss, step
        return math.inf


def looks(most_steps: int) -> list[int]:
    return sorted({round(1.05**power) for power in range(math.ceil(math.log(most_steps, 1.05)))} | {most_steps})


@dataclass(frozen=True)
class Tuned:
    """The fewest steps over rates, where a parabola through three of them has its end; `by_rate` are medians."""

    batch_size: int
    rate: float
    steps: float
    by_rate: dict[str, float]


def tuned_steps(way: Way, batch_size: int, first_rate: float, seeds: int, target: float, most_steps: int) -> Tuned:
    """Look for the best rate on a coarse and then on a fine grid, with medians over the seeds."""
    medians: dict[str, float] = {}

    def at(rate: float) -> float:
        name = f"{rate:.4g}"
        if name not in medians:
            runs = [steps_to_loss(way, batch_size, rate, seed, target, most_steps) for seed in range(seeds)]
            medians[name] = median(runs)
        return medians[name]

    rate = lowest(at, lowest(at, first_rate, COARSE), FINE)
    top, steps = peak(rate, [at(rate / FINE), at(rate), at(rate * FINE)], FINE)
    return Tuned(batch_size, top, steps, dict(sorted(medians.items(), key=lambda item: float(item[0]))))


def lowest(at: Callable[[float], float], first_rate: float, factor: float) -> float:
    """The rate of the grid whose neighbours are no better. Rates that lead nowhere are too high, so begin high."""
    rate = first_rate
    for _ in range(MOST_MOVES):
        best = min((rate, rate / factor, rate * factor), key=at)
        if best == rate:
            return rate
        rate = best
    raise RuntimeError(f"no best rate from {first_rate} on")


def peak(rate: float, values: Sequence[float], factor: float) -> tuple[float, float]:
    """Where a parabola through values at three rates, `factor` apart, is least; the middle one where there is none."""
    if not all(map(math.isfinite, values)):
        return rate, values[1]
    below, middle, above = map(math.log, values)
    bend = below - 2 * middle + above
    if bend <= 0:
        return rate, values[1]
    shift = (below - above) / (2 * bend)
    return rate * factor**shift, math.exp(middle - (below - above) ** 2 / (8 * bend))


def trained(way: Way, batch_size: int, rate: float, seed: int, **recipe: Any) -> tuple[float, float]:
    """Loss and accuracy at the end of a run, on the evaluation part; a run that lost its numbers has no better loss."""
    with opened(way, batch_size, rate, seed, **recipe) as course:
        while course.step_count < course.planned_steps:
            course.step()
        loss, accuracy = course.evaluate()
    assert accuracy is not None
    return (loss if math.isfinite(loss) else math.inf), accuracy
