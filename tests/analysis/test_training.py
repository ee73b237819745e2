"""What is concluded from one run that learnt."""

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.analysis.cautions import cautions, remarks
from traindyno.analysis.recipe_words import recipe_words
from traindyno.analysis.training import accuracy_interval, conclude_train
from traindyno.core.answers import TrainAnswer
from traindyno.core.learning import Evaluation, Learning, Recipe
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Block, Measurement, Memory, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.requests import Bench, TrainRequest


def evaluation(step: int, accuracy: float | None, loss: float = 0.5) -> Evaluation:
    return Evaluation(
        step=step,
        examples=10 * step,
        seconds=step / 100,
        loss=loss,
        accuracy=accuracy,
        training_loss=loss,
        learning_rate=0.1,
    )


def measured(steps: int) -> Measurement:
    return Measurement(
        batch_size=10,
        steps=steps,
        step_seconds=0.01,
        ci95=(0.01, 0.01),
        steady=False,
        blocks=(Block(steps=steps, seconds=steps / 100),),
        memory=Memory(peak_bytes=1),
        start_up_seconds=1.0,
        first_step_seconds=0.1,
        warm_up_seconds=0.0,
        warm_up_steps=0,
    )


def learnt(*accuracies: float | None, **learning: Any) -> Learning:
    """A run of 100 steps between evaluations, in batches of 10, on 500 examples."""
    evaluations = tuple(evaluation(100 * number, each) for number, each in enumerate(accuracies, start=1))
    steps = evaluations[-1].step
    defaults = {
        "evaluations": evaluations,
        "steps": steps,
        "planned_steps": steps,
        "examples": 10 * steps,
        "seconds": steps / 100,
        "evaluation_seconds": 0.5,
        "training_examples": 500,
        "evaluation_examples": 400,
        "classes": 10,
    }
    return Learning(**(defaults | learning))


def concluded(
    *accuracies: float | None, outcome: Outcome = Outcome.OK, recipe: Recipe | None = None, **learning: Any
) -> TrainAnswer:
    """The answer about such a run."""
    run = learnt(*accuracies, **learning)
    request = TrainRequest(
        workload=WorkloadSpec(model="mlp:64", data="digits:"),
        bench=Bench(),
        settings=Settings(batch_size=10),
        recipe=recipe or Recipe(learning_rate=0.1),
    )
    measurement = msgspec.structs.replace(measured(run.steps), learning=run)
    spec = TrialSpec(kind="learn", workload=request.workload, settings=request.settings, recipe=request.recipe)
    record = TrialRecord(spec=spec, outcome=outcome, seconds=9.0, measurement=measurement)
    return conclude_train(request, record, data="digits:", seconds=9.0)


def told(answer: TrainAnswer, words: str) -> bool:
    return any(words in verdict for verdict in answer.verdicts)


def test_the_answer_is_how_the_run_ended_and_the_best_stands_beside_it() -> None:
    answer = concluded(0.5, 0.91, 0.9)
    assert (answer.accuracy, answer.best_accuracy) == (0.9, 0.91)
    assert answer.epochs == pytest.approx(6.0)
    assert answer.examples_per_second == pytest.approx(1000)
    assert answer.verdicts == ()


def test_evaluation_does_not_count_as_training() -> None:
    assert concluded(0.9, evaluation_seconds=1000.0).examples_per_second == concluded(0.9).examples_per_second


def test_a_best_that_chance_explains_is_no_news_but_one_far_above_the_end_is() -> None:
    assert not told(concluded(0.92, 0.9), "better before")
    assert told(concluded(0.97, 0.9), "better before: 97.0% after 2 epochs, 90.0% at the end")


def test_a_diverged_run_names_the_rate_to_try_next() -> None:
    answer = concluded(0.8, 0.1, diverged=True)
    assert answer.diverged
    assert told(answer, "no number any more by step 200, when it was next looked at. Lower the rate, to --lr 0.01 say")
    assert not told(answer, "better before")


