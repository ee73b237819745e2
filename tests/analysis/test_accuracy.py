"""From runs to the table: what counts, what is missing, and what is said about it."""

import math

import msgspec
import pytest

from search.fake_device import failure
from search.fake_learner import FakeLearner, asked, plan_of, trained
from traindyno.analysis.accuracy import conclude_accuracy
from traindyno.core.answers import AccuracyAnswer
from traindyno.core.errors import NothingMeasuredError
from traindyno.core.learning import Recipe
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord, WorkloadSpec
from traindyno.core.requests import AccuracyRequest


def concluded(request: AccuracyRequest, history: list[TrialRecord]) -> AccuracyAnswer:
    runs = plan_of(request).runs(history)
    return conclude_accuracy(request, runs, data="digits:", seconds=5.0, simulated=False)


def answer_of(learner: FakeLearner | None = None, **changes: object) -> AccuracyAnswer:
    request = asked(**changes)
    return concluded(request, trained(request, learner or FakeLearner(seed_spread=0.01)))


def said(answer: AccuracyAnswer, words: str) -> bool:
    return any(words in verdict for verdict in answer.verdicts)


def test_the_end_of_a_run_counts_and_not_the_best_on_its_way() -> None:
    """The fake learner is 5 points better one step before its end."""
    answer = answer_of(FakeLearner(top=0.8))
    assert [row.accuracy_mean for row in answer.rows] == pytest.approx([0.8] * 3)


def test_a_row_has_mean_spread_and_interval_over_its_seeds() -> None:
    row = answer_of(seeds=5).rows[0]
    mean = sum(row.accuracies) / 5
    spread = math.sqrt(sum((value - mean) ** 2 for value in row.accuracies) / 4)
    assert (row.seeds, row.missing, row.diverged) == (5, 0, 0)
    assert row.accuracy_mean == pytest.approx(mean)
    assert row.accuracy_sd == pytest.approx(spread)
    assert row.ci95 == pytest.approx((mean - 2.776445 * spread / 5**0.5, mean + 2.776445 * spread / 5**0.5))


def test_equal_epochs_are_fewer_steps_and_less_time() -> None:
    small, _, large = answer_of(seeds=1).rows
    assert (small.epochs, large.epochs) == pytest.approx((9.984, 9.984))
    assert (small.steps, large.steps) == (312, 78)
    assert small.seconds == pytest.approx(small.steps * 0.01)


def test_a_failed_seed_is_counted_as_missing_and_named() -> None:
    crash = FakeLearner(seed_spread=0.01, failures={(64, 1): failure(Outcome.CRASH)})
    answer = answer_of(crash, seeds=3)
    assert [(row.seeds, row.missing) for row in answer.rows] == [(3, 0), (2, 1), (3, 0)]
    assert said(answer, "Batch 64: 1 of 3 runs is missing (crash).")


def test_a_size_that_never_ran_keeps_its_row() -> None:
    full = FakeLearner(seed_spread=0.01, failures={(128, 0): failure(Outcome.OUT_OF_DEVICE_MEMORY)})
    answer = answer_of(full, seeds=3)
    row = answer.rows[-1]
    assert (row.batch_size, row.seeds, row.missing) == (128, 0, 3)
    assert math.isnan(row.accuracy_mean)
    assert said(answer, "Batch 128: 3 of 3 runs are missing (out of memory).")
    assert not said(answer, "Batch 128 against")


def test_a_study_that_was_cut_says_what_it_did_not_run() -> None:
    request = asked(seeds=3)
    answer = concluded(request, trained(request, FakeLearner(seed_spread=0.01))[:7])
    assert [row.seeds for row in answer.rows] == [3, 2, 2]
    assert said(answer, "Batch 128: 1 of 3 runs is missing (not run).")


def test_a_run_that_was_cut_short_does_not_count_with_what_it_had() -> None:
    request = asked(seeds=2)
    history = trained(request, FakeLearner())
    cut = TrialRecord(
        spec=history[0].spec, outcome=Outcome.INTERRUPTED, seconds=1.0, measurement=history[0].measurement,
        failure=failure(Outcome.INTERRUPTED),
    )  # fmt: skip
    answer = concluded(request, [*history[1:], cut])
    assert answer.rows[0].missing > 0


def test_runs_that_diverged_count_with_what_they_ended_with_and_their_time_does_not() -> None:
    answer = answer_of(FakeLearner(best_rate=lambda size: 1.0), rule="linear", sizes=(32, 4096), seeds=2)
    assert answer.rows[1].diverged == 2
    assert answer.rows[1].accuracy_mean == pytest.approx(0.1)
    assert said(answer, "Batch 4096: 2 of 2 runs diverged")


def never_finite(record: TrialRecord) -> TrialRecord:
    """The same run with a loss that was no number from the first step on."""
    assert record.measurement is not None
    assert record.measurement.learning is not None
    lost = tuple(
        msgspec.structs.replace(each, training_loss=math.nan, loss=math.nan, accuracy=0.1)
        for each in record.measurement.learning.evaluations
    )
    learning = msgspec.structs.replace(record.measurement.learning, evaluations=lost, diverged=True, began_finite=False)
    return msgspec.structs.replace(record, measurement=msgspec.structs.replace(record.measurement, learning=learning))


