"""A knob that would do nothing is refused by its name, before anything is built."""

import pytest

from traindyno.core.errors import UsageError
from traindyno.core.records import Settings
from traindyno.core.setting_checks import check_settings
from worker.knobs.benches import bench_of

CPU, GPU = "cpu", "cuda:0"
ONLY_GPU: list[dict[str, object]] = [
    {"cudnn_benchmark": True},
    {"determinism": "cudnn"},
    {"tf32": "all"},
    {"expandable_segments": True},
    {"compile": "reduce-overhead"},
]
ONLY_TRAINING: list[dict[str, object]] = [
    {"optimizer_kernel": "fused"},
    {"accumulation_steps": 2},
    {"activation_checkpointing": True},
    {"read_metrics": True},
]


def settings(**knobs: object) -> Settings:
    return Settings(batch_size=8, **knobs)  # type: ignore[arg-type]


@pytest.mark.parametrize("knob", ONLY_GPU)
def test_knobs_of_a_gpu_are_refused_on_a_cpu(knob: dict[str, object]) -> None:
    check_settings(settings(**knob), "train", GPU)
    with pytest.raises(UsageError, match=f"^{next(iter(knob))}.* only matters on a GPU"):
        bench_of(**knob)


def test_threads_are_refused_on_a_gpu() -> None:
    with pytest.raises(UsageError, match="threads only matters on a CPU"):
        check_settings(settings(threads=2), "train", GPU)


@pytest.mark.parametrize("knob", ONLY_TRAINING)
def test_knobs_of_training_are_refused_in_inference(knob: dict[str, object]) -> None:
    check_settings(settings(**knob), "train", CPU)
    with pytest.raises(UsageError, match=f"{next(iter(knob))} only matters in training"):
        check_settings(settings(**knob), "infer", CPU)


@pytest.mark.parametrize("parts", [0, 3, 16])
def test_a_batch_must_divide_into_its_parts(parts: int) -> None:
    with pytest.raises(UsageError, match=f"a batch of 8 cannot be computed in {parts} equal parts"):
        check_settings(settings(accumulation_steps=parts), "train", CPU)


def test_no_threads_are_too_few() -> None:
    with pytest.raises(UsageError, match="0 threads"):
        check_settings(settings(threads=0), "train", CPU)


def test_more_threads_than_any_machine_has_are_too_many() -> None:
    check_settings(settings(threads=1024), "train", CPU)
    with pytest.raises(UsageError, match="5000 threads are more than any machine computes with"):
        check_settings(settings(threads=5000), "train", CPU)


def test_of_a_device_that_is_not_known_yet_nothing_is_said() -> None:
    check_settings(settings(threads=2, tf32="all"), "train", "auto")


@pytest.mark.parametrize("device", [CPU, GPU, "simulated"])
def test_the_defaults_pass_everywhere(device: str) -> None:
    check_settings(settings(), "train", device)
    check_settings(settings(), "infer", device)
