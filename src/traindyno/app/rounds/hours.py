"""A round whose budget is time: it goes on until its runs have taken so many hours together."""

from collections.abc import Sequence

import msgspec

from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.core.rounds import Round
from traindyno.search.strategy import Proposal, SharedStrategy

SEARCHING = ("search", "exploit")


class WithinHours:
    """Another strategy, until the search has had its hours.

    They are those of the runs, added up: so all processes agree on when it is over, and so does one that goes on with
    the round tomorrow. Runs in others' hands count as long as a run usually takes.
    """

    def __init__(self, strategy: SharedStrategy, hours: float) -> None:
        self._strategy, self._seconds = strategy, 3600 * hours

    def ask(self, finished: Sequence[TrialRecord], running: Sequence[TrialSpec]) -> Proposal | None:
        taken = [record.seconds for record in finished if _is_search(record.spec)]
        usual = sum(taken) / len(taken) if taken else 0.0
        left = self._seconds - sum(taken) - usual * sum(map(_is_search, running))
        proposal = self._strategy.ask(finished, running)
        if proposal is None or not _is_search(proposal.spec):
            return proposal
        if left <= 0:
            return None
        further = max(1, round(left / usual)) if usual else 1
        return msgspec.structs.replace(proposal, expected_trials=len(finished) + len(running) + further)


def bounded(round: Round, strategy: SharedStrategy) -> SharedStrategy:
    """The strategy within the round's hours, if it has any."""
    return strategy if round.budget.hours is None else WithinHours(strategy, round.budget.hours)


def _is_search(spec: TrialSpec) -> bool:
    return spec.draw is not None and spec.draw.phase in SEARCHING