def test_where_no_loss_ever_was_a_number_no_other_rate_is_proposed() -> None:
    request = asked(rule="linear", sizes=(32,), seeds=2)
    history = trained(request, FakeLearner(seed_spread=0.01))
    answer = concluded(request, [never_finite(record) for record in history])
    assert said(answer, "Batch 32: the loss of 2 of 2 runs was no number from the first step on; they count with")
    assert said(answer, "Look for NaN in the data and in what model and loss return.")
    assert not said(answer, "diverged")
    assert not said(answer, "another rate")
    answer = concluded(request, [history[0], never_finite(history[1])])
    assert said(answer, "the loss of 1 of 2 runs was no number")


def test_a_search_for_a_rate_that_met_no_number_asks_for_no_other_rate() -> None:
    request = asked(rule="tune", sizes=(32,), seeds=2)
    history: list[TrialRecord] = []
    while (proposal := plan_of(request).ask(history)) is not None:
        history.append(never_finite(FakeLearner().run(proposal.spec)))
    answer = concluded(request, history)
    assert answer.rows[0].rate_at_edge
    assert not said(answer, "Give an --lr")


def test_every_row_is_held_against_the_reference() -> None:
    answer = answer_of(reference_batch=64, recipe=Recipe(learning_rate=0.64))
    assert [(each.first, each.second) for each in answer.comparisons] == [
        ("batch 64", "batch 32"), ("batch 64", "batch 128"),
    ]  # fmt: skip


def test_a_reference_that_is_no_row_leaves_the_smallest_to_compare_with() -> None:
    answer = answer_of(reference_batch=8)
    assert answer.reference_batch == 8
    assert {each.first for each in answer.comparisons} == {"batch 32"}


def test_one_seed_is_too_few_and_one_sentence_says_so() -> None:
    answer = answer_of(seeds=1)
    assert [row.accuracy_sd for row in answer.rows] == [None] * 3
    assert [row.ci95 for row in answer.rows] == [None] * 3
    assert sum("too few seeds" in verdict for verdict in answer.verdicts) == 1


def test_tuning_tells_its_cost_and_that_it_is_fair() -> None:
    answer = answer_of(rule="tune")
    runs = sum(row.tuning_runs for row in answer.rows)
    assert all(row.tuning_runs >= 6 for row in answer.rows)
    assert answer.tuning_seconds == pytest.approx(runs * 1.0)
    assert said(answer, f"in {runs} runs of")
    assert all(row.seeds == 3 for row in answer.rows)


def test_a_rate_at_the_edge_of_the_search_is_told() -> None:
    answer = answer_of(FakeLearner(best_rate=lambda _: 1e9, seed_spread=0.01), rule="tune", sizes=(32,))
    assert answer.rows[0].rate_at_edge
    assert said(answer, "a better one may lie beyond")


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("none", "this is no fair comparison"),
        ("linear", "Rates follow the linear rule, which may suit one size better"),
        ("tune", "Each size has the best rate found for it"),
    ],
)
def test_how_fair_the_rates_are_is_told(rule: str, words: str) -> None:
    assert said(answer_of(rule=rule), words)


def test_the_gain_rule_tells_the_noise_scale_that_it_rests_on() -> None:
    measured = answer_of(FakeLearner(noise_scale=128.0, seed_spread=0.01), rule="gain")
    assert measured.noise_scale == pytest.approx(128.0)
    assert said(measured, "a noise scale of 128 (128 to 128), measured at 0.32@32")
    given = answer_of(rule="gain", noise_scale=50.0)
    assert given.noise_scale == 50.0


def test_a_given_noise_scale_leaves_the_optimiser_of_a_file_to_be_assumed() -> None:
    own = WorkloadSpec(model="job.py:make")
    words = "The gain rule assumed that job.py:make trains with sgd"
    assert said(answer_of(rule="gain", noise_scale=50.0, workload=own), words)
    assert not said(answer_of(rule="gain", workload=own), words)
    assert not said(answer_of(rule="gain", noise_scale=50.0), "assumed")
    assert not said(answer_of(rule="gain", noise_scale=50.0, workload=own, sizes=(32,)), "assumed")


def test_batch_norm_over_few_examples_is_warned_of() -> None:
    """Note 003's 32 on 4 cards: 8 examples each."""
    emulated = Recipe(learning_rate=0.32, emulated_devices=4)
    answer = answer_of(FakeLearner(norm_examples=lambda size: size // 4, seed_spread=0.01), recipe=emulated)
    assert said(answer, "fewer than 16 examples at once (8 at batch 32, emulated)")
    assert said(answer, "The 4 devices are emulated")
    plain = answer_of(FakeLearner(norm_examples=lambda size: size, seed_spread=0.01))
    assert not said(plain, "normalisation")


def test_ghost_batches_that_are_too_small_have_another_remedy() -> None:
    ghost = Recipe(learning_rate=0.32, batch_norm="ghost", ghost_size=8)
    assert said(answer_of(FakeLearner(norm_examples=lambda _: 8), recipe=ghost), "Raise --ghost-size")


@pytest.mark.parametrize(("top", "words"), [(1.2, "too easy"), (0.11, "far above guessing (10%)")])
def test_accuracies_that_tell_little_are_named(top: float, words: str) -> None:
    assert said(answer_of(FakeLearner(top=top)), words)


@pytest.mark.parametrize(("equal", "words"), [("epochs", "1/4 of the steps"), ("steps", "4 times the examples")])
def test_what_is_equal_is_told(equal: str, words: str) -> None:
    assert said(answer_of(equal=equal), words)


def test_outputs_that_are_no_classes_have_no_accuracy() -> None:
    with pytest.raises(NothingMeasuredError, match="no accuracy"):
        answer_of(FakeLearner(has_classes=False))


def test_no_run_is_no_answer() -> None:
    with pytest.raises(NothingMeasuredError):
        concluded(asked(), [])
