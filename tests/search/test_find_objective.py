"""A search for the time to the same loss: the batch is judged by the noise of the gradients, or kept."""

from functools import cache
from typing import Any

import msgspec
import pytest

from search.simulated_find import COMPUTE_BOUND, answer_of, goal_of, plan_of, search
from traindyno.core.answers.find import FindAnswer
from traindyno.core.learning import Objective, Recipe
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure, Settings, TrialRecord
from traindyno.search.find.goal import Goal

LAUNCH_BOUND = f"{COMPUTE_BOUND},floor_seconds=0.1"
"""A step takes as long with one example as with many: examples per second grow with the batch."""

LOSS: Objective = "time-to-accuracy"
RECIPE = Recipe(learning_rate=0.05, epochs=5.0)


def loss_goal(batch_size: int = 64, **changes: Any) -> Goal:
    plain: dict[str, Any] = {"objective": LOSS, "recipe": RECIPE, "candidates": ()}
    return goal_of(Settings(batch_size=batch_size, device="simulated"), **plain | changes)


def answered(goal: Goal, history: list[TrialRecord]) -> FindAnswer:
    return answer_of(goal, history, objective=goal.objective, noise_scale=goal.noise_scale, learning_rate=0.05)


@cache
def found(profile: str, batch_size: int = 64) -> FindAnswer:
    goal = loss_goal(batch_size)
    return answered(goal, search(goal, profile))


def noise_runs(history: list[TrialRecord]) -> list[TrialRecord]:
    return [record for record in history if record.spec.kind == "noise"]


def told(answer: FindAnswer) -> str:
    return " ".join(answer.verdicts)


def test_a_larger_batch_that_only_has_more_examples_per_second_is_not_recommended() -> None:
    by_throughput = goal_of(Settings(batch_size=64, device="simulated"), candidates=(), batch_range=(1, 4096))
    profile = f"{COMPUTE_BOUND},floor_seconds=0.04,noise_scale=20"
    assert answer_of(by_throughput, search(by_throughput, profile)).recommended.batch_size >= 128
    assert found(profile).recommended.batch_size <= 64


def test_a_larger_batch_is_recommended_where_gradients_are_noisy() -> None:
    answer = found(f"{LAUNCH_BOUND},noise_scale=5000")
    chosen = answer.recommended
    assert chosen.batch_size >= 128
    assert answer.noise_scale == pytest.approx(5000, rel=0.5)
    assert chosen.examples_needed is not None
    assert chosen.examples_needed > 1
    assert chosen.learning_gain == pytest.approx(chosen.speedup / chosen.examples_needed)
    assert "predicted" in answer.verdicts[0]


def test_a_smaller_batch_is_recommended_where_the_own_one_is_far_above_the_noise_scale() -> None:
    answer = found(f"{COMPUTE_BOUND},noise_scale=20", 256)
    assert answer.recommended.batch_size < 256
    assert answer.recommended.learning_gain is not None
    assert answer.recommended.learning_gain > 1.5 > 1.1 > answer.speedup, "it is sooner with no more examples/s"


def test_of_batches_that_are_nearly_as_good_the_one_nearest_to_the_own_is_taken() -> None:
    answer = found(f"{LAUNCH_BOUND},noise_scale=5000")
    values = {
        each.batch_size: each.examples_per_second / (each.batch_size + answer.noise_scale)
        for each in answer.finalists
        if answer.noise_scale is not None
    }
    assert answer.recommended.batch_size == max(values, key=lambda size: values[size])
    assert max(values) <= 1024


def test_gradients_are_read_at_the_own_batch_with_what_is_held_by_then() -> None:
    goal = loss_goal()
    history = search(goal)
    runs = noise_runs(history)
    assert len(runs) == 3
    assert len({record.spec.seed for record in runs}) == 3
    assert {record.spec.settings.batch_size for record in runs} == {64}
    assert {record.spec.settings.num_workers for record in runs} != {0}, "the loader was found before"


def test_a_noise_scale_that_is_given_is_not_read_and_serves_as_well() -> None:
    goal = loss_goal(256, noise_scale=20.0, recipe=None)
    history = search(goal, COMPUTE_BOUND)
    assert not noise_runs(history)
    answer = answered(goal, history)
    assert answer.recommended.batch_size < 256
    assert answer.noise_scale_ci95 is None
    assert "as given" in told(answer)


def test_without_time_for_the_noise_the_own_batch_is_kept_and_that_is_said() -> None:
    goal = loss_goal(budget_seconds=45.0)
    history = search(goal, "noise_scale=5000")
    answer = answered(goal, history)
    assert not noise_runs(history)
    assert {record.spec.settings.batch_size for record in history if record.spec.kind == "feed"} == {64}
    assert answer.recommended.batch_size == 64
    assert answer.noise_scale is None
    assert "no time to read the noise of the gradients: your batch of 64 is kept" in told(answer)


def fails(record: TrialRecord) -> TrialRecord:
    if record.spec.kind != "noise":
        return record
    failure = Failure(outcome=Outcome.CRASH, message="no gradient was read", remedy="")
    return msgspec.structs.replace(record, outcome=Outcome.CRASH, measurement=None, failure=failure)


