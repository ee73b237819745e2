"""Knobs of the whole process: each sets its own flags, and only where it was turned."""

import os

import pytest
import torch

from traindyno.core.records import Settings
from traindyno.worker.errors import DoesNotApplyError
from traindyno.worker.knobs import flags
from traindyno.worker.knobs.flags import set_before_cuda, set_flags
from worker.knobs.benches import bench_of, losses_of


def test_defaults_leave_the_users_flags_alone() -> None:
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = True
    set_flags(Settings(batch_size=1))
    assert torch.backends.cudnn.benchmark
    assert torch.backends.cuda.matmul.allow_tf32


def test_cudnn_may_try_its_algorithms() -> None:
    set_flags(Settings(batch_size=1, cudnn_benchmark=True))
    assert torch.backends.cudnn.benchmark


@pytest.mark.parametrize(("determinism", "everything"), [("cudnn", False), ("all", True)])
def test_determinism_is_of_cudnn_or_of_everything(determinism: str, everything: bool) -> None:
    set_flags(Settings(batch_size=1, determinism=determinism))  # type: ignore[arg-type]
    assert torch.backends.cudnn.deterministic
    assert torch.are_deterministic_algorithms_enabled() == everything


def test_full_determinism_is_settled_before_cuda_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "")
    set_before_cuda(Settings(batch_size=1, determinism="all"))
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"


@pytest.mark.parametrize(("own", "expected"), [(None, "32"), ("1", "1")])
def test_a_gpu_that_decodes_has_queues_for_all_its_streams_unless_the_user_says_how_many(
    own: str | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_DEVICE_MAX_CONNECTIONS", raising=False)
    if own is not None:
        monkeypatch.setenv("CUDA_DEVICE_MAX_CONNECTIONS", own)
    set_before_cuda(Settings(batch_size=1, decoder="nvjpeg"))
    assert os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] == expected


def test_nobody_else_has_more_queues(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_DEVICE_MAX_CONNECTIONS", raising=False)
    set_before_cuda(Settings(batch_size=1, decoder="simplejpeg"))
    assert "CUDA_DEVICE_MAX_CONNECTIONS" not in os.environ


@pytest.mark.parametrize(("tf32", "expected"), [("none", (False, False)), ("all", (True, True))])
def test_tf32_is_for_nothing_or_for_everything(tf32: str, expected: tuple[bool, bool]) -> None:
    set_flags(Settings(batch_size=1, tf32=tf32))  # type: ignore[arg-type]
    assert (torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32) == expected


def test_torch_itself_allows_tf32_in_convolutions_alone() -> None:
    assert Settings(batch_size=1).tf32 == "convolutions"
    assert (torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32) == (True, False)


def test_threads_are_those_that_torch_computes_with() -> None:
    bench_of(threads=3)
    assert torch.get_num_threads() == 3


@pytest.mark.parametrize(
    ("own", "expected"),
    [("", "expandable_segments:True"), ("max_split_size_mb:64", "max_split_size_mb:64,expandable_segments:True")],
)
def test_expandable_segments_join_the_users_own_configuration(
    own: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(torch._C, "_accelerator_setAllocatorSettings", told.append)
    monkeypatch.delenv("PYTORCH_ALLOC_CONF", raising=False)
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", own)
    flags.set_before_cuda(Settings(batch_size=1, expandable_segments=True))
    assert told == [expected]


def test_an_operation_that_cannot_be_deterministic_is_named_and_does_not_apply() -> None:
    bench = bench_of("scatters", determinism="all")
    with pytest.raises(DoesNotApplyError, match="put_ has no deterministic implementation") as raised:
        bench.step()
    assert "determinism" in str(raised.value.hint)


def test_deterministic_steps_are_the_same_steps() -> None:
    assert losses_of(bench_of(determinism="all")) == pytest.approx(losses_of(bench_of()), rel=1e-5)


@pytest.mark.gpu
@pytest.mark.parametrize(("tf32", "rounded"), [("none", False), ("all", True)])
def test_products_are_rounded_as_tf32_says_on_a_gpu(tf32: str, rounded: bool) -> None:
    set_flags(Settings(batch_size=1, device="cuda:0", tf32=tf32))  # type: ignore[arg-type]
    left, right = torch.rand(2, 512, 512, device="cuda", generator=torch.Generator("cuda").manual_seed(0))
    error = ((left @ right).double() - left.double() @ right.double()).abs().max() / 128
    assert bool(error > 1e-5) == rounded
