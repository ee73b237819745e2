"""Whether a study ends by an error of the user's own, in which others may say something about a run's values alone."""

from collections.abc import Sequence, Set

from traindyno.app.study import stops_study
from traindyno.core.records import Settings, TrialRecord, WorkloadSpec

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
    alike = len(set(map(_message, last))) == 1
    in_a_row = len(last) == BUGS_IN_A_ROW and alike and all(stops_study(record) for record in last)
    return bugs[-1] if in_a_row or not any(record.ok for record in finished) else None


def is_broken(finished: Sequence[TrialRecord]) -> bool:
    """Whether the last two runs ended by the same error of the user's own, one of them with settings that had run.

    Then it is no matter of settings: a server is gone, a disk is full, a file was changed.
    """
    before, last = finished[:-2], finished[-2:]
    alike = len(last) == 2 and all(map(stops_study, last)) and len(set(map(_message, last))) == 1
    ran = {(each.spec.workload, each.spec.settings) for each in before if each.ok}
    return alike and any(_failed(each) in ran for each in last)


def _message(record: TrialRecord) -> str | None:
    return record.failure.message if record.failure is not None else None


def _failed(record: TrialRecord) -> tuple[WorkloadSpec, Settings]:
    """What did not run: of a pair the arm that failed."""
    of_baseline = record.failure is not None and record.failure.details.get("arm") == "baseline"
    against = record.spec.against if of_baseline else None
    return record.spec.workload, record.spec.settings if against is None else against
