"""What a search thinks that trials will take, where that is easily underrated."""

import msgspec
import pytest

from search import imagined_gpu
from search.imagined_gpu import QUICK_LOADER, STEP_MILLISECONDS, ImaginedGpu
from search.simulated_find import answer_of, goal_of, plan_of
from traindyno.core.answers.find import FindAnswer
from traindyno.core.records import Settings, TrialRecord
from traindyno.runner.protocol import Watcher
from traindyno.search.find.goal import Goal

BETWEEN_SECONDS = 0.3


def cut_at_budget(goal: Goal, runner: ImaginedGpu) -> tuple[FindAnswer, bool]:
    """The answer, and whether the search had to be cut as its time was up."""
    plan, spent = plan_of(goal), 0.0
    history: list[TrialRecord] = []
    assert goal.budget_seconds is not None
    while (proposal := plan.ask(history)) is not None:
        record = runner.run(proposal.spec, Watcher())
        spent += record.seconds + BETWEEN_SECONDS
        if spent > goal.budget_seconds:
            return answer_of(goal, history), True
        history.append(record)
    return answer_of(goal, history), False


@pytest.mark.parametrize(
    ("minutes", "cpus", "has_data"), [(3, 16, False), (4, 16, False), (6, 16, False), (8, 64, True)]
)
def test_two_models_that_do_not_fit_together_leave_time_for_the_proof(minutes: int, cpus: int, has_data: bool) -> None:
    """Each pair of them is five trials."""
    runner = ImaginedGpu(cpus)
    runner._profile = msgspec.structs.replace(runner._profile, limit=300)
    answer, cut = cut_at_budget(goal_of(cpus=cpus, budget_seconds=60.0 * minutes, has_data=has_data), runner)
    assert not cut
    assert answer.recommended.confirmed
    assert answer.speedup > 2


@pytest.mark.parametrize("minutes", [3, 3.5, 4, 4.5])
def test_a_batch_that_has_to_be_compiled_for_does_not_take_the_time_of_the_proof(minutes: float) -> None:
    answer, cut = cut_at_budget(goal_of(cpus=16, budget_seconds=60.0 * minutes, has_data=False), ImaginedGpu(16))
    assert not cut
    assert answer.recommended.confirmed


@pytest.mark.parametrize("minutes", [5.0, 5.2, 5.6])
@pytest.mark.parametrize("cpus", [32, 64])
def test_workers_that_are_held_without_a_run_leave_time_for_their_round(minutes: float, cpus: int) -> None:
    """Each of them has eight large batches ready, so that a run of many takes far longer than one of what was held."""
    baseline = Settings(batch_size=1024, device="simulated", num_workers=8, prefetch_factor=8)
    goal = goal_of(baseline, cpus=cpus, budget_seconds=60.0 * minutes, decoders=("pil", "torchvision", "simplejpeg"))
    answer, cut = cut_at_budget(goal, ImaginedGpu(cpus, loader=QUICK_LOADER, slower=1.2))
    assert not cut
    assert answer.speedup > 1.2


def test_losses_of_slow_steps_are_not_taken_for_those_of_a_small_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled, they are looked at at the own batch, where a step takes seconds here."""
    slow = {settings: 40 * milliseconds for settings, milliseconds in STEP_MILLISECONDS.items()}
    monkeypatch.setattr(imagined_gpu, "STEP_MILLISECONDS", slow)
    answer, cut = cut_at_budget(goal_of(cpus=16, budget_seconds=600.0, has_data=False), ImaginedGpu(16))
    assert not cut
    assert answer.recommended.confirmed
