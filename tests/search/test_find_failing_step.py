"""Steps that run by themselves and fail end to end: the search goes on with what was held before."""

from collections.abc import Callable

import msgspec
import pytest

from search.imagined_gpu import searched
from search.simulated_find import answer_of
from search.test_find_minutes import common, on_host, seconds
from traindyno.analysis.find.rounds import FIRST_ROUND
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure, TrialRecord
from traindyno.search.find.giving_up import FAILED_END_TO_END
from traindyno.search.find.goal import Goal


def failing_compiled(outcome: Outcome) -> Callable[[TrialRecord], TrialRecord]:
    """What is compiled fails as soon as its data are loaded."""
    failure = Failure(outcome=outcome, message="planted", remedy="none")

    def tamper(record: TrialRecord) -> TrialRecord:
        fails = record.spec.kind == "feed" and record.spec.settings.compile != "none"
        return msgspec.structs.replace(record, outcome=outcome, measurement=None, failure=failure) if fails else record

    return tamper


@pytest.mark.parametrize(
    ("outcome", "where", "minutes"),
    [
        (Outcome.OUT_OF_DEVICE_MEMORY, common, 5.5),
        (Outcome.OUT_OF_DEVICE_MEMORY, on_host, 5.5),
        (Outcome.CRASH, common, 8),
        (Outcome.CRASH, on_host, 8),
    ],
)
def test_a_step_that_fails_end_to_end_is_held_as_it_was_before(
    outcome: Outcome, where: Callable[..., Goal], minutes: float
) -> None:
    goal, plain = where(minutes), where(minutes, keep=("compile",))
    history = searched(goal, tamper=failing_compiled(outcome))
    answer, without = answer_of(goal, history), answer_of(plain, searched(plain))
    assert answer.recommended.confirmed
    assert answer.recommended.settings["compile"] == "none"
    assert answer.speedup == pytest.approx(without.speedup, rel=0.02)
    assert any(each.outcome == f"given up: {FAILED_END_TO_END}" for each in answer.attempts)
    assert seconds(history) < 60 * minutes


def test_rounds_end_where_nobody_is_left_to_be_compared() -> None:
    def fails_late(record: TrialRecord) -> TrialRecord:
        failure = Failure(outcome=Outcome.CRASH, message="planted", remedy="none")
        late = record.spec.repeat >= FIRST_ROUND and record.spec.settings.decoder == "nvjpeg"
        return (
            msgspec.structs.replace(record, outcome=Outcome.CRASH, measurement=None, failure=failure)
            if late
            else record
        )

    goal = common(8)
    history = searched(goal, tamper=fails_late)
    rounds = [record.spec for record in history if record.spec.repeat >= FIRST_ROUND]
    of_baseline = [spec for spec in rounds if spec.settings == goal.baseline.settings]
    assert len(of_baseline) < len(rounds) <= 2 * len(of_baseline)
    assert len(of_baseline) <= 3
