"""Checkpoints change what is kept, not what is computed."""

import pytest
import torch
from torch import nn

from traindyno.worker.devices import CpuDevice
from traindyno.worker.errors import DoesNotApplyError
from traindyno.worker.knobs.checkpointing import TWICE, checkpoint_activations
from traindyno.worker.steps import make_evaluation_step
from worker.knobs.benches import bench_of, gradients_of, losses_of, spec_of


@pytest.mark.parametrize("job", ["plain", "normalised"])
def test_losses_and_gradients_stay_the_same(job: str) -> None:
    without, within = bench_of(job), bench_of(job, activation_checkpointing=True)
    assert losses_of(within) == losses_of(without)
    for ours, theirs in zip(gradients_of(within), gradients_of(without), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_each_block_is_computed_again_in_training_and_only_there() -> None:
    bench = bench_of(activation_checkpointing=True)
    block = bench.job.model.body[0]
    bench.step()
    assert block.calls == 2
    make_evaluation_step(bench.job, bench.batch, spec_of().settings, CpuDevice())()
    assert block.calls == 3


def test_the_reader_is_told_about_batch_normalisation_where_there_is_any() -> None:
    assert bench_of("normalised", activation_checkpointing=True).job.notes == [TWICE]
    assert bench_of("plain", activation_checkpointing=True).job.notes == []


def test_a_model_without_blocks_does_not_apply() -> None:
    with pytest.raises(DoesNotApplyError, match="no row of blocks"):
        bench_of("without_blocks", activation_checkpointing=True)


def test_only_the_outermost_row_gets_checkpoints_and_no_member_that_works_in_place() -> None:
    inner = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    rows = nn.ModuleList([nn.ModuleList([inner, nn.Linear(2, 2)]), nn.ReLU(inplace=True)])
    checkpoint_activations(nn.Sequential(rows))
    assert "forward" in vars(inner)
    assert "forward" in vars(rows[0][1])
    assert "forward" not in vars(inner[0])
    assert "forward" not in vars(rows[1])
