"""When evaluations come, when a target is reached, and which evaluation is the best."""

import math

from hypothesis import given
from hypothesis import strategies as st

from traindyno.core.learning import Evaluation, Target
from traindyno.worker.learning.story import best, next_evaluation, reached

HALF = Target(metric="accuracy", value=0.5)


def evaluations(*accuracies: float | None, losses: tuple[float, ...] = ()) -> tuple[Evaluation, ...]:
    return tuple(
        Evaluation(
            step=number,
            examples=number,
            seconds=float(number),
            loss=losses[number] if losses else 1.0,
            accuracy=accuracy,
            training_loss=1.0,
            learning_rate=0.1,
        )
        for number, accuracy in enumerate(accuracies)
    )


def edges(planned: int, batch_size: int, every: int) -> list[int]:
    found = [next_evaluation(0, planned, batch_size, every)]
    while found[-1] < planned:
        found.append(next_evaluation(found[-1], planned, batch_size, every))
    return found


@given(planned=st.integers(1, 60), batch_size=st.integers(1, 50), every=st.integers(1, 300))
def test_evaluations_come_at_the_first_step_with_so_many_examples_and_at_the_end(planned, batch_size, every):
    expected = {step for step in range(1, planned + 1) if step * batch_size // every > (step - 1) * batch_size // every}
    assert edges(planned, batch_size, every) == sorted(expected | {planned})


def test_all_batch_sizes_are_evaluated_after_the_same_examples():
    for batch_size in (10, 20, 50, 100):
        assert [step * batch_size for step in edges(1000 // batch_size, batch_size, 200)] == [200, 400, 600, 800, 1000]


def test_a_target_is_reached_by_the_first_of_two_in_a_row():
    found = reached(HALF, evaluations(0.4, 0.6, 0.4, 0.5, 0.5, 0.9))
    assert found is not None
    assert found.step == 3


def test_a_target_met_only_at_the_very_end_is_not_reached():
    assert reached(HALF, evaluations(0.1, 0.2, 0.6)) is None
    assert reached(HALF, evaluations(0.6)) is None


def test_without_a_target_nothing_is_reached():
    assert reached(None, evaluations(1.0, 1.0)) is None


def test_a_loss_is_a_target_from_above():
    found = reached(Target(metric="loss", value=0.5), evaluations(None, None, None, losses=(0.7, 0.5, 0.2)))
    assert found is not None
    assert found.step == 1


def test_the_best_is_the_first_of_the_highest_accuracies_and_never_one_without_numbers():
    found = best(evaluations(0.5, 0.7, 0.7, 0.9, losses=(1.0, 1.0, 1.0, math.nan)))
    assert found is not None
    assert found.step == 1


def test_without_accuracy_the_best_is_the_lowest_loss():
    found = best(evaluations(None, None, None, losses=(0.5, 0.2, 0.3)))
    assert found is not None
    assert found.step == 1
