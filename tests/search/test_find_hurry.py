"""Searches whose time does not reach for any change with all its rounds."""

import msgspec
import pytest

from search.imagined_gpu import QUICK_LOADER, searched
from search.simulated_find import answer_of, goal_of, plan_of, search
from search.test_find import without_units_for_bf16
from traindyno.analysis.find.rounds import FIRST_ROUND
from traindyno.core.records import Settings, TrialRecord

TIGHT = goal_of(budget_seconds=66.0, keep=("decoder", "batch_size"))
"""Too little for a run with workers and a round after it, enough for the round alone."""


def dear(record: TrialRecord) -> TrialRecord:
    """Trials that take long, with workers, of which batches are discarded, a little longer."""
    return msgspec.structs.replace(record, seconds=17.0 if record.spec.settings.num_workers else 15.0)


def rounds_of(history: list[TrialRecord]) -> list[int]:
    return [record.spec.repeat - FIRST_ROUND for record in history if record.spec.repeat >= FIRST_ROUND]


@pytest.mark.parametrize("budget", [66.0, 70.0, 80.0, 100.0, 120.0])
def test_a_short_search_compares_at_least_one_change_with_the_baseline(budget: float) -> None:
    goal = goal_of(budget_seconds=budget)
    history = search(goal)
    assert len([number for number in rounds_of(history) if number == 0]) >= 2
    assert answer_of(goal, history).recommended.changes
    assert sum(record.seconds for record in history) <= budget


def test_a_single_round_is_told_as_not_confirmed() -> None:
    goal = goal_of(budget_seconds=66.0)
    history = search(goal, tamper=dear)
    found = answer_of(goal, history)
    assert set(rounds_of(history)) == {0}
    assert not found.recommended.confirmed
    assert "It was not confirmed by repeated rounds." in found.verdicts[0]


def test_two_rounds_are_run_where_there_is_time_for_them() -> None:
    goal = goal_of(budget_seconds=70.0)
    history = search(goal)
    assert set(rounds_of(history)) == {0, 1}
    assert answer_of(goal, history).recommended.confirmed


def test_the_step_is_taken_apart_after_a_change_was_tried_where_time_is_short() -> None:
    kinds = [record.spec.kind for record in search(goal_of(budget_seconds=155.0))]
    assert kinds.index("anatomy") > kinds.index("feed", 1)
    assert [record.spec.kind for record in search(goal_of(budget_seconds=600.0))][2] == "anatomy"


def test_what_should_be_the_fastest_goes_straight_to_the_rounds_where_it_cannot_be_tried_before() -> None:
    history = search(TIGHT, tamper=dear)
    assert [record.spec.kind for record in history] == ["feed", "probe", "feed", "feed"]
    assert rounds_of(history) == [0, 0]
    assert sum(record.seconds for record in history) <= 66.0
    found = answer_of(TIGHT, history)
    (bet,) = [attempt for attempt in found.attempts if attempt.adopted]
    assert bet.predicted
    assert bet.trials == 0
    assert found.recommended.changes["num_workers"] == 8
    assert not any("workers for" in verdict for verdict in found.verdicts)


def test_what_was_foretold_and_not_shown_is_not_recommended() -> None:
    def slower(record: TrialRecord) -> TrialRecord:
        told = record.measurement
        if told is None or record.spec.settings.num_workers == 0:
            return dear(record)
        blocks = tuple(msgspec.structs.replace(block, seconds=100 * block.seconds) for block in told.blocks)
        measurement = msgspec.structs.replace(told, blocks=blocks, step_seconds=100 * told.step_seconds)
        return dear(msgspec.structs.replace(record, measurement=measurement))

    history = search(TIGHT, tamper=slower)
    found = answer_of(TIGHT, history)
    assert rounds_of(history) == [0, 0]
    assert found.recommended.changes == {}
    assert not any(attempt.adopted for attempt in found.attempts)
    assert "Nothing but the baseline" not in found.verdicts[0]


def test_without_data_a_short_search_tries_a_switch() -> None:
    goal = goal_of(budget_seconds=40.0, has_data=False)
    history = search(goal)
    assert "pair" in [record.spec.kind for record in history]
    assert sum(record.seconds for record in history) <= 40.0


def test_a_search_with_time_for_everything_does_not_hurry() -> None:
    goal = goal_of(budget_seconds=600.0)
    history = search(goal)
    assert set(rounds_of(history)) == {0, 1, 2}
    assert plan_of(goal).findings(history).ended


@pytest.mark.parametrize("minutes", [3.0, 3.5, 4.0, 4.5, 5.0])
def test_a_pair_that_found_nothing_does_not_keep_a_short_search_from_what_it_waits_for(minutes: float) -> None:
    """One pinned worker feeds a compiled step, which waits for nine tenths of its time."""
    own = Settings(batch_size=256, device="simulated", num_workers=1, pin_memory=True, compile="default")
    goal = goal_of(
        own, cpus=16, budget_seconds=60 * minutes, keep=("batch_size",), decoders=("pil", "torchvision", "simplejpeg")
    )
    history = searched(goal, loader=QUICK_LOADER)
    assert answer_of(goal, history).speedup > 9
    assert sum(record.seconds for record in history) <= 60 * minutes


@pytest.mark.parametrize("budget", [24.0, 26.0, 30.0])
def test_what_was_tried_before_it_had_to_hurry_is_told_and_paid_for_once(budget: float) -> None:
    goal = goal_of(has_data=False, budget_seconds=budget)
    history = search(goal, tamper=without_units_for_bf16)
    found = answer_of(goal, history)
    assert found.recommended.changes["precision"] == "fp16"
    assert len({each.change for each in found.attempts}) == len(found.attempts)
    assert sum(each.trials for each in found.spent) == len(history)
    assert sum(record.seconds for record in history) <= budget
