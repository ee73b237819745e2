"""Whether a study that several processes run ends by an error of the user's own."""

from collections.abc import Sequence, Set

from traindyno.app.study import stops_study
from traindyno.core.records import TrialRecord

BUGS_IN_A_ROW = 3
"""So many runs that end alike by the user's own error are no matter of their values."""


def stopping(finished: Sequence[TrialRecord], before: Set[str]) -> TrialRecord | None:
    """The run by whose error of the user's own the study ends; null while it goes on.

    An error may be a matter of one run's values. It is not while no run has succeeded, or when the last three runs
    ended by the same one. What had ended `before`, when this process came, stops nothing.
    """
    bugs = [record for record in finished if stops_study(record) and record.spec.key not in before]
    if not bugs:
        return None
    last = finished[-BUGS_IN_A_ROW:]
    alike = len({record.failure.message if record.failure else None for record in last}) == 1
    in_a_row = len(last) == BUGS_IN_A_ROW and alike and all(stops_study(record) for record in last)
    return bugs[-1] if in_a_row or not any(record.ok for record in finished) else None
