"""Batch normalisation of a single value per channel."""

import copy

import pytest
import torch
from torch import Tensor, nn

from traindyno.worker.single_values import accept_single_values, refuses_single_values


def taught(model: nn.Module) -> nn.Module:
    assert accept_single_values(model)
    return model.train()


@pytest.mark.parametrize(("kind", "shape"), [(nn.BatchNorm1d, (1, 4)), (nn.BatchNorm2d, (1, 4, 1, 1))])
def test_a_single_value_is_normalised_by_the_running_statistics(kind: type[nn.Module], shape: tuple[int, ...]) -> None:
    model = kind(4)
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - the text is checked below
        model(torch.ones(shape))
    assert refuses_single_values(raised.value)
    output: Tensor = taught(model)(torch.ones(shape))
    torch.testing.assert_close(output, torch.ones(shape), atol=1e-4, rtol=0)
    assert model.training


def test_larger_batches_are_normalised_as_ever() -> None:
    strict = nn.BatchNorm2d(3)
    tolerant = taught(copy.deepcopy(strict))
    batch = torch.randn(4, 3, 2, 2)
    assert torch.equal(strict(batch), tolerant(batch))
    for name, value in strict.state_dict().items():
        assert torch.equal(value, tolerant.state_dict()[name])


def test_a_model_is_taught_only_once() -> None:
    model = nn.Sequential(nn.BatchNorm1d(2), nn.BatchNorm1d(2))
    assert accept_single_values(model)
    assert not accept_single_values(model)
    assert isinstance(model[0], nn.BatchNorm1d)


def test_a_model_without_normalisation_has_nothing_to_learn() -> None:
    assert not accept_single_values(nn.Linear(2, 2))
