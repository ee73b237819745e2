"""How noisy the gradients are, for a search that asks which batch reaches the same loss soonest.

Runs of the recipe are read at the user's own batch, with everything else as it is held. They may take a third of the
budget together; where the whole recipe takes longer, they are shorter and read less often, as long as that says enough.
"""

import math

import msgspec

from traindyno.analysis.find.attempts import NOISE, noise_read, out_of_time
from traindyno.analysis.find.findings import Findings
from traindyno.analysis.find.noise import reading_seconds, training_step_seconds
from traindyno.analysis.noise_runs import noises_of
from traindyno.analysis.noise_scale import UNKNOWN_NOISE, NoiseEstimate, noise_scale_of
from traindyno.core.learning import NoisePlan, Recipe
from traindyno.core.records import TrialRecord
from traindyno.search.find.hunt import Hunt
from traindyno.search.find.purse import NOISE_SHARE
from traindyno.search.replaying import Trying, Wanted

NOISE_RUNS, FEWEST_RUNS = 3, 2
"""Two give an interval by one difference, which is thirteen standard errors wide; one says nothing of others."""

SIZES_TO_FOLLOW = 3
"""Trials of batch sizes, without which a noise scale is of no use."""

FEWEST_STEPS, FEWEST_READINGS = 100, 10
READING_SHARE = 0.5
"""Of a run that is cut to the time there is."""

STARTING_SECONDS = 2.0
SAFELY = 1.5
"""What a run takes is foretold from other kinds of trials."""

FIRST_SEED = 1000
"""So far from the bench's own are the seeds of these runs."""


def know_the_noise(hunt: Hunt) -> Trying[None]:
    """The noise scale as it was given, or as runs have shown it; unknown where time is short or they do not tell."""
    goal, findings = hunt.goal, hunt.findings
    if goal.noise_scale is not None:
        findings.noise = NoiseEstimate(value=goal.noise_scale, ci95=None)
        return
    findings.noise = UNKNOWN_NOISE
    affordable = (_within(hunt, runs) for runs in range(NOISE_RUNS, FEWEST_RUNS - 1, -1))
    run = next((each for each in affordable if each is not None), None)
    if run is None:
        findings.attempts.append(out_of_time("batch", NOISE))
        return
    recipe, plan = run
    findings.noise_share = 1.0 if recipe.steps is None else recipe.steps / _planned_steps(findings, recipe)
    records: list[TrialRecord] = []
    while len(records) < NOISE_RUNS and (not records or _affords_another(hunt, records)):
        spec = hunt.trials.noise(findings.held, recipe, plan, goal.seed + FIRST_SEED + len(records))
        reason = f"{NOISE}, run {len(records) + 1} of {NOISE_RUNS}"
        records.append((yield Wanted(spec=spec, reason=reason)))
    findings.noise = noise_scale_of(noises_of(records))
    findings.attempts.append(noise_read(findings.noise, records))


def _affords_another(hunt: Hunt, records: list[TrialRecord]) -> bool:
    """One that failed would fail again."""
    following = SIZES_TO_FOLLOW * hunt.purse.prices.cost("speed")
    return records[-1].measurement is not None and hunt.purse.affords("noise", extra_seconds=following)


def _within(hunt: Hunt, runs: int) -> tuple[Recipe, NoisePlan] | None:
    """The recipe and its readings, or as much of both as so many runs have time for; null where that is too little."""
    recipe, plan, findings = hunt.goal.recipe, NoisePlan(), hunt.findings
    step_seconds = training_step_seconds(findings)
    if recipe is None or step_seconds is None:
        return None
    reading = reading_seconds(findings, plan, step_seconds)
    seconds = _seconds(hunt) / runs / SAFELY - STARTING_SECONDS
    if seconds >= _planned_steps(findings, recipe) * step_seconds + plan.readings * reading:
        return recipe, plan
    readings = min(plan.readings, int(READING_SHARE * seconds / reading))
    steps = int((seconds - readings * reading) / step_seconds)
    if readings < FEWEST_READINGS or steps < FEWEST_STEPS:
        return None
    return msgspec.structs.replace(recipe, steps=steps), msgspec.structs.replace(plan, readings=readings)


def _seconds(hunt: Hunt) -> float:
    """For all runs together."""
    budget = hunt.purse.budget_seconds
    if budget is None:
        return math.inf
    left = hunt.purse.spare() - SIZES_TO_FOLLOW * hunt.purse.prices.cost("speed")
    return min(NOISE_SHARE * budget, left)


def _planned_steps(findings: Findings, recipe: Recipe) -> float:
    """Of the whole recipe; without end where nobody knows how many examples an epoch has."""
    examples = findings.examples_in_data or math.inf
    return recipe.epochs * examples / findings.held.settings.batch_size
