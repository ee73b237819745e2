"""The registry: which values are tried, and why others are not."""

from typing import Any

import msgspec
import pytest

from traindyno.core.errors import UsageError
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.search.switches import SWITCHES, find_candidates
from traindyno.search.switches.switch import Situation

WORKLOAD = WorkloadSpec(model="torchvision:resnet50")


def situation(device: str = "cuda:0", mode: str = "train", cpus: int = 8, **changes: Any) -> Situation:
    known = {name: changes.pop(name) for name in Situation.__struct_fields__ if name in changes}
    settings = Settings(**{"batch_size": 64, "device": device, **changes})
    workload = msgspec.structs.replace(WORKLOAD, mode=mode)
    return Situation(workload=workload, baseline=settings, usable_cpus=cpus, **known)


def tried(name: str, where: Situation) -> list[Any]:
    return [each.value for each in find_candidates(where, only=[name]) if each.skipped_because is None]


def reasons(name: str, where: Situation) -> list[str]:
    return [each.skipped_because for each in find_candidates(where, only=[name]) if each.skipped_because is not None]


@pytest.mark.parametrize("name", SWITCHES)
@pytest.mark.parametrize("device", ["cuda:0", "cpu"])
def test_a_switch_is_a_field_of_the_settings_and_changes_what_the_baseline_has(name: str, device: str) -> None:
    where = situation(device)
    found = find_candidates(where, only=[name])
    assert found, "a switch is tried or says why not"
    for candidate in found:
        after = candidate.applied(where.baseline)
        msgspec.convert(msgspec.to_builtins(after), Settings)
        assert candidate.skipped_because is not None or after != where.baseline


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("precision", ["bf16", "fp16"]),
        ("memory_format", ["channels_last"]),
        ("compile", ["default", "reduce-overhead"]),
        ("tf32", ["all", "none"]),
        ("cudnn_benchmark", [True]),
        ("optimizer_kernel", ["fused", "loop"]),
        ("determinism", ["cudnn", "all"]),
        ("accumulation_steps", [2]),
        ("threads", []),
    ],
)
def test_what_is_tried_on_a_gpu(name: str, values: list[Any]) -> None:
    assert tried(name, situation()) == values


def test_on_a_cpu_what_needs_a_gpu_is_left_out_with_the_reason() -> None:
    where = situation("cpu")
    found = {each.switch for each in find_candidates(where) if each.skipped_because is None}
    assert {"precision", "memory_format", "compile", "threads", "optimizer_kernel"} <= found
    assert not found & {"tf32", "cudnn_benchmark", "pin_memory", "read_metrics", "expandable_segments"}
    assert tried("precision", where) == ["bf16"]
    assert reasons("tf32", where) == ["only GPUs have TF32"] * 2
    assert reasons("cudnn_benchmark", where) == ["only GPUs have cuDNN"]


@pytest.mark.parametrize(("now", "values"), [("none", ["all"]), ("all", ["none"]), ("cudnn", ["all"])])
def test_on_a_cpu_only_determinism_of_all_operations_means_something(now: str, values: list[str]) -> None:
    assert tried("determinism", situation("cpu", determinism=now)) == values
    assert set(reasons("determinism", situation("cpu", determinism=now))) == {"only GPUs have cuDNN"}


def test_without_a_cpp_compiler_nothing_is_compiled_for_a_cpu() -> None:
    assert tried("compile", situation("cpu")) == ["default"]
    assert any("C++ compiler" in why for why in reasons("compile", situation("cpu", has_cpp_compiler=False)))


def test_max_autotune_is_tried_on_request_alone() -> None:
    assert "max-autotune" in tried("compile", situation(max_autotune=True))


@pytest.mark.parametrize(
    ("name", "now", "values"),
    [
        ("cudnn_benchmark", True, [False]),
        ("compile", "default", ["none", "reduce-overhead"]),
        ("precision", "bf16", ["fp32", "fp16"]),
        ("memory_format", "channels_last", ["contiguous"]),
        ("accumulation_steps", 4, [1]),
        ("determinism", "all", ["none", "cudnn"]),
    ],
)
def test_what_the_baseline_has_on_is_tried_off(name: str, now: Any, values: list[Any]) -> None:
    assert tried(name, situation(**{name: now})) == values


def test_inference_has_no_optimiser_and_no_loss() -> None:
    where = situation(mode="infer")
    for name in ("optimizer_kernel", "accumulation_steps", "activation_checkpointing", "read_metrics"):
        assert tried(name, where) == []
        assert all("inference" in why for why in reasons(name, where))


def test_a_batch_that_cannot_be_halved_is_not() -> None:
    assert reasons("accumulation_steps", situation(batch_size=7)) == [
        "a batch of 7 cannot be computed in 2 equal parts"
    ]


@pytest.mark.parametrize(
    ("cpus", "cores", "now", "values"),
    [(8, 8, None, [4]), (8, 4, None, [4, 8]), (8, 8, 2, [4, 8]), (6, 4, None, [3, 4, 6]), (2, 2, None, [1])],
)
def test_threads_are_half_the_cpus_and_where_they_differ_cores_and_cpus(
    cpus: int, cores: int, now: int | None, values: list[int]
) -> None:
    assert tried("threads", situation("cpu", cpus=cpus, physical_cores=cores, threads=now)) == values


def test_as_many_threads_as_there_are_already_are_not_tried() -> None:
    where = situation("cpu", cpus=2, physical_cores=2, default_threads=1)
    assert tried("threads", where) == [2]
    assert tried("threads", msgspec.structs.replace(where, default_threads=2)) == [1]


def test_one_cpu_leaves_no_choice_of_threads() -> None:
    assert reasons("threads", situation("cpu", cpus=1)) == ["there is one CPU"]


def test_an_unknown_switch_is_answered_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="no switch 'compil'") as caught:
        find_candidates(situation(), only=["compil"])
    assert "did you mean compile?" in (caught.value.hint or "")
    assert "determinism" in (caught.value.hint or "")
    with pytest.raises(UsageError, match="no switch is left"):
        find_candidates(situation(), only=["tf32"], skip=["tf32"])


def test_skipped_switches_are_not_even_listed() -> None:
    assert "tf32" not in {each.switch for each in find_candidates(situation(), skip=["tf32"])}
