"""Remedies where a trial left no log."""

import pytest

from traindyno.core.outcomes import REMEDIES, Outcome, remedy_without_log
from traindyno.worker.data.worker_faults import CRASH_HINT
from traindyno.worker.ranks.endings import NOT_STARTED_REMEDY


def test_what_else_a_remedy_says_is_left() -> None:
    told = remedy_without_log(Outcome.CRASH, CRASH_HINT)
    assert told == "The data's own code ended it: try the same data with 0 workers."


@pytest.mark.parametrize(
    ("outcome", "remedy"),
    [
        (Outcome.CRASH, REMEDIES[Outcome.CRASH]),
        (Outcome.HANG, REMEDIES[Outcome.HANG]),
        (Outcome.INFRASTRUCTURE, NOT_STARTED_REMEDY),
    ],
)
def test_every_remedy_that_points_to_the_log_has_another(outcome: Outcome, remedy: str) -> None:
    assert "the log" in remedy
    told = remedy_without_log(outcome, remedy)
    assert told
    assert "the log" not in told
