"""Each candidate against the incumbent, and which of those that pass is the one to take."""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.rounds.adoption_runs import CandidateRuns
from traindyno.analysis.rounds.evidence import Evidence, Failures, evidence_of, judge
from traindyno.analysis.rounds.simplicity import is_simpler
from traindyno.analysis.row_comparisons import holm
from traindyno.core.answers.rounds import AdoptVerdict
from traindyno.core.base import Record


class Judged(Record, frozen=True):
    """A candidate with what its runs show; all null while runs are missing."""

    runs: CandidateRuns
    evidence: Evidence | None = None
    p_value: float | None = None
    verdict: AdoptVerdict | None = None


def judge_candidates(
    incumbent: CandidateRuns, others: Sequence[CandidateRuns], level: float, minimum_gain: float
) -> tuple[Judged, ...]:
    """Each against the incumbent, corrected for how many there are; unjudged while any run is still to come."""
    if not all(runs.complete for runs in (incumbent, *others)):
        return tuple(Judged(runs=runs) for runs in others)
    found = [_evidence(incumbent, runs, level) for runs in others]
    corrected = [value or 1.0 for value in holm([each.p_value for each in found])]
    return tuple(
        Judged(
            runs=runs,
            evidence=each,
            p_value=p_value,
            verdict=judge(each, p_value, level, minimum_gain, _failures(incumbent, runs)),
        )
        for runs, each, p_value in zip(others, found, corrected, strict=True)
    )


def _failures(incumbent: CandidateRuns, runs: CandidateRuns) -> Failures:
    return Failures(incumbent=incumbent.failed, candidate=runs.failed, seeds=len(runs.trials))


def _evidence(incumbent: CandidateRuns, runs: CandidateRuns, level: float) -> Evidence:
    """What failed has no score of its own, and what is made up has no interval."""
    found = evidence_of(incumbent.sample, runs.sample, level)
    return msgspec.structs.replace(found, ci95=None) if incumbent.failed or runs.failed else found


def best_of(judged: Sequence[Judged], level: float, minimum_gain: float, target: str | None = None) -> Judged | None:
    """The best of those to adopt, or else of all that have runs. `target` is the field that the round asks about.

    Where tuning again what there is passes too, another value of the target must be better than that, and not only
    better than an incumbent that nobody had tuned: luck alone would else choose between the two. So it is with a
    simpler one that the best is not shown to be better than: it is taken.
    """
    passed = [each for each in judged if each.verdict == "adopt"]
    if not passed:
        return max((each for each in judged if each.runs.scores), key=_standing, default=None)
    eligible = _eligible(passed, level, minimum_gain, target)
    best = max(eligible, key=_standing)
    beaten = told_apart(best, eligible, level, minimum_gain)
    simpler = [each for each in eligible if each.runs.label not in beaten and _is_simpler(each, best)]
    return max(simpler, key=_standing, default=best)


def told_apart(winner: Judged, judged: Sequence[Judged], level: float, minimum_gain: float) -> tuple[str, ...]:
    """Those that pass too, but that one is shown to be better than, as if they were the incumbent."""
    passed = [each for each in judged if each.verdict == "adopt" and each is not winner]
    return tuple(each.runs.label for each in passed if _beats(winner, each, level, minimum_gain))


def _eligible(passed: Sequence[Judged], level: float, minimum_gain: float, target: str | None) -> Sequence[Judged]:
    """Of those that pass, the ones that tuning again what there is does not make needless."""
    unchanged = [each for each in passed if target is not None and target not in each.runs.candidate.changes]
    if not unchanged:
        return passed
    own = max(unchanged, key=_standing)
    others = [each for each in passed if each not in unchanged]
    against = judge_candidates(own.runs, [each.runs for each in others], level, minimum_gain)
    better = [each for each, beside in zip(others, against, strict=True) if beside.verdict == "adopt"]
    return better or unchanged


def _beats(one: Judged, other: Judged, level: float, minimum_gain: float) -> bool:
    (beside,) = judge_candidates(other.runs, [one.runs], level, minimum_gain)
    return beside.verdict == "adopt"


def _is_simpler(one: Judged, other: Judged) -> bool:
    return is_simpler(one.runs.candidate.values, other.runs.candidate.values)


def _standing(judged: Judged) -> tuple[int, float]:
    """By the mean; those that fail more often than others come after them whatever their mean."""
    return -judged.runs.failed, judged.runs.sample.mean
