import pytest

from analysis.making import failed, ran
from traindyno.analysis.throughput import conclude_throughput, start_up_seconds
from traindyno.core.answers import ThroughputAnswer
from traindyno.core.codec import decode, encode
from traindyno.core.errors import NothingMeasuredError
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord

STEPS = {8: 0.020, 32: 0.021, 64: 0.032, 128: 0.060, 256: 0.118, 512: 0.234}


def study(device: str = "cuda") -> list[TrialRecord]:
    """Three rounds over a saturating curve, memory up to a quarter of what there is, then out of memory."""
    return [
        ran(
            size,
            seconds * (1 + 0.001 * repeat),
            repeat=repeat,
            device=device,
            peak_bytes=10**9 + 10**8 * size,
            limit_bytes=2 * 10**11,
            first_step_seconds=seconds + 0.5,
        )
        for repeat in range(3)
        for size, seconds in STEPS.items()
    ] + [failed(4096)]


def test_a_study_is_concluded_with_everything_in_its_place() -> None:
    answer = conclude_throughput("torchvision:resnet50", "train", study())
    assert [point.batch_size for point in answer.curve] == list(STEPS)
    assert all(point.processes == 3 for point in answer.curve)
    assert (answer.best_batch, answer.recommended_batch, answer.saturated_from) == (512, 128, 128)
    assert (answer.fastest_batch, answer.largest_batch, answer.chosen_batch) == (512, 512, 128)
    assert answer.out_of_memory_from == 4096
    assert answer.predicted_memory_limit_batch == 1990
    assert answer.memory_limit_bytes == 2 * 10**11
    assert answer.step_model is not None
    assert answer.drift_percent is not None
    assert answer.start_up_seconds == pytest.approx(2.5, abs=0.001)
    assert answer.seconds == pytest.approx(18 * 10 + 2)
    assert answer.verdicts[0].startswith("Throughput is saturated from batch 128 on")
    assert "while memory is 7 % full" in answer.verdicts[0]
    assert any("launch-bound" in text for text in answer.verdicts)


@pytest.mark.parametrize(("choose", "chosen"), [("recommended", 128), ("fastest", 512), ("largest", 512)])
def test_the_policy_chooses(choose: str, chosen: int) -> None:
    answer = conclude_throughput("m", "train", study(), choose=choose)  # type: ignore[arg-type]
    assert (answer.chosen_batch, answer.choose) == (chosen, choose)


def test_on_a_cpu_nothing_is_launch_bound() -> None:
    answer = conclude_throughput("m", "train", study("cpu"))
    assert not any("launch" in text for text in answer.verdicts)
    assert any("fixed cost per step" in text for text in answer.verdicts)


def test_the_answer_survives_being_written_and_read() -> None:
    answer = conclude_throughput("m", "train", study())
    assert decode(encode(answer), ThroughputAnswer) == answer


def test_nothing_measured_is_an_error_with_the_remedy_of_the_failure() -> None:
    with pytest.raises(NothingMeasuredError) as caught:
        conclude_throughput("m", "train", [failed(8)])
    assert caught.value.hint is not None
    assert "smaller batch" in caught.value.hint


def test_other_failures_and_a_dropped_size_are_mentioned() -> None:
    records = [
        *study(),
        failed(16, Outcome.CRASH),
        failed(1, Outcome.USER_ERROR, code="batch_norm_single_value"),
    ]
    texts = conclude_throughput("m", "train", records).verdicts
    assert "Batch 16 could not be measured: crash." in texts
    assert texts[-1].startswith("Batch 1 was left out")


def test_start_up_is_building_plus_what_the_first_steps_take_beyond_as_many_usual_ones() -> None:
    records = [
        ran(8, 0.1, start_up_seconds=1.0, first_step_seconds=3.1),
        ran(16, 0.1, start_up_seconds=1.0, first_step_seconds=0.05),
    ]
    assert start_up_seconds(records) == pytest.approx((4.0 + 1.0) / 2)
    recorded = ran(8, 0.1, start_up_seconds=1.0, first_step_seconds=3.1, warm_up_seconds=6.0)
    assert start_up_seconds([recorded]) == pytest.approx(1.0 + 3.0 + 5.0)
    assert start_up_seconds([failed(8)]) is None
