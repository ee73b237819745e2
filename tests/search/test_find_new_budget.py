"""A search that is gone on with in more time: what it had confirmed stands, and nothing that was run is dropped."""

import msgspec
import pytest

from search.imagined_gpu import searched
from search.simulated_find import answer_of, goal_of
from traindyno.analysis.find.rounds import FIRST_ROUND
from traindyno.core.answers.find import FindAnswer
from traindyno.core.loading import Decoder
from traindyno.core.records import Settings, TrialRecord
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


@pytest.mark.parametrize(
    ("minutes", "rest", "workers", "cpus", "decoders"),
    [
        (3, 120.0, 2, 8, ("pil", "torchvision", "simplejpeg", "nvjpeg")),
        (3, 180.0, 4, 4, ("pil", "torchvision", "simplejpeg")),
    ],
)
def test_a_search_that_goes_another_way_with_more_time_ends_with_nothing_less(
    minutes: int, rest: float, workers: int, cpus: int, decoders: tuple[Decoder, ...]
) -> None:
    own = Settings(batch_size=256, device="simulated", num_workers=workers)
    goal = goal_of(own, cpus=cpus, budget_seconds=60.0 * minutes, decoders=decoders)
    history = searched(goal)
    before, (after, longer) = answer_of(goal, history), gone_on_with(goal, history, rest)
    assert before.recommended.confirmed
    assert after.recommended.confirmed
    assert after.speedup > 0.97 * before.speedup
    assert len(longer) > len(history)
    assert sum(each.trials for each in after.spent) == after.trials == len(longer)
    assert sum(each.seconds for each in after.spent) == pytest.approx(sum(each.seconds for each in longer))


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
