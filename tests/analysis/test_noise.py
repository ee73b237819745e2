"""What must not be concluded from noise."""

import msgspec

from traindyno.analysis.choice import choose_batch
from traindyno.analysis.verdicts import drops, throughput_verdicts
from traindyno.core.answers import CurvePoint


def point(size: int, rate: float, spread: float, *marks: str) -> CurvePoint:
    return CurvePoint(
        batch_size=size,
        examples_per_second=rate,
        ci95=(rate / (1 + spread), rate * (1 + spread)),
        step_seconds=size / rate,
        peak_memory_bytes=10**9,
        steady=True,
        processes=1,
        memory_share=0.1,
        marks=marks,
    )


NOISY_END = (point(2, 9669, 0.015), point(4, 1372, 4.0, "noisy"), point(8, 15525, 3.0, "noisy"))


def test_saturation_is_not_claimed_while_noisier_sizes_may_be_faster() -> None:
    choice = choose_batch(NOISY_END, margin=0.05)
    assert choice.saturated_from is None
    (first, *_) = throughput_verdicts(NOISY_END, choice, on_gpu=False)
    assert first.startswith("Too noisy to tell where throughput saturates: batch 8 may be faster")


def test_a_drop_is_not_claimed_between_points_that_are_noise() -> None:
    assert drops(NOISY_END) == []


def test_noise_at_small_sizes_does_not_hide_saturation_at_large_ones() -> None:
    curve = (point(8, 400, 0.2, "noisy"), point(64, 1950, 0.01), point(128, 1980, 0.01), point(256, 1985, 0.01))
    assert choose_batch(curve, margin=0.05).saturated_from == 64


def test_a_noisy_point_that_looks_slower_than_a_sound_larger_one_is_no_rival() -> None:
    curve = (point(32, 90, 0.2, "noisy"), point(128, 98, 0.005), point(256, 100, 0.005))
    assert choose_batch(curve, margin=0.05).recommended == 128
    assert msgspec.structs.asdict(choose_batch(curve, margin=0.05))["saturated_from"] == 128
