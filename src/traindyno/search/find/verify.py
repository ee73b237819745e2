"""The rounds behind `verify`: two ways to train, by turns."""

from collections.abc import Sequence

from traindyno.analysis.find.rounds import Entry
from traindyno.analysis.find.verify import entries_of
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.core.setups import Setup
from traindyno.search.find.rounds import one_round
from traindyno.search.find.trials import Trials
from traindyno.search.replaying import Trying, replay
from traindyno.search.strategy import Proposal


class VerifyPlan:
    """The strategy behind `verify`. The template says workload, budget of a trial, seed and limits."""

    def __init__(
        self,
        template: TrialSpec,
        baseline: Setup,
        recommended: Setup,
        *,
        has_data: bool,
        repeats: int = 5,
        seed: int = 0,
    ) -> None:
        self._trials = Trials(template, has_data=has_data)
        self._setups = (baseline, recommended)
        self._repeats, self._seed = max(2, repeats), seed

    def ask(self, history: Sequence[TrialRecord]) -> Proposal | None:
        wanted = replay(self._study(entries_of(*self._setups)), history)
        if wanted is None:
            return None
        return Proposal(spec=wanted.spec, reason=wanted.reason, expected_trials=len(set(self._setups)) * self._repeats)

    def entries(self, history: Sequence[TrialRecord]) -> tuple[Entry, ...]:
        """Both, with what the trials so far have shown."""
        entries = entries_of(*self._setups)
        replay(self._study(entries), history)
        return entries

    def _study(self, entries: Sequence[Entry]) -> Trying[None]:
        for number in range(self._repeats):
            yield from one_round(self._trials, entries, number, self._seed, self._repeats)
            if any(entry.failure is not None for entry in entries):
                return
