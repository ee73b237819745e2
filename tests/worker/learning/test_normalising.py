"""Batch normalisation over parts of a batch, against the same by hand."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from traindyno.core.errors import UsageError
from traindyno.core.learning import Recipe
from traindyno.worker.learning.normalising import group_sizes, normalise
from traindyno.worker.learning.processes import ALONE, Processes

CHANNELS, MOMENTUM, EPSILON = 3, 0.1, 1e-5
SHAPES = {nn.BatchNorm1d: (), nn.BatchNorm2d: (4, 5), nn.BatchNorm3d: (2, 3, 2)}


def recipe(**changes: Any) -> Recipe:
    return Recipe(learning_rate=1.0, **changes)


def images(kind: type[nn.Module], examples: int) -> torch.Tensor:
    return torch.randn(examples, CHANNELS, *SHAPES[kind], generator=torch.Generator().manual_seed(3)) * 2 + 1


def statistics(group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of every channel."""
    values = np.moveaxis(group, 1, 0).reshape(CHANNELS, -1)
    return values.mean(axis=1), values.var(axis=1)


def every(count: int, examples: int) -> list[list[int]]:
    """The examples of each of so many groups of one size: those at number, number + count, ..."""
    return [list(range(number, examples, count)) for number in range(count)]


def by_hand(inputs: torch.Tensor, groups: list[list[int]]) -> np.ndarray:
    outputs = np.empty(inputs.shape)
    for examples in groups:
        group = inputs.numpy()[examples].astype(np.float64)
        mean, variance = (each.reshape(1, CHANNELS, *[1] * (group.ndim - 2)) for each in statistics(group))
        outputs[examples] = (group - mean) / np.sqrt(variance + EPSILON)
    return outputs


def running_mean(inputs: torch.Tensor, groups: list[list[int]], momentum: float) -> np.ndarray:
    found = np.zeros(CHANNELS)
    for examples in groups:
        found = (1 - momentum) * found + momentum * statistics(inputs.numpy()[examples])[0]
    return found


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("affine", [True, False])
def test_emulated_devices_normalise_over_their_own_part_and_the_first_keeps_the_statistics(kind, affine):
    layer, inputs = kind(CHANNELS, affine=affine), images(kind, 12)
    assert normalise(layer, recipe(emulated_devices=4), ALONE, 12, on_gpu=False) == 3
    np.testing.assert_allclose(layer(inputs).detach().numpy(), by_hand(inputs, every(4, 12)), atol=1e-5)
    np.testing.assert_allclose(layer.running_mean.numpy(), running_mean(inputs, every(4, 12)[:1], MOMENTUM), atol=1e-6)
    assert layer.num_batches_tracked == 1


@pytest.mark.parametrize("kind", SHAPES)
def test_ghost_groups_normalise_by_themselves_and_all_weigh_in_the_statistics_as_one_batch(kind):
    layer, inputs = kind(CHANNELS), images(kind, 11)
    assert normalise(layer, recipe(batch_norm="ghost", ghost_size=4), ALONE, 11, on_gpu=False) == 4
    groups = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10]]
    np.testing.assert_allclose(layer(inputs).detach().numpy(), by_hand(inputs, groups), atol=1e-5)
    each = 1 - (1 - MOMENTUM) ** (1 / 3)
    np.testing.assert_allclose(layer.running_mean.numpy(), running_mean(inputs, groups, each), atol=1e-6)
    assert layer.momentum == MOMENTUM


