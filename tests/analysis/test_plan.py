import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.making import curve, point
from traindyno.analysis.curve import NOISY, NOT_STEADY
from traindyno.analysis.plan import CAUTION, TrainingJob, conclude_plan
from traindyno.core.errors import UsageError

POINTS = curve({32: 320.0, 64: 500, 128: 505, 256: 510})


def test_training_time_is_time_per_step_times_steps() -> None:
    answer = conclude_plan(POINTS, TrainingJob(examples=1000, epochs=3), start_up_seconds=5)
    row = answer.rows[0]
    assert (row.batch_size, row.steps) == (32, 32 * 3)
    assert row.training_seconds == pytest.approx(5 + 96 * 0.1)
    assert row.ci95 == pytest.approx((5 + 96 * 0.1 / 1.01, 5 + 96 * 0.1 / 0.99))
    assert row.cost is None


def test_the_fastest_is_marked_and_a_near_equal_smaller_batch_named() -> None:
    answer = conclude_plan(POINTS, TrainingJob(examples=10**6, epochs=90))
    assert answer.fastest == 256
    assert any(text.startswith("Batch 64 takes only 2.0 % longer") for text in answer.verdicts)
    assert answer.verdicts[0].startswith("Batch 256 is the fastest: 2 d 1 h")
    assert answer.verdicts[-1] == CAUTION


def test_no_smaller_batch_is_named_when_none_is_near() -> None:
    answer = conclude_plan(curve({32: 100.0, 64: 200}), TrainingJob(examples=10**5, epochs=1))
    assert not any("longer" in text for text in answer.verdicts)


@pytest.mark.parametrize(("epochs", "steps"), [(1, 10), (0.5, 5), (2.5, 25), (0.1, 1), (0.3, 3), (0.25, 3)])
def test_fractional_epochs_round_steps_up(epochs: float, steps: int) -> None:
    assert conclude_plan(curve({100: 50.0}), TrainingJob(examples=991, epochs=epochs)).rows[0].steps == steps


def test_cost_is_hours_times_price() -> None:
    job = TrainingJob(examples=3200, epochs=100, price_per_hour=36)
    row = conclude_plan(curve({32: 320.0}), job, start_up_seconds=0).rows[0]
    assert row.training_seconds == pytest.approx(1000)
    assert row.cost == pytest.approx(10)


def test_evaluation_passes_are_added() -> None:
    job = TrainingJob(examples=3200, epochs=10, eval_every_epochs=2, eval_examples=330)
    row = conclude_plan(curve({32: 320.0}), job, evaluation_step_seconds={32: 0.02}).rows[0]
    assert row.evaluation_seconds == pytest.approx(5 * 11 * 0.02)
    assert row.training_seconds == pytest.approx(1000 * 0.1 + 5 * 11 * 0.02)


def test_an_unmeasured_evaluation_step_is_guessed_and_said_so() -> None:
    job = TrainingJob(examples=3200, epochs=1, eval_examples=320)
    answer = conclude_plan(curve({32: 320.0}), job)
    assert answer.rows[0].evaluation_seconds == pytest.approx(10 * 0.1 / 3)
    assert "An evaluation step is taken as one third of a training step." in answer.verdicts
    partly = conclude_plan(curve({32: 320.0, 64: 500}), job, evaluation_step_seconds={32: 0.02})
    assert any("where it was not measured" in text for text in partly.verdicts)
    measured = conclude_plan(curve({32: 320.0}), job, evaluation_step_seconds={32: 0.02})
    assert not any("third" in text for text in measured.verdicts)


def test_evaluation_without_a_number_of_examples_is_not_counted_and_said_so() -> None:
    answer = conclude_plan(curve({32: 320.0}), TrainingJob(examples=3200, epochs=1, eval_every_epochs=1))
    assert answer.rows[0].evaluation_seconds == 0
    assert any("Evaluation is not counted" in text for text in answer.verdicts)


LOOKS_FASTER = point(128, 1100, half_width=0.6, steady=False, marks=(NOT_STEADY, NOISY))