def test_runs_that_fail_are_not_repeated_and_leave_the_batch_as_it_is() -> None:
    goal = loss_goal()
    history = search(goal, f"{LAUNCH_BOUND},noise_scale=5000", fails)
    answer = answered(goal, history)
    assert len(noise_runs(history)) == 1
    assert answer.recommended.batch_size == 64
    assert answer.with_free_batch is None
    assert "the gradients could not be read: your batch of 64 is kept" in told(answer)


def silent(record: TrialRecord) -> TrialRecord:
    """Gradients of no length, but for chance."""
    measured = record.measurement
    if measured is None or measured.noise is None:
        return record
    readings = tuple(
        msgspec.structs.replace(each, gradient_squared=0.1 * (-1) ** place)
        for place, each in enumerate(measured.noise.readings)
    )
    noise = msgspec.structs.replace(measured.noise, readings=readings)
    return msgspec.structs.replace(record, measurement=msgspec.structs.replace(measured, noise=noise))


def test_readings_that_do_not_tell_leave_the_batch_as_it_is() -> None:
    goal = loss_goal()
    answer = answered(goal, search(goal, f"{LAUNCH_BOUND},noise_scale=5000", silent))
    assert answer.recommended.batch_size == 64
    assert "do not tell the gradient from its noise: your batch of 64 is kept" in told(answer)


def test_runs_are_cut_to_a_third_of_the_budget_and_the_search_stays_within_it() -> None:
    goal = loss_goal(budget_seconds=300.0, recipe=Recipe(learning_rate=0.05, epochs=90.0))
    history = search(goal, f"{COMPUTE_BOUND},noise_scale=5000")
    runs = noise_runs(history)
    assert runs
    assert sum(record.seconds for record in runs) <= 100
    assert sum(record.seconds for record in history) <= 300
    assert "later gradients are usually noisier" in told(answered(goal, history))


def test_a_noise_scale_read_early_recommends_no_smaller_batch() -> None:
    goal = loss_goal(256, budget_seconds=300.0, recipe=Recipe(learning_rate=0.05, epochs=90.0))
    answer = answered(goal, search(goal, f"{COMPUTE_BOUND},noise_scale=20"))
    assert answer.recommended.batch_size == 256
    assert answer.with_free_batch is not None
    assert answer.with_free_batch.batch_size < 256
    assert "speaks too well of smaller batches" in told(answer)


def test_the_batch_stays_within_its_range() -> None:
    goal = loss_goal(64, batch_range=(48, 128))
    history = search(goal, f"{LAUNCH_BOUND},noise_scale=5000")
    assert answered(goal, history).recommended.batch_size == 128
    assert max(record.spec.settings.batch_size for record in history) == 128
    small = loss_goal(256, batch_range=(100, 512))
    sizes = {record.spec.settings.batch_size for record in search(small, f"{COMPUTE_BOUND},noise_scale=20")}
    assert sizes - {32} == {128, 256, 512}, "32 is what losses are compared at"


def test_smaller_batches_can_still_be_computed_in_as_many_parts() -> None:
    settings = Settings(batch_size=96, accumulation_steps=4, device="simulated")
    goal = goal_of(settings, candidates=(), objective=LOSS, noise_scale=5.0)
    sizes = {
        record.spec.settings.batch_size
        for record in search(goal, f"{COMPUTE_BOUND},floor_seconds=0.001,alpha_seconds=0.0005")
    }
    assert min(sizes) == 12
    assert all(size % 4 == 0 for size in sizes)


@pytest.mark.parametrize(
    ("goal", "profile"),
    [
        (loss_goal(), f"{LAUNCH_BOUND},noise_scale=5000"),
        (loss_goal(256, budget_seconds=150.0), f"{COMPUTE_BOUND},noise_scale=20"),
    ],
)
def test_a_search_cut_anywhere_goes_on_as_if_it_had_not_been(goal: Goal, profile: str) -> None:
    history = search(goal, profile)
    plan = plan_of(goal)
    for cut in range(len(history)):
        proposal = plan.ask(history[:cut])
        assert proposal is not None
        assert proposal.spec.key == history[cut].spec.key
    assert plan.ask(history) is None


def test_a_search_cut_before_the_noise_was_read_says_so_and_keeps_the_batch() -> None:
    goal = loss_goal()
    history = search(goal)
    first = [record.spec.kind for record in history].index("noise")
    for cut in (5, first + 1, first + 2):
        answer = answered(goal, history[:cut])
        assert answer.recommended.batch_size == 64
        assert "ended before the noise of the gradients was read: your batch of 64 is kept" in told(answer)


def test_a_search_cut_before_the_batches_were_tried_does_not_judge_them() -> None:
    goal = loss_goal()
    history = search(goal, f"{LAUNCH_BOUND},noise_scale=5000")
    first = [record.spec.kind for record in history].index("noise")
    answer = answered(goal, history[: first + 3])
    assert "Not all batches could be looked at" in told(answer)
    assert "No other batch should" not in told(answer)
