"""The fresh runs of each candidate, as one figure each. A run that failed counts as the worst of any.

A run that was lost says nothing of its values, and counts as one that is still to come.
"""

import math
from collections.abc import Sequence

import msgspec

from traindyno.analysis.rounds.trials import round_trials, sign, timed_alone
from traindyno.analysis.row_comparisons import Sample
from traindyno.core.base import Record
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord
from traindyno.core.requests import AdoptRequest, Candidate
from traindyno.core.rounds import RoundMetric, RoundTrial

LOST = (Outcome.KILLED, Outcome.INFRASTRUCTURE, Outcome.DATA_ERROR, Outcome.TIMEOUT, Outcome.HANG)
"""Ends that are none of the values' doing, or only a limit's: such a run is to be made again."""


class CandidateRuns(Record, frozen=True):
    """One configuration over its fresh seeds. `scores` are the metric's own, those of failed runs stood in for.

    In `sample` more is better. `complete` says that every run of the latest look has ended, `lost` how many of them
    ended without saying anything. `seconds_alone` are those of whole runs whose times can be compared with others.
    """

    candidate: Candidate
    trials: tuple[RoundTrial, ...]
    scores: tuple[float, ...]
    sample: Sample
    complete: bool
    lost: int = 0
    seconds_alone: tuple[float, ...] = ()

    @property
    def label(self) -> str:
        return self.candidate.label

    @property
    def whole(self) -> tuple[RoundTrial, ...]:
        return tuple(trial for trial in self.trials if trial.feasible)

    @property
    def failed(self) -> int:
        return len(self.trials) - len(self.whole)

    @property
    def mean(self) -> float | None:
        """Null where no run has a score of its own."""
        return math.fsum(self.scores) / len(self.scores) if self.whole else None

    @property
    def sd(self) -> float | None:
        if (mean := self.mean) is None or len(self.scores) < 2:
            return None
        return math.sqrt(math.fsum((score - mean) ** 2 for score in self.scores) / (len(self.scores) - 1))

    @property
    def seconds(self) -> float | None:
        """Of training, of one run that came to its end."""
        return math.fsum(trial.seconds for trial in self.whole) / len(self.whole) if self.whole else None


def candidate_runs(request: AdoptRequest, records: Sequence[TrialRecord]) -> tuple[CandidateRuns, ...]:
    """The runs of every candidate, the incumbent first; only those that were made to prove something."""
    made = [record for record in records if _belongs(record, request.looks[-1])]
    trials = round_trials(request.round, [record for record in made if record.outcome not in LOST])
    lost = [record.spec.draw.arm for record in made if record.outcome in LOST and record.spec.draw is not None]
    worst = worst_score(trials, request.round.metric)
    alone = [trial for trial in round_trials(request.round, timed_alone(made)) if trial.feasible and trial.seconds > 0]
    runs = [
        _runs_of(
            candidate,
            [trial for trial in trials if trial.draw.arm == candidate.label],
            worst,
            request,
            lost.count(candidate.label),
        )
        for candidate in request.candidates
    ]
    return tuple(msgspec.structs.replace(each, seconds_alone=_seconds(alone, each.label)) for each in runs)


def _seconds(trials: Sequence[RoundTrial], label: str) -> tuple[float, ...]:
    return tuple(trial.seconds for trial in trials if trial.draw.arm == label)


def completed_looks(request: AdoptRequest, records: Sequence[TrialRecord]) -> tuple[int, ...]:
    """The looks whose runs are all there: what has been seen."""
    places = range(len(request.looks), 0, -1)
    looks = (msgspec.structs.replace(request, looks=request.looks[:place]) for place in places)
    return next((each.looks for each in looks if all(runs.complete for runs in candidate_runs(each, records))), ())


def _belongs(record: TrialRecord, seeds: int) -> bool:
    draw = record.spec.draw
    return draw is not None and draw.phase == "confirm" and draw.index < seeds


def worst_score(trials: Sequence[RoundTrial], metric: RoundMetric) -> float:
    """What a failed run counts as: the worst that any scored, or guessing where that is worse.

    Where nothing is known of either it is zero, for then all have failed alike.
    """
    seen = [trial.score for trial in trials if trial.feasible]
    known = [score for score in (*seen, *(_guessing(trial.classes, metric) for trial in trials)) if score is not None]
    return (min if metric.higher_is_better else max)(known, default=0.0)


def _guessing(classes: int | None, metric: RoundMetric) -> float | None:
    if not classes:
        return None
    return {"accuracy": 1 / classes, "loss": math.log(classes)}.get(metric.name)


def _runs_of(
    candidate: Candidate, trials: Sequence[RoundTrial], worst: float, request: AdoptRequest, lost: int
) -> CandidateRuns:
    trials = sorted(trials, key=lambda trial: trial.draw.index)
    scores = tuple(trial.score if trial.feasible and trial.score is not None else worst for trial in trials)
    turn = sign(request.round.metric)
    return CandidateRuns(
        candidate=candidate,
        trials=tuple(trials),
        scores=scores,
        sample=Sample(
            label=candidate.label, values=tuple(turn * score for score in scores), parts=_parts(trials, request)
        ),
        complete=len(trials) >= request.looks[-1],
        lost=lost,
    )


def _parts(trials: Sequence[RoundTrial], request: AdoptRequest) -> int | None:
    """An accuracy is a count of examples, and known no better than to one of them."""
    if request.round.metric.name != "accuracy" or request.recipe is None:
        return None
    return next((trial.evaluation_examples for trial in trials if trial.evaluation_examples), None)
