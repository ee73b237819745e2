"""The sanity gate: nothing is tuned before training works at all."""

from collections.abc import Sequence

import msgspec
import pytest

from analysis.rounds.conclude_cases import LOSS, RATE, a_round, a_run
from traindyno.analysis.rounds.gate import judge_best, judge_gate
from traindyno.core.rounds import CurvePlace, Ending, Goal, Phase, Round, RoundJob, RoundTrial

ROUND = a_round(RATE)
FALLING = (2.0, 1.0, 0.5)


def a_gate_run(
    score: float | None = 0.9,
    index: int = 0,
    *,
    ending: Ending = "ok",
    training: Sequence[float] = FALLING,
    validation: Sequence[float] = FALLING,
    examples: int = 400,
    classes: int | None = 10,
    phase: Phase = "gate",
    message: str | None = None,
) -> RoundTrial:
    curve = tuple(
        CurvePlace(share=place / 3, value=score or 0.0, loss=loss, training_loss=training_loss)
        for place, (loss, training_loss) in enumerate(zip(validation, training, strict=True), start=1)
    )
    run = a_run(score, {"learning_rate": 0.1}, index=index, phase=phase, ending=ending)
    return msgspec.structs.replace(run, curve=curve, evaluation_examples=examples, classes=classes, message=message)


def gate_of(*runs: RoundTrial) -> list[RoundTrial]:
    """Three runs, the last of them good unless they are given."""
    good = [a_gate_run(index=index) for index in range(len(runs), 3)]
    return [*runs, *good]


def test_an_incumbent_that_learns_with_every_seed_passes() -> None:
    check = judge_gate(ROUND, gate_of())
    assert (check.name, check.state, check.next_step) == ("gate", "passed", None)
    assert "better than guessing" in check.text
    assert "3 seeds" in check.text


@pytest.mark.parametrize("ending", ["diverged", "out_of_memory", "crashed", "timed_out", "failed"])
def test_one_run_that_does_not_end_well_closes_the_gate(ending: Ending) -> None:
    check = judge_gate(ROUND, gate_of(a_gate_run(None, ending=ending, message="why it did")))
    assert check.state == "failed"
    assert "why it did" in check.text
    assert check.next_step


def test_a_loss_that_never_was_a_number_closes_the_gate_and_asks_for_no_lower_rate() -> None:
    lost = msgspec.structs.replace(a_gate_run(None, ending="diverged"), never_finite=True)
    check = judge_gate(ROUND, gate_of(lost))
    assert check.state == "failed"
    assert "had no loss that was a number, from the first step on" in check.text
    assert (check.next_step or "").startswith("Look for NaN in the data and in what model and loss return.")


def test_a_gate_is_closed_before_all_of_its_runs_have_ended() -> None:
    assert judge_gate(ROUND, [a_gate_run(None, ending="diverged")]).state == "failed"


def test_nothing_is_known_while_runs_are_missing() -> None:
    check = judge_gate(ROUND, [a_gate_run(), a_gate_run(index=1)])
    assert check.state == "unknown"
    assert "2 of 3" in check.text


def test_guessing_does_not_pass() -> None:
    check = judge_gate(ROUND, gate_of(a_gate_run(0.11)))
    assert check.state == "failed"
    assert "guessing has 10.00 %" in check.text


def test_an_accuracy_above_chance_on_few_examples_may_be_luck() -> None:
    assert judge_gate(ROUND, gate_of(a_gate_run(0.2, examples=15))).state == "failed"
    assert judge_gate(ROUND, gate_of(a_gate_run(0.2, examples=1000))).state == "passed"


def test_with_two_classes_twice_the_tenth_is_guessing() -> None:
    assert judge_gate(ROUND, gate_of(a_gate_run(0.5, classes=2))).state == "failed"


def test_a_loss_as_of_guessing_does_not_pass() -> None:
    round_ = a_round(RATE, metric=LOSS)
    lost = [a_gate_run(2.31, index=index) for index in range(3)]
    learnt = [a_gate_run(0.4, index=index) for index in range(3)]
    assert judge_gate(round_, lost).state == "failed"
    assert judge_gate(round_, learnt).state == "passed"


def test_a_training_loss_that_never_falls_does_not_pass() -> None:
    check = judge_gate(ROUND, gate_of(a_gate_run(training=(1.0, 1.2, 1.1))))
    assert check.state == "failed"
    assert "training loss" in check.text
    assert judge_gate(ROUND, gate_of(a_gate_run(training=(1.0, 1.2, 0.8)))).state == "passed"


def test_a_loss_that_rises_where_much_is_known_already_is_no_failure_to_learn() -> None:
    assert judge_gate(ROUND, gate_of(a_gate_run(validation=(0.2, 0.3, 0.4)))).state == "passed"


def test_a_job_of_the_users_own_must_let_its_loss_fall_where_it_tells_one() -> None:
    round_ = msgspec.structs.replace(ROUND, job=RoundJob(function="train.py:run"))
    rising = [a_gate_run(3.0, index, classes=None, validation=(1.0, 1.5, 2.0)) for index in range(3)]
    assert judge_gate(round_, rising).state == "failed"
    silent = [msgspec.structs.replace(each, curve=()) for each in rising]
    check = judge_gate(round_, silent)
    assert check.state == "warning"
    assert "nothing tells" in check.text


def test_the_order_of_runs_does_not_matter() -> None:
    runs = gate_of(a_gate_run(0.11), a_gate_run(None, index=1, ending="diverged"))
    assert judge_gate(ROUND, runs) == judge_gate(ROUND, runs[::-1])


def test_runs_of_the_search_do_not_open_the_gate() -> None:
    assert judge_gate(ROUND, [a_gate_run(index=index, phase="search") for index in range(3)]).state == "unknown"


def initial() -> Round:
    return a_round(RATE, goal=Goal(kind="initial"), incumbent={})


def test_a_first_configuration_passes_if_the_best_of_the_search_learns() -> None:
    runs = [a_gate_run(0.1, 0, phase="search"), a_gate_run(0.9, 1, phase="search")]
    assert judge_best(initial(), runs).state == "passed"
    assert judge_best(initial(), runs[:1]).state == "failed"


def test_a_search_without_any_score_has_found_nothing_to_begin_with() -> None:
    assert judge_best(initial(), []).state == "unknown"
    assert judge_best(initial(), [a_gate_run(None, phase="search", ending="diverged")]).state == "failed"


def test_a_search_without_any_score_is_not_told_to_run_again_unchanged() -> None:
    lost = a_gate_run(None, phase="search", ending="diverged")
    assert "Lower the learning rate's range" in (judge_best(initial(), [lost]).next_step or "")
    never = msgspec.structs.replace(lost, never_finite=True)
    assert judge_best(initial(), [never]).next_step == "Look for NaN in the data and in what model and loss return."
    full = a_gate_run(None, phase="search", ending="out_of_memory")
    assert "Use a smaller batch" in (judge_best(initial(), [full, full, never]).next_step or "")
