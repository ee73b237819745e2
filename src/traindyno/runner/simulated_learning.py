"""A simulated run that learns: accuracy that rises with steps, and the noise of its gradients.

What is left to learn falls by a factor e with each stretch of the way. Data is always there in time. What the model
and its regularisation gain is added to the accuracy at the end of the way, and taken from the loss.
"""

import math
import random
from itertools import pairwise

from msgspec.structs import replace

from traindyno.core.learning import Evaluation, Learning, Noise, NoiseReading
from traindyno.core.records import Block, Measurement, TrialSpec
from traindyno.runner.profile import Profile
from traindyno.runner.simulated_gains import gain_of
from traindyno.runner.simulated_pace import Pace

CLASSES = 10
PLAIN_LOSS, LEAST_LOSS = math.log(CLASSES), 0.2
LOSS_OF_ACCURACY = 5.0
"""By how much the loss falls where a model can be so much more accurate."""
EVALUATION_SHARE = 0.2
"""Examples to evaluate on, beside those to train on."""
FEW_TO_NORMALISE, LOST_BY_FEW = 16, 0.02
"""Batch normalisation over fewer examples costs so much accuracy for each halving."""
DIMENSIONS = 100
"""Of the space in which gradients vary: the more, the less an estimate from few of them does."""

LEAST_GRADIENT = 0.05
"""Its squared length, when there is nothing left to learn, beside that at the start."""


def with_learning(profile: Profile, spec: TrialSpec, measurement: Measurement, chance: random.Random) -> Measurement:
    """The measurement of a trial that learns, or that reads the noise of its gradients while it does."""
    if spec.kind == "noise":
        noise = simulate_noise(profile, spec, chance)
        block = Block(steps=noise.steps, seconds=noise.steps * measurement.step_seconds)
        return replace(measurement, noise=noise, steps=noise.steps, blocks=(block,))
    learning = simulate_learning(profile, spec, measurement.step_seconds, chance)
    stretches = pairwise((0, *(evaluation.step for evaluation in learning.evaluations)))
    lengths = [last - first for first, last in stretches]
    return replace(
        measurement,
        learning=learning,
        steps=learning.steps,
        loss=learning.evaluations[-1].loss,
        blocks=tuple(Block(steps=steps, seconds=steps * measurement.step_seconds) for steps in lengths),
    )


def simulate_learning(profile: Profile, spec: TrialSpec, step_seconds: float, chance: random.Random) -> Learning:
    """The run that the trial's recipe would make; `step_seconds` is how long one step takes."""
    pace = Pace(profile, spec)
    gain = gain_of(profile, spec.workload, pace.recipe)
    lost = _lost_by_norm(pace.norm_examples)
    top = profile.best_accuracy + chance.gauss(0, profile.seed_spread) - lost + gain
    evaluations: list[Evaluation] = []
    step, way, broken = 0, 0.0, pace.breaking_step
    for planned in _evaluated_steps(pace):
        end = planned if broken is None else min(planned, broken)
        way, step = way + pace.way(step, end), end
        place = None if step == broken else way
        evaluations.append(_evaluation(pace, step, step_seconds, place, top, gain, chance))
        if step == broken or _is_reached(pace, evaluations) or _is_behind(spec, evaluations):
            break
    return Learning(
        evaluations=tuple(evaluations),
        steps=step,
        planned_steps=pace.planned_steps,
        examples=step * pace.size,
        seconds=step * step_seconds,
        evaluation_seconds=len(evaluations) * EVALUATION_SHARE * profile.examples / pace.size * step_seconds / 3,
        training_examples=profile.examples,
        evaluation_examples=round(EVALUATION_SHARE * profile.examples),
        classes=CLASSES,
        norm_examples=pace.norm_examples,
        processes=spec.settings.devices,
        reached=evaluations[-2] if step != broken and _is_reached(pace, evaluations) else None,
        diverged=step == broken,
        pruned=step not in (broken, pace.planned_steps) and not _is_reached(pace, evaluations),
        began_finite=True,
    )