@pytest.mark.parametrize(
    ("began_finite", "words"),
    [(False, "no number from the first step on"), (None, "by step 100, when it was next looked at, and may never")],
)
def test_where_no_loss_ever_was_a_number_data_and_code_are_to_be_looked_at_and_not_the_rate(
    began_finite: bool | None, words: str
) -> None:
    lost = (evaluation(100, 0.1, math.nan),)
    answer = concluded(0.1, evaluations=lost, diverged=True, began_finite=began_finite)
    assert told(answer, words)
    assert told(answer, "Look for NaN in the data and in what model and loss return")
    assert not told(answer, "--lr")
    assert not told(answer, "Diverged")
    known = concluded(0.1, evaluations=lost, diverged=True, began_finite=True)
    assert told(known, "Lower the rate, to --lr 0.01 say")


def test_a_run_that_only_guesses_is_told_as_such() -> None:
    assert told(concluded(0.11), "Nothing was learnt")
    assert not told(concluded(0.2), "Nothing was learnt")


def test_so_few_examples_that_the_accuracy_may_be_anything_do_not_say_that_nothing_was_learnt() -> None:
    answer = concluded(1 / 3, evaluation_examples=6, classes=3)
    assert answer.verdicts == (
        "6 examples to evaluate on are too few to tell whether anything was learnt: the accuracy may be 9.7% to 70.0%, "
        "and guessing has 33.3%.",
    )
    assert told(concluded(1 / 3, evaluation_examples=600, classes=3), "Nothing was learnt")
    assert concluded(0.9, evaluation_examples=6, classes=3).verdicts == ()


def test_outputs_that_are_no_classes_have_a_loss_alone() -> None:
    answer = concluded(None, None, classes=None)
    assert (answer.accuracy, answer.best_accuracy, answer.accuracy_ci95) == (None, None, None)
    assert answer.loss == 0.5
    assert answer.verdicts == ()


def test_a_run_that_was_stopped_says_how_far_it_was() -> None:
    assert told(concluded(0.7, outcome=Outcome.INTERRUPTED, planned_steps=4000), "after 100 of 4,000 steps")


def test_few_examples_to_normalise_over_are_warned_of_and_emulation_is_labelled() -> None:
    assert told(concluded(0.9, norm_examples=8), "saw 8 examples at once")
    assert not told(concluded(0.9, norm_examples=16), "normalisation")
    emulated = concluded(0.9, norm_examples=64, recipe=Recipe(learning_rate=0.1, emulated_devices=4))
    assert told(emulated, "Emulated: batch normalisation as on 4 devices")


def test_what_is_as_it_should_be_is_a_remark_of_the_answer_and_no_warning() -> None:
    held_out = "20 of 100 examples are held out."
    assert concluded(0.9, remarks=(held_out,)).verdicts[-1] == held_out
    learning = msgspec.structs.replace(learnt(0.9), remarks=(held_out,))
    spec = TrialSpec(kind="learn", workload=WorkloadSpec(model="mlp:64"), settings=Settings(batch_size=10))
    measurement = msgspec.structs.replace(measured(100), learning=learning, notes=("a sampler is left out",))
    records = [TrialRecord(spec=spec, outcome=Outcome.OK, seconds=1.0, measurement=measurement)] * 2
    assert cautions(records) == ("A sampler is left out.",)
    assert remarks(records) == (held_out,)


@given(st.integers(1, 10**6), st.floats(0, 1))
def test_the_interval_of_an_accuracy_holds_it_and_stays_a_share(examples: int, share: float) -> None:
    accuracy = round(share * examples) / examples
    interval = accuracy_interval(accuracy, examples)
    assert interval is not None
    assert 0 <= interval[0] <= accuracy + 1e-12
    assert accuracy - 1e-12 <= interval[1] <= 1


def test_the_interval_narrows_with_the_root_of_the_examples() -> None:
    few, many = (accuracy_interval(0.9, examples) for examples in (400, 40_000))
    assert few is not None
    assert many is not None
    assert (few[1] - few[0]) / (many[1] - many[0]) == pytest.approx(math.sqrt(100), rel=0.05)
    assert few == pytest.approx((0.8668, 0.9257), abs=1e-3)


def test_a_recipe_is_written_as_the_options_that_ask_for_it() -> None:
    recipe = Recipe(learning_rate=0.1, steps=500, schedule="step", step_at=(0.5, 0.9), fine_tuning="head")
    words = " ".join(recipe_words(recipe))
    assert words == "--lr 0.1 --steps 500 --schedule step --step-at 0.5,0.9 --fine-tune head"
    assert recipe_words(Recipe(learning_rate=3e-4), "0.0003@32") == ["--lr", "0.0003@32", "--epochs", "10"]
