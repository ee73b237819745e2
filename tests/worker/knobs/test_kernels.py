"""The kernels asked for land in the optimiser, named or the user's own."""

from typing import Any

import pytest
import torch
from torch import nn

from traindyno.core.records import OptimizerKernel
from traindyno.worker.errors import DoesNotApplyError
from traindyno.worker.knobs.kernels import use_kernel
from worker.knobs.benches import bench_of, losses_of

KERNELS: list[OptimizerKernel] = ["loop", "foreach", "fused"]
MAKERS: list[Any] = [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW]


def parameters() -> list[nn.Parameter]:
    return [nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(2, 2))]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("maker", MAKERS)
def test_an_optimiser_is_as_if_built_with_these_kernels(maker: Any, kernel: OptimizerKernel) -> None:
    ours, theirs = maker(parameters(), lr=0.1), _built(maker, kernel)
    use_kernel(ours, kernel)
    for optimizer in (ours, theirs):
        for _ in range(3):
            _step(optimizer)
    for ours_now, theirs_now in zip(_values(ours), _values(theirs), strict=True):
        torch.testing.assert_close(ours_now, theirs_now)
    assert [group["foreach"] for group in ours.param_groups] == [kernel == "foreach"]
    assert [group["fused"] for group in ours.param_groups] == [kernel == "fused"]
    assert getattr(ours, "_step_supports_amp_scaling", False) == (kernel == "fused")


def _built(maker: Any, kernel: OptimizerKernel) -> Any:
    return maker(parameters(), lr=0.1, foreach=kernel == "foreach", fused=kernel == "fused")


def _values(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    return [value for group in optimizer.param_groups for value in group["params"]]


def _step(optimizer: torch.optim.Optimizer) -> None:
    for value in _values(optimizer):
        value.grad = value.detach().clone()
    optimizer.step()


def test_auto_touches_nothing() -> None:
    optimizer = torch.optim.Adam(parameters(), fused=True)
    use_kernel(optimizer, "auto")
    assert optimizer.param_groups[0]["fused"] is True


def test_fused_kernels_of_the_users_own_can_be_taken_back_with_the_scaling() -> None:
    optimizer = torch.optim.Adam(parameters(), fused=True)
    use_kernel(optimizer, "loop")
    assert optimizer.param_groups[0]["fused"] is False
    assert not optimizer._step_supports_amp_scaling


@pytest.mark.parametrize("kernel", KERNELS)
def test_an_optimiser_without_a_choice_does_not_apply(kernel: OptimizerKernel) -> None:
    with pytest.raises(DoesNotApplyError, match="LBFGS has no option"):
        use_kernel(torch.optim.LBFGS(parameters()), kernel)


def test_state_made_too_early_for_fused_kernels_does_not_apply() -> None:
    with pytest.raises(DoesNotApplyError, match="made its state"):
        use_kernel(torch.optim.Adagrad(parameters()), "fused")


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_steps_learn_the_same_with_every_kernel(kernel: OptimizerKernel, precision: str) -> None:
    expected = losses_of(bench_of(precision=precision))
    assert losses_of(bench_of(precision=precision, optimizer_kernel=kernel)) == pytest.approx(expected, rel=1e-3)


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", KERNELS)
def test_scaled_half_precision_works_with_every_kernel_on_a_gpu(kernel: OptimizerKernel) -> None:
    losses = losses_of(bench_of(device="cuda:0", precision="fp16", optimizer_kernel=kernel), 20)
    assert losses[-1] < losses[0]