class Counted(nn.BatchNorm2d):
    """Does what its parent does, which nobody can know beforehand."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return super().forward(input)


@pytest.mark.parametrize(
    "changes", [{"emulated_devices": 4}, {"batch_norm": "ghost", "ghost_size": 4, "emulated_devices": 2}]
)
@pytest.mark.parametrize("other", ["another layer", "channels last"])
def test_groups_at_once_and_one_by_one_hold_the_same_examples_and_learn_the_same(changes, other):
    learnt = []
    for kind, memory_format in [
        (nn.BatchNorm2d, torch.contiguous_format),
        (Counted, torch.contiguous_format) if other == "another layer" else (nn.BatchNorm2d, torch.channels_last),
    ]:
        layer, inputs = kind(CHANNELS), images(nn.BatchNorm2d, 16).contiguous(memory_format=memory_format)
        normalise(layer, recipe(**changes), ALONE, 16, on_gpu=False)
        inputs.requires_grad_()
        outputs = layer(inputs)
        (outputs * torch.linspace(0, 1, outputs.numel()).view(outputs.shape)).pow(2).sum().backward()
        learnt.append([outputs, inputs.grad, layer.weight.grad, layer.bias.grad, *layer.buffers()])
    for one, another in zip(*learnt, strict=True):
        torch.testing.assert_close(one, another)


def test_gradients_stay_within_their_group():
    layer, inputs = nn.BatchNorm1d(CHANNELS), images(nn.BatchNorm1d, 8).requires_grad_()
    normalise(layer, recipe(emulated_devices=2), ALONE, 8, on_gpu=False)
    (layer(inputs)[::2] ** 3).sum().backward()
    assert inputs.grad is not None
    assert inputs.grad[::2].abs().min() > 0
    assert not inputs.grad[1::2].any()


def test_evaluation_is_by_the_running_statistics_as_ever():
    layer, plain, inputs = nn.BatchNorm2d(CHANNELS), nn.BatchNorm2d(CHANNELS), images(nn.BatchNorm2d, 8)
    normalise(layer, recipe(emulated_devices=4), ALONE, 8, on_gpu=False)
    layer(inputs)
    plain.load_state_dict(layer.state_dict())
    assert torch.equal(layer.eval()(inputs), plain.eval()(inputs))


def test_weights_keep_their_names():
    plain = nn.Sequential(nn.Linear(4, CHANNELS), nn.BatchNorm1d(CHANNELS))
    names = list(plain.state_dict())
    normalise(plain, recipe(batch_norm="ghost", ghost_size=2), ALONE, 8, on_gpu=False)
    assert list(plain.state_dict()) == names


def test_a_layer_without_running_statistics_is_left_without():
    layer, inputs = nn.BatchNorm1d(CHANNELS, track_running_stats=False), images(nn.BatchNorm1d, 8)
    normalise(layer, recipe(emulated_devices=2), ALONE, 8, on_gpu=False)
    np.testing.assert_allclose(layer(inputs).detach().numpy(), by_hand(inputs, every(2, 8)), atol=1e-5)
    assert layer.running_mean is None


def test_a_cumulative_average_counts_every_group_once():
    layer, inputs = nn.BatchNorm1d(CHANNELS, momentum=None), images(nn.BatchNorm1d, 8)
    normalise(layer, recipe(batch_norm="ghost", ghost_size=4), ALONE, 8, on_gpu=False)
    layer(inputs)
    np.testing.assert_allclose(layer.running_mean.numpy(), inputs.numpy().mean(axis=0), atol=1e-6)


def test_what_a_layer_does_besides_normalising_is_still_done():
    class Rectified(nn.BatchNorm1d):
        def forward(self, input: torch.Tensor) -> torch.Tensor:
            return torch.relu(super().forward(input))

    layer, inputs = Rectified(CHANNELS), images(nn.BatchNorm1d, 8)
    normalise(layer, recipe(emulated_devices=2), ALONE, 8, on_gpu=False)
    np.testing.assert_allclose(layer(inputs).detach().numpy(), by_hand(inputs, every(2, 8)).clip(0), atol=1e-5)


@pytest.mark.parametrize(
    ("changes", "processes", "examples"),
    [({}, 1, 12), ({"batch_norm": "sync"}, 1, 12), ({"batch_norm": "sync", "emulated_devices": 4}, 1, 12)],
)
def test_one_process_normalises_over_the_whole_batch_unless_told_otherwise(changes, processes, examples):
    layer, plain, inputs = nn.BatchNorm1d(CHANNELS), nn.BatchNorm1d(CHANNELS), images(nn.BatchNorm1d, 12)
    assert normalise(layer, recipe(**changes), Processes(world_size=processes), 12, on_gpu=False) == examples
    assert torch.equal(layer(inputs), plain(inputs))


def test_several_processes_normalise_over_their_own_examples_or_over_all():
    two = Processes(world_size=2)
    assert normalise(nn.BatchNorm1d(CHANNELS), recipe(), two, 12, on_gpu=True) == 12
    model = nn.Sequential(nn.BatchNorm1d(CHANNELS))
    assert normalise(model, recipe(batch_norm="sync"), two, 12, on_gpu=True) == 24
    assert isinstance(model[0], nn.SyncBatchNorm)


def test_a_model_without_batch_normalisation_sees_no_examples_at_once():
    assert normalise(nn.Linear(2, 2), recipe(batch_norm="ghost"), ALONE, 8, on_gpu=False) is None


def test_what_torch_cannot_synchronise_is_refused():
    with pytest.raises(UsageError, match="between GPUs only"):
        normalise(nn.BatchNorm1d(2), recipe(batch_norm="sync"), Processes(world_size=2), 8, on_gpu=False)


def test_emulated_devices_need_equal_parts():
    with pytest.raises(UsageError, match="cannot be shared equally by 3 emulated devices"):
        normalise(nn.BatchNorm1d(2), recipe(emulated_devices=3), ALONE, 8, on_gpu=False)


def test_processes_do_not_emulate_devices():
    with pytest.raises(UsageError, match="cannot be emulated by 2 processes"):
        normalise(nn.BatchNorm1d(2), recipe(emulated_devices=2), Processes(world_size=2), 8, on_gpu=False)


def test_a_part_of_one_example_is_told_to_have_no_variance():
    layer = nn.BatchNorm1d(CHANNELS)
    normalise(layer, recipe(emulated_devices=4), ALONE, 4, on_gpu=False)
    with pytest.raises(UsageError, match="no variance"):
        layer(images(nn.BatchNorm1d, 4))


@given(examples=st.integers(1, 300), size=st.integers(2, 64))
def test_groups_hold_every_example_and_are_never_single(examples, size):
    sizes = group_sizes(examples, size)
    assert sum(sizes) == examples
    assert max(sizes) <= size + 1
    assert min(sizes) > 1 or examples == 1
    assert all(each == size for each in sizes[:-1])
