"""The answer of `find` says at which image size it was found, as the trials tell it."""

import msgspec

from search.simulated_find import answer_of, goal_of, search
from traindyno.core.records import TrialRecord


def test_the_answer_has_the_image_size_that_a_trial_told() -> None:
    def told(record: TrialRecord) -> TrialRecord:
        if record.measurement is None or record.spec.kind != "feed":
            return record
        return msgspec.structs.replace(record, measurement=msgspec.structs.replace(record.measurement, image_size=112))

    goal = goal_of()
    history = search(goal, tamper=told)
    assert answer_of(goal, history).image_size == 112


def test_trials_of_earlier_versions_told_none() -> None:
    goal = goal_of()
    assert answer_of(goal, search(goal)).image_size is None
