"""One given trial, once."""

from collections.abc import Sequence

from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.search.strategy import Proposal


class Once:
    """Proposes a single trial until it is in the history."""

    def __init__(self, spec: TrialSpec, reason: str) -> None:
        self._spec = spec
        self._reason = reason

    def ask(self, history: Sequence[TrialRecord]) -> Proposal | None:
        if any(record.spec.key == self._spec.key for record in history):
            return None
        return Proposal(spec=self._spec, reason=self._reason, expected_trials=len(history) + 1)
