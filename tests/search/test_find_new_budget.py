"""A search that is gone on with in more time: what it had confirmed stands, and nothing that was run is dropped."""

import msgspec
import pytest

from search.imagined_gpu import searched
from search.simulated_find import answer_of, goal_of
from traindyno.analysis.find.rounds import FIRST_ROUND
from traindyno.core.answers.find import FindAnswer
from traindyno.core.records import TrialRecord
from traindyno.core.requests import NewBudget
from traindyno.search.find.goal import Goal
from traindyno.search.find.plan import WITH_NEW_BUDGET


def gone_on_with(goal: Goal, history: list[TrialRecord], rest: float) -> tuple[FindAnswer, list[TrialRecord]]:
    goal = msgspec.structs.replace(goal, budgets=(NewBudget(trials=len(history), seconds=rest),))
    longer = searched(goal, history=history)
    return answer_of(goal, longer), longer


@pytest.mark.parametrize("cpus", [8, 16])
@pytest.mark.parametrize("budget", range(50, 180, 24))
@pytest.mark.parametrize("rest", [5.0, 20.0, 60.0])
def test_what_was_confirmed_stays_so_with_a_little_more_time(cpus: int, budget: int, rest: float) -> None:
    goal = goal_of(cpus=cpus, budget_seconds=float(budget))
    history = searched(goal)
    before, (after, _) = answer_of(goal, history), gone_on_with(goal, history, rest)
    assert after.recommended.confirmed >= before.recommended.confirmed
    assert after.speedup > 0.97 * before.speedup


def test_rounds_that_have_been_run_count_whatever_time_is_left() -> None:
    goal = goal_of(cpus=8, budget_seconds=146.0)
    history = searched(goal)
    rounds = [each for each in history if each.spec.repeat >= FIRST_ROUND]
    answer, longer = gone_on_with(goal, history, 1.0)
    assert longer == history
    assert {each.processes for each in answer.finalists} == {len(rounds) // 2} == {2}


def test_trials_that_led_nowhere_are_part_of_the_time_that_is_told() -> None:
    """The time to search anew is there, and the machine is lost before anything is proved."""
    goal = goal_of(cpus=8, budget_seconds=146.0)
    history = searched(goal)
    before = answer_of(goal, history)
    goal = msgspec.structs.replace(goal, budgets=(NewBudget(trials=len(history), seconds=500.0),))
    longer = searched(goal, history=history)
    cut = longer[: len(history) + 2]
    assert len(longer) > len(cut)
    answer = answer_of(goal, cut)
    assert answer.speedup == pytest.approx(before.speedup)
    assert answer.recommended.confirmed
    spent = {each.part: each.trials for each in answer.spent}
    assert spent[WITH_NEW_BUDGET] == 2
    assert sum(spent.values()) == len(cut)
