"""Simulated adoptions: a search in every arm, its best, fresh seeds, the product's own verdict; part of `rounds.py`.

Scores are in units of the spread between seeds. Part of the search space is as good as the incumbent and nothing is
better, or all of it is; so whatever is adopted is adopted by mistake.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from traindyno.analysis.rounds.adoption_choice import best_of, judge_candidates
from traindyno.analysis.rounds.adoption_runs import CandidateRuns
from traindyno.analysis.rounds.power import level_of_look
from traindyno.analysis.row_comparisons import Sample
from traindyno.core.requests import Candidate

ARMS, POINTS = 3, 20
TARGET, OWN_ARM = "target", str(ARMS)
"""The last of all candidates has the incumbent's own value of the target, and the others have others."""
Array = numpy.ndarray[Any, Any]
Generator = numpy.random.Generator
Draw = Callable[[Generator, Array, int], Array]
Rows = list[dict[str, Any]]


def normal(generator: Generator, means: Array, runs: int) -> Array:
    """Runs of each mean, one row each."""
    return means[:, None] + generator.normal(size=(len(means), runs))


def skewed(generator: Generator, means: Array, runs: int) -> Array:
    """Most runs near each other, and now and then one that went wrong."""
    return means[:, None] + 1.0 - generator.exponential(size=(len(means), runs))


def accuracies(generator: Generator, means: Array, runs: int) -> Array:
    """Right answers among 360, of which a spread is about three: many runs tie."""
    return numpy.round(345 + 3 * normal(generator, means, runs)) / 3


def uneven(generator: Generator, means: Array, runs: int) -> Array:
    """Candidates whose seeds differ twice as much as the incumbent's, which is the first."""
    spread = numpy.where(numpy.arange(len(means)) == 0, 1.0, 2.0)
    return means[:, None] + spread[:, None] * generator.normal(size=(len(means), runs))


SPREADS: dict[str, Draw] = {"normal": normal, "skewed": skewed, "tied accuracies": accuracies, "uneven": uneven}


def flat(places: Array) -> Array:
    """Every point is as good as the incumbent: nothing to gain, and nothing to lose by luck."""
    return numpy.zeros_like(places)


def peaked(places: Array) -> Array:
    """The incumbent sits at the best point of all; others fall off to three spreads below."""
    return -3 * (2 * places - 1) ** 2


def naive(rounds: int, seed: int) -> Rows:
    """What is usually done: the best run of 20, against one run of the incumbent."""
    generator = numpy.random.default_rng(seed)
    lead = generator.normal(size=(100 * rounds, POINTS)).max(axis=1) - generator.normal(size=100 * rounds)
    return [
        _rate(f"best of {POINTS} against one run, {words}", int((lead > margin).sum()), len(lead))
        for words, margin in (("any lead", 0.0), ("a lead of more than one sd", 1.0))
    ]


def false_adoption(rounds: int, seed: int) -> Rows:
    """The whole procedure, where nothing is better than the incumbent. Goal: at most 5 %."""
    cases = [("flat", flat, spread, looks) for spread in SPREADS for looks in ((6,), (6, 12))]
    cases += [
        ("peaked", peaked, "normal", (6, 12)),
        ("flat", flat, "normal", (4,)),
        ("flat", flat, "normal", (6, 9, 14)),
    ]
    rows = []
    for name, surface, spread, looks in cases:
        generator = numpy.random.default_rng([seed, len(rows)])
        adopted = sum(_adopts(generator, surface, SPREADS[spread], looks) for _ in range(rounds))
        words = f"{name} surface, {spread}, {ARMS} arms, looks at {', '.join(map(str, looks))} seeds"
        rows.append(_rate(words, adopted, rounds))
    return [*rows, *_target_without_effect(rounds, seed)]


def _target_without_effect(rounds: int, seed: int) -> Rows:
    """The incumbent was tuned badly: tuning it again gains as much as any other value of the target does."""
    rows = []
    for gain in (1.0, 3.0):
        generator = numpy.random.default_rng([seed, 100, int(gain)])
        means = numpy.array([0.0, *[gain] * ARMS])
        found = [_verdict(normal(generator, means, 6), 0) for _ in range(rounds)]
        adopted = sum(verdict == "adopt" and label != OWN_ARM for verdict, label in found)
        words = f"another value of a target without effect, where tuning again gains {gain:g} sd, 6 seeds"
        rows.append(_rate(words, adopted, rounds))
    return rows


def power(rounds: int, seed: int) -> Rows:
    """How often a true gain is adopted at the first look, by how many candidates there are."""
    rows = []
    for seeds in (4, 6, 10):
        # Ten of each have 184,756 splits to count, so fewer rounds must do.
        count = rounds if seeds < 10 else min(rounds, 500)
        for candidates in (1, 3):
            for gain in (1.0, 2.0, 3.0):
                generator = numpy.random.default_rng([seed, seeds, candidates, int(gain)])
                means = numpy.array([0.0, gain, *[0.0] * (candidates - 1)])
                adopted = sum(_verdict(normal(generator, means, seeds), 0) == ("adopt", "1") for _ in range(count))
                words = f"gain of {gain:g} sd, {seeds} seeds, {candidates} candidate{'s' if candidates > 1 else ''}"
                rows.append(_rate(words, adopted, count))
    return rows


def _adopts(generator: Generator, surface: Callable[[Array], Array], draw: Draw, looks: Sequence[int]) -> bool:
    """One round: search, take the best of each arm, then look at fresh seeds until something is decided."""
    truth = surface(generator.random((ARMS, POINTS)))
    seen = numpy.stack([draw(generator, numpy.r_[0.0, row], 1)[1:, 0] for row in truth])
    means = numpy.r_[0.0, truth[numpy.arange(ARMS), seen.argmax(axis=1)]]
    scores = draw(generator, means, max(looks))
    for look, seeds in enumerate(looks):
        verdict, _ = _verdict(scores[:, :seeds], look)
        if verdict != "undecided":
            return verdict == "adopt"
    return False


def _verdict(scores: Array, look: int) -> tuple[str | None, str]:
    """The product's own, on rows of scores of which the first is the incumbent's."""
    incumbent, *others = (_runs(str(number), row) for number, row in enumerate(scores))
    level = level_of_look(look)
    best = best_of(judge_candidates(incumbent, others, level, minimum_gain=0.0), level, minimum_gain=0.0, target=TARGET)
    assert best is not None
    return best.verdict, best.runs.label


def _runs(label: str, row: Array) -> CandidateRuns:
    scores = tuple(map(float, row))
    sample = Sample(label=label, values=scores)
    changes = {} if label == OWN_ARM else {TARGET: label}
    candidate = Candidate(label=label, values={}, changes=changes)
    return CandidateRuns(candidate=candidate, trials=(), scores=scores, sample=sample, complete=True)


def _rate(words: str, count: int, rounds: int) -> dict[str, Any]:
    """A share of rounds with twice its standard error."""
    share = count / rounds
    return {
        "case": words,
        "adopted": share,
        "plus_or_minus": 2 * math.sqrt(share * (1 - share) / rounds),
        "rounds": rounds,
    }