def test_a_noisy_or_unsteady_batch_that_looks_faster_is_named_and_not_chosen() -> None:
    answer = conclude_plan([*curve({32: 1000.0, 64: 1020}), LOOKS_FASTER], TrainingJob(examples=10**6, epochs=1))
    assert answer.fastest == 64
    assert answer.verdicts[0].startswith("Batch 64 is the fastest: ")
    assert answer.verdicts[1] == (
        "Batch 128 (15 min 09 s; not steady, noisy) looks faster, but cannot be trusted: "
        "measure again while the machine is quiet, or with more --repeats."
    )
    assert [row.marks for row in answer.rows] == [(), (), (NOT_STEADY, NOISY)]


def test_a_batch_that_is_not_steady_and_bears_no_mark_of_it_is_not_chosen_either() -> None:
    found = [*curve({32: 1000.0}), point(64, 1005, steady=False)]
    answer = conclude_plan(found, TrainingJob(examples=10**6, epochs=1))
    assert answer.fastest == 32
    assert answer.verdicts[1].startswith("Batch 64 (16 min 35 s; not steady) looks faster")


def test_a_noisy_batch_that_beats_all_others_for_all_its_interval_says_is_the_fastest() -> None:
    clear = point(128, 2000, half_width=0.3, marks=(NOISY,))
    answer = conclude_plan([*curve({32: 1000.0, 64: 1020}), clear], TrainingJob(examples=10**6, epochs=1))
    assert answer.fastest == 128
    assert not any("looks faster" in text for text in answer.verdicts)


def test_where_every_batch_is_noisy_the_shortest_time_is_the_fastest() -> None:
    answer = conclude_plan(curve({32: 1000.0, 64: 1020}, marks=(NOISY,)), TrainingJob(examples=10**6, epochs=1))
    assert answer.fastest == 64


def test_a_noisy_batch_is_not_recommended_as_nearly_as_fast() -> None:
    found = [point(32, 1100, half_width=0.6, marks=(NOISY,)), *curve({64: 1010.0, 128: 1020})]
    answer = conclude_plan(found, TrainingJob(examples=10**6, epochs=1))
    assert answer.fastest == 128
    assert any(text.startswith("Batch 64 takes only 1.0 % longer") for text in answer.verdicts)


def test_batches_larger_than_the_data_are_left_out() -> None:
    answer = conclude_plan(POINTS, TrainingJob(examples=100, epochs=1))
    assert [row.batch_size for row in answer.rows] == [32, 64]
    with pytest.raises(UsageError) as caught:
        conclude_plan(POINTS, TrainingJob(examples=31, epochs=1))
    assert "31 examples" in caught.value.message
    assert caught.value.hint is not None


def test_a_fastest_batch_that_fills_memory_comes_with_a_warning() -> None:
    full = [point(32, 100), point(64, 200, memory_share=0.98)]
    job = TrainingJob(examples=1000, epochs=1)
    assert any("fills 98 % of the memory" in text for text in conclude_plan(full, job, margin=0.05).verdicts)
    roomy = [point(32, 100), point(64, 200, memory_share=0.9)]
    assert not any("fills" in text for text in conclude_plan(roomy, job, margin=0.05).verdicts)


@given(
    st.integers(1, 10**7),
    st.floats(0.01, 300),
    st.dictionaries(st.integers(1, 4096), st.floats(1, 1e5), min_size=1),
)
def test_every_row_holds_its_own_interval_and_the_fastest_is_fastest(
    examples: int, epochs: float, rates: dict[int, float]
) -> None:
    rates = {1: 10.0, **rates}
    answer = conclude_plan(curve(rates), TrainingJob(examples=examples, epochs=epochs))
    for row in answer.rows:
        assert row.ci95[0] <= row.training_seconds <= row.ci95[1]
        assert row.steps * row.batch_size >= examples * epochs * (1 - 1e-6)
        assert row.steps <= math.ceil(math.ceil(examples / row.batch_size) * epochs)
    best = min(answer.rows, key=lambda row: row.training_seconds)
    assert answer.fastest == best.batch_size
