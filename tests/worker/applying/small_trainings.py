"""Small models, data and optimisers that `traindyno.apply` is given in tests."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

from traindyno.core.errors import TraindynoError
from traindyno.worker.applying import Applied, apply

EXAMPLES = 20


def numbers() -> TensorDataset:
    generator = torch.Generator().manual_seed(1)
    return TensorDataset(torch.randn(EXAMPLES, 6, generator=generator), torch.arange(EXAMPLES) % 3)


def images() -> TensorDataset:
    return TensorDataset(torch.randn(EXAMPLES, 3, 8, 8), torch.arange(EXAMPLES) % 3)


def small_model() -> nn.Module:
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))


def image_model() -> nn.Module:
    torch.manual_seed(7)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3))


def sgd(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)


def on_cpu(model: nn.Module | None, dataset: Any = None, **settings: Any) -> Applied:
    optimizer = None if model is None else sgd
    return apply({"batch_size": 5, **settings}, model, dataset, optimizer=optimizer, device="cpu")


def refused(*arguments: Any, **keywords: Any) -> TraindynoError:
    with pytest.raises(TraindynoError) as raised:
        apply(*arguments, **{"device": "cpu", **keywords})
    assert raised.value.hint
    return raised.value


def labels_of(epoch: Any) -> list[int]:
    return [int(label) for _, labels in epoch for label in labels]
