import pytest

from analysis.making import RESNET50_H200, curve, point
from traindyno.analysis.choice import choose_batch
from traindyno.analysis.verdicts import drifting, drops, fixed_cost, retries, saturation, throughput_verdicts


def test_saturation_is_said_beside_the_memory_that_is_not_full() -> None:
    points = curve(RESNET50_H200, half_width=0.005, memory_share=0.12)
    choice = choose_batch(points, margin=0.05)
    assert saturation(points, choice, out_of_memory_from=2048) == (
        "Throughput is saturated from batch 256 on (97 % of the best, 2,257 examples/s at 512), "
        "while memory is 12 % full: memory is not the limit."
    )


def test_without_a_memory_limit_nothing_is_said_about_memory() -> None:
    points = curve(RESNET50_H200, half_width=0.005, memory_share=None)
    text = saturation(points, choose_batch(points, margin=0.05), None)
    assert text.endswith("(97 % of the best, 2,257 examples/s at 512).")


def test_a_rising_curve_that_ends_at_the_memory_says_so() -> None:
    points = curve({8: 10.0, 16: 20, 32: 40})
    choice = choose_batch(points, margin=0.05)
    assert saturation(points, choice, out_of_memory_from=64) == (
        "Throughput still rises at the largest batch that fits (40.0 examples/s at 32): memory is the limit."
    )


def test_a_rising_curve_that_ends_before_the_memory_says_that_more_may_be_gained() -> None:
    points = curve({8: 10.0, 16: 20, 32: 40})
    text = saturation(points, choose_batch(points, margin=0.05), None)
    assert text == (
        "Throughput still rises at the largest batch measured (40.0 examples/s at 32): larger ones may be faster."
    )


def test_a_curve_too_short_to_show_saturation_says_so() -> None:
    points = curve({64: 100.0, 80: 90})
    assert "does not show" in saturation(points, choose_batch(points, margin=0.05), None)
    alone = curve({64: 100.0})
    assert "alone shows no saturation" in saturation(alone, choose_batch(alone, margin=0.05), None)


def test_flat_step_times_at_small_batches_are_launch_bound_on_a_gpu() -> None:
    assert fixed_cost(curve(RESNET50_H200, half_width=0.01), on_gpu=True) == (
        "Up to batch 32 a step takes 16.9–19.1 ms whatever the batch: small batches are launch-bound, "
        "the host launches work slower than the device does it."
    )


def test_the_same_on_a_cpu_is_a_fixed_cost() -> None:
    text = fixed_cost(curve({1: 100.0, 2: 198, 4: 390, 8: 500}), on_gpu=False)
    assert text == (
        "Up to batch 4 a step takes 10.0–10.3 ms whatever the batch: a fixed cost per step outweighs the examples."
    )


def test_nothing_is_called_launch_bound_when_steps_grow_or_intervals_are_wide() -> None:
    assert fixed_cost(curve({1: 100.0, 2: 150, 4: 170}), on_gpu=True) is None
    assert fixed_cost(curve({1: 100.0, 2: 198, 4: 390}, half_width=0.5), on_gpu=True) is None


def test_steps_that_creep_up_do_not_count_as_flat_for_ever() -> None:
    creeping = {2**power: 2**power / (0.01 * 1.12**power) for power in range(8)}
    assert "Up to batch 4 " in (fixed_cost(curve(creeping), on_gpu=True) or "")


def test_one_size_says_nothing_about_fixed_cost() -> None:
    assert fixed_cost(curve({1: 100.0}), on_gpu=True) is None


def test_a_drop_is_named_with_its_sizes() -> None:
    assert drops(curve({256: 90.0, 512: 100, 1024: 92})) == ["Throughput drops 8 % from 512 to 1024."]


def test_a_drop_within_the_noise_is_no_drop() -> None:
    assert drops(curve({512: 100.0, 1024: 92}, half_width=0.08)) == []
    assert drops(curve({512: 100.0, 1024: 98})) == []


def test_the_greatest_drops_come_first_and_at_most_three() -> None:
    found = drops(curve({1: 100.0, 2: 90, 4: 100, 8: 50, 16: 100, 32: 80, 64: 100, 128: 95}))
    assert [text.split()[2] for text in found] == ["50", "20", "10"]


def test_a_drop_where_the_allocator_retries_names_the_cause() -> None:
    points = [point(512, 100), point(1024, 80, marks=("allocator retries",))]
    assert drops(points) == ["Throughput drops 20 % from 512 to 1024, where the allocator has to retry."]
    assert retries(points) == ("At batch 1024 memory is so full that the allocator has to free its cache and retry.")
    assert retries([point(512, 100)]) is None


@pytest.mark.parametrize("drift", [None, (0.5, (0.1, 0.9)), (6.0, (-1.0, 13.0))])
def test_small_or_uncertain_drift_is_not_mentioned(drift: tuple[float, tuple[float, float]] | None) -> None:
    assert drifting(drift) is None


def test_drift_is_said_with_its_direction() -> None:
    assert "Steps became 6.0 % longer" in (drifting((6.0, (4.0, 8.0))) or "")
    assert "Steps became 6.0 % shorter while the study ran (4.0 to 8.0 %)" in (drifting((-6.0, (-8.0, -4.0))) or "")


def test_all_verdicts_together_begin_with_saturation() -> None:
    points = curve({**RESNET50_H200, 1024: 2000}, half_width=0.005)
    texts = throughput_verdicts(points, choose_batch(points, 0.05), on_gpu=True, drift=(6.0, (4.0, 8.0)))
    assert [text.split()[0] for text in texts] == ["Throughput", "Up", "Throughput", "Steps"]