def simulate_noise(profile: Profile, spec: TrialSpec, chance: random.Random) -> Noise:
    """Readings of gradients whose noise has the profile's scale, spread as those of so many micro-batches are."""
    assert spec.noise_plan is not None, "a trial that reads gradients has a plan for it"
    plan, pace = spec.noise_plan, Pace(profile, spec)
    size = plan.examples_together(normalises=pace.norm_examples is not None)
    steps = [round(pace.planned_steps * number / plan.readings) for number in range(plan.readings)]
    return Noise(
        readings=tuple(_reading(pace, step, size, plan.micro_batches, chance) for step in steps),
        micro_batch=size,
        micro_batches=plan.micro_batches,
        preconditioned=spec.workload.optimizer != "sgd",
        training_examples=profile.examples,
        steps=pace.planned_steps,
        norm_examples=pace.norm_examples,
    )


def _reading(pace: Pace, step: int, size: int, count: int, chance: random.Random) -> NoiseReading:
    """Both estimates vary as squared lengths of normally distributed vectors do."""
    left = math.exp(-pace.way(0, step))
    squared = LEAST_GRADIENT + left
    trace = squared * pace.profile.noise_scale
    of_mean = trace / (size * count)
    return NoiseReading(
        step=step,
        examples=step * pace.size,
        loss=_loss(1 - left) + chance.gauss(0, 0.01),
        gradient_squared=squared + chance.gauss(0, math.sqrt((4 * squared * of_mean + 2 * of_mean**2) / DIMENSIONS)),
        noise_trace=trace * (1 + chance.gauss(0, math.sqrt(2 / (DIMENSIONS * max(1, count - 1))))),
    )


def _evaluated_steps(pace: Pace) -> list[int]:
    """The first steps with so many examples behind them, and the last of all."""
    every, planned = pace.recipe.evaluation_examples or pace.profile.examples, pace.planned_steps
    steps = {math.ceil(number * every / pace.size) for number in range(1, planned * pace.size // every + 1)}
    return sorted({step for step in steps if step < planned} | {planned})


def _evaluation(
    pace: Pace, step: int, step_seconds: float, way: float | None, top: float, gain: float, chance: random.Random
) -> Evaluation:
    """After so many stretches; null where the numbers were lost."""
    learnt = 0.0 if way is None else 1 - math.exp(-way)
    accuracy = (top - 1 / CLASSES) * learnt + 1 / CLASSES + chance.gauss(0, 0.001)
    gained = LOSS_OF_ACCURACY * gain * learnt
    loss = math.nan if way is None else _loss(learnt) + abs(chance.gauss(0, 0.003)) - gained
    return Evaluation(
        step=step,
        examples=step * pace.size,
        seconds=step * step_seconds,
        loss=loss,
        accuracy=min(1.0, max(0.0, accuracy)),
        training_loss=0.95 * loss,
        learning_rate=pace.rate(step - 1),
    )


def _loss(learnt: float) -> float:
    return PLAIN_LOSS + (LEAST_LOSS - PLAIN_LOSS) * learnt


def _is_reached(pace: Pace, evaluations: list[Evaluation]) -> bool:
    """Whether the last two have met the target."""
    target = pace.recipe.target
    if target is None or len(evaluations) < 2:
        return False
    return all(target.is_met_by(each.accuracy, each.loss) for each in evaluations[-2:])


def _is_behind(spec: TrialSpec, evaluations: list[Evaluation]) -> bool:
    """Whether the last has missed a floor."""
    return any(floor.is_missed_by(evaluations[-1]) for floor in spec.floors)


def _lost_by_norm(examples: int | None) -> float:
    if examples is None or examples >= FEW_TO_NORMALISE:
        return 0.0
    return LOST_BY_FEW * math.log2(FEW_TO_NORMALISE / examples)
