"""A simulated job of the user's own: nothing of it is run, and its metric follows from its arguments alone.

The metric is one that should be high, as an accuracy: the profile's `best_accuracy`, less what the arguments lose, with
a spread between seeds. The job reports ten times, and comes nearer to the metric each time.
"""

import math
import random

from msgspec.structs import replace

from traindyno.core.records import Block, Measurement, TrialSpec
from traindyno.core.rounds import JobPoint, JobResult
from traindyno.runner.profile import Profile
from traindyno.runner.simulated_gains import lost_by_arguments

STEPS, REPORTS = 1000, 10
STRETCHES = 6
"""What is left to learn falls by a factor e with each."""


def with_job(profile: Profile, spec: TrialSpec, measurement: Measurement, chance: random.Random) -> Measurement:
    """The whole job counts as one step, as it does where it is run."""
    job = simulate_job(profile, spec, measurement.step_seconds, chance)
    return replace(
        measurement,
        batch_size=1,
        steps=1,
        step_seconds=job.seconds,
        ci95=(job.seconds, job.seconds),
        steady=False,
        blocks=(Block(steps=1, seconds=job.seconds),),
        first_step_seconds=job.points[0].seconds,
        training_seconds=job.seconds,
        loss=None,
        job=job,
    )


def simulate_job(profile: Profile, spec: TrialSpec, step_seconds: float, chance: random.Random) -> JobResult:
    """The last report is of the metric itself."""
    top = max(0.0, profile.best_accuracy - lost_by_arguments(spec.workload.arguments))
    top += chance.gauss(0, profile.seed_spread)
    points = tuple(_point(STEPS * number // REPORTS, top, step_seconds) for number in range(1, REPORTS + 1))
    return JobResult(value=points[-1].value, points=points, seconds=STEPS * step_seconds)


def _point(step: int, top: float, step_seconds: float) -> JobPoint:
    learnt = 1 - math.exp(-STRETCHES * step / STEPS)
    return JobPoint(step=step, value=top * learnt, seconds=step * step_seconds)
