"""Learning on a GPU. Runs have processes of their own: some settings must come before CUDA starts."""

import copy

import pytest
import torch
from torch import nn

from traindyno.core.codec import decode
from traindyno.core.learning import Recipe
from traindyno.core.records import Settings, TrialSpec, WorkloadSpec
from traindyno.worker.learning.normalising import normalise
from traindyno.worker.learning.processes import ALONE
from traindyno.worker.learning.story import Story
from worker.learning.children import run_together
from worker.learning.test_checkpoints import exact_spec

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"precision": "bf16"},
        {"precision": "fp16"},
        {"precision": "fp16", "optimizer_kernel": "fused"},
        {"compile": "default"},
        {"compile": "reduce-overhead"},
        {"accumulation_steps": 4},
        {"determinism": "all"},
    ],
)
def test_digits_are_learnt_on_a_gpu_with_any_settings(changes, tmp_path):
    spec = TrialSpec(
        kind="learn",
        workload=WorkloadSpec(model="mlp:64", data="digits:"),
        settings=Settings(batch_size=32, device="cuda:0", **changes),
        recipe=Recipe(learning_rate=0.05, epochs=4.0, clip_norm=5.0),
    )
    (result,) = run_together(spec, tmp_path, processes=1)
    story = decode(result["story"], Story)
    assert (story.evaluations[-1].accuracy or 0) > 0.9
    assert story.began_finite


def test_parts_of_a_batch_are_normalised_as_on_a_cpu():
    layer = nn.BatchNorm2d(3)
    normalise(layer, Recipe(learning_rate=1.0, emulated_devices=4), ALONE, 8, on_gpu=False)
    images = torch.randn(8, 3, 4, 4)
    other = copy.deepcopy(layer).cuda()
    laid_out = images.cuda().to(memory_format=torch.channels_last)
    torch.testing.assert_close(other(laid_out).cpu(), layer(images), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(other.running_var.cpu(), layer.running_var)


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_a_run_on_a_gpu_goes_on_bit_for_bit_where_algorithms_are_deterministic(precision, tmp_path):
    spec = exact_spec(device="cuda:0", precision=precision)
    (whole,) = run_together(spec, tmp_path / "whole", processes=1)
    assert run_together(spec, tmp_path / "pieces", processes=1, stop_at=8) == [None]
    (pieces,) = run_together(spec, tmp_path / "pieces", processes=1)
    assert decode(pieces["story"], Story).resumed_from == (6,)
    assert all(torch.equal(pieces["weights"][name], value) for name, value in whole["weights"].items())
