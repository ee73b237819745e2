"""What a search makes of few minutes on a GPU, where loader and step must both become several times as fast."""

from itertools import pairwise

import pytest

from search.imagined_gpu import STEP_MILLISECONDS, searched
from search.simulated_find import BASELINE, answer_of, goal_of
from search.test_find import spoiled
from traindyno.analysis.find.rounds import FIRST_ROUND
from traindyno.core.answers.find import FindAnswer
from traindyno.core.records import Settings, TrialRecord
from traindyno.search.find.goal import Goal

COMMON = Settings(batch_size=256, device="simulated", num_workers=4)
FASTEST_STEP = 256 / (STEP_MILLISECONDS["bf16", "channels_last", "default"] / 1000)
DECODERS = ("pil", "torchvision", "simplejpeg", "nvjpeg")


def common(minutes: float, cpus: int = 16, **changes: object) -> Goal:
    return goal_of(COMMON, cpus=cpus, decoders=DECODERS, budget_seconds=60 * minutes, **changes)


def found(goal: Goal) -> tuple[FindAnswer, list[TrialRecord]]:
    history = searched(goal)
    return answer_of(goal, history), history


def seconds(history: list[TrialRecord]) -> float:
    return sum(record.seconds for record in history)


@pytest.mark.parametrize(
    ("minutes", "prepare", "share"),
    [(5.5, None, 0.88), (10, None, 0.88), (5.5, "prepared:/store", 0.95), (10, "prepared:/store", 0.95)],
)
def test_some_minutes_reach_for_the_step_and_then_for_the_loader_it_needs(
    minutes: float, prepare: str | None, share: float
) -> None:
    answer, history = found(common(minutes, prepare=prepare))
    assert answer.recommended.changes.items() >= {"precision": "bf16", "compile": "default"}.items()
    assert answer.recommended.examples_per_second > share * FASTEST_STEP
    assert seconds(history) < 60 * minutes


@pytest.mark.parametrize("minutes", [3, 4])
def test_a_step_is_not_compiled_where_no_time_is_left_to_load_for_it(minutes: float) -> None:
    answer, history = found(common(minutes))
    assert answer.recommended.settings["compile"] == "none"
    assert answer.speedup > 3
    assert seconds(history) < 60 * minutes


def test_more_time_never_finds_much_less() -> None:
    rates = [found(common(minutes, cpus=8))[0].recommended.examples_per_second for minutes in (2, 3, 4, 5, 6, 8)]
    assert all(later > 0.97 * earlier for earlier, later in pairwise(rates))


def test_with_few_cpus_the_gpu_decodes_before_any_switch_is_tried() -> None:
    _, history = found(common(5, cpus=4))
    first_pair = next(number for number, record in enumerate(history) if record.spec.kind == "pair")
    assert history[first_pair - 1].spec.settings.decoder == "nvjpeg"


def test_while_the_step_is_about_to_change_one_worker_count_is_enough() -> None:
    _, history = found(common(10))
    first_pair = next(number for number, record in enumerate(history) if record.spec.kind == "pair")
    fed = [record for record in history[:first_pair] if record.spec.kind == "feed"]
    assert [record.spec.settings.num_workers for record in fed] == [4, 8]


def test_a_compiled_step_has_its_losses_looked_at_at_the_batch_it_was_compiled_for() -> None:
    _, history = found(common(10))
    assert {record.spec.settings.batch_size for record in history if record.spec.kind == "losses"} == {256}


@pytest.mark.parametrize("minutes", [4, 5.5, 10])
def test_losses_that_differ_leave_time_for_the_rounds(minutes: float) -> None:
    history = searched(common(minutes), tamper=spoiled)
    differing = [each for each in history if each.spec.kind == "losses" and each.spec.settings.precision == "bf16"]
    rounds = {each.spec.repeat for each in history if each.spec.repeat >= FIRST_ROUND}
    assert len(differing) == 3
    assert len(rounds) == 3


def test_one_that_is_not_compiled_has_them_looked_at_at_a_small_batch() -> None:
    _, history = found(common(4))
    assert {record.spec.settings.batch_size for record in history if record.spec.kind == "losses"} == {32}


def test_switches_that_gain_little_wait_until_the_data_have_been_searched() -> None:
    _, history = found(common(10, prepare="prepared:/store"))
    fused = next(number for number, each in enumerate(history) if each.spec.settings.optimizer_kernel == "fused")
    compiled = next(number for number, each in enumerate(history) if each.spec.settings.compile == "default")
    assert any(each.spec.kind == "feed" for each in history[compiled:fused])


def test_they_are_not_tried_where_the_data_hold_training_up_for_good() -> None:
    answer, history = found(common(10))
    assert all(each.spec.settings.optimizer_kernel == "auto" for each in history)
    assert any(
        "optimizer_kernel=fused" in each.change and "waits for its data" in each.outcome for each in answer.attempts
    )


def test_two_equal_worker_counts_that_are_slower_than_what_is_held_are_enough() -> None:
    _, history = found(common(10))
    assert len([each for each in history if each.spec.kind == "feed" and each.spec.settings.decoder == "nvjpeg"]) == 2


def test_what_is_far_faster_than_foretold_of_the_rest_is_not_compared_in_a_run_of_its_own() -> None:
    answer, history = found(common(5.5, prepare="prepared:/store"))
    adopted = next(each for each in answer.attempts if "data=prepared:/store" in each.change and each.adopted)
    assert adopted.predicted
    assert adopted.ratio is not None
    assert adopted.ratio > 1.25
    held = [each for each in history if each.spec.kind == "feed" and each.spec.settings.compile == "default"]
    assert {each.spec.workload.data for each in held} == {"prepared:/store"}


def test_a_baseline_that_is_compute_bound_has_its_switches_tried_first() -> None:
    goal = goal_of(
        Settings(batch_size=256, device=BASELINE.device, num_workers=16), cpus=16, decoders=DECODERS, budget_seconds=600
    )
    _, history = found(goal)
    kinds = [record.spec.kind for record in history]
    assert kinds.index("pair") < kinds.index("feed", 1)
