"""How the time budget is spent: what is left for searching once the last rounds are paid for."""

from traindyno.analysis.find.findings import Findings
from traindyno.analysis.find.rounds import FIRST_ROUND
from traindyno.analysis.switch_losses import LARGEST_BATCH, STEPS
from traindyno.core.records import TrialKind, TrialRecord
from traindyno.search.find.goal import Goal

COMPILING_SECONDS = 60.0
"""Assumed of a model that has not been compiled yet."""

FEWEST_ROUNDS = 2
_STARTING_SECONDS = 2.0
_USUAL_SECONDS: dict[TrialKind, float] = {"pair": 2.0}
"""What a trial takes as a multiple of one that runs end to end, before one of its kind has run."""


class Purse:
    """Decides by what the trials so far took, so that a replayed study decides the same."""

    def __init__(self, goal: Goal, findings: Findings, trial_seconds: float) -> None:
        self._goal, self._findings, self._trial_seconds = goal, findings, trial_seconds

    def affords(self, kind: TrialKind, count: int = 1, extra_seconds: float = 0.0) -> bool:
        """Whether so many trials can be paid for without touching what the last rounds need."""
        return self.left(self._reserve()) >= count * self.cost(kind) + extra_seconds

    def affords_round(self) -> bool:
        """Whether there is time for another round, by what the last one took."""
        rounds = [record for _, record in self._findings.log if record.spec.repeat >= FIRST_ROUND]
        last = max((record.spec.repeat for record in rounds), default=FIRST_ROUND)
        return self.left(0.0) >= sum(record.seconds for record in rounds if record.spec.repeat == last)

    def left(self, reserve: float) -> float:
        budget = self._goal.budget_seconds
        return float("inf") if budget is None else budget - self._findings.spent_seconds - reserve

    def cost(self, kind: TrialKind) -> float:
        """What the last trials of a kind took at most; compiling is counted apart."""
        seconds = [record.seconds for _, record in self._findings.log if record.spec.kind == kind]
        if kind == "losses" and not seconds:
            return self._losses_seconds()
        if kind == "pair":
            seconds = [each.seconds for _, each in self._findings.log if each.spec.kind == kind and not _compiles(each)]
        return max(seconds[-2:]) if seconds else _USUAL_SECONDS.get(kind, 1.0) * self._end_to_end

    def _losses_seconds(self) -> float:
        settings = self._findings.held.settings
        step = self._findings.resident_seconds(settings) or 0.0
        return STEPS * step * min(1.0, LARGEST_BATCH / settings.batch_size) + _STARTING_SECONDS

    def _reserve(self) -> float:
        """The fewest rounds, of the baseline and of what is held."""
        return FEWEST_ROUNDS * (self._baseline + self._end_to_end)

    @property
    def _baseline(self) -> float:
        return self._runs[0] if self._runs else 2 * self._trial_seconds

    @property
    def _end_to_end(self) -> float:
        return self._runs[-1] if self._runs else 2 * self._trial_seconds

    @property
    def _runs(self) -> list[float]:
        return [record.seconds for _, record in self._findings.log if record.spec.kind in ("feed", "speed")]


def _compiles(record: TrialRecord) -> bool:
    arms = (record.spec.settings, record.spec.against)
    return any(each is not None and each.compile != "none" for each in arms)
