"""Which parts of a batch are inputs and which is the target."""

import functools
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from traindyno.worker.handing import call, signature_of, split


class One(nn.Module):
    def forward(self, x: Any) -> Any:
        return ("one", x)


class OneAndMask(nn.Module):
    def forward(self, x: Any, mask: Any = None) -> Any:
        return ("one and mask", x, mask)


class Two(nn.Module):
    def forward(self, a: Any, b: Any) -> Any:
        return ("two", a, b)


class Anything(nn.Module):
    def forward(self, *parts: Any, **named: Any) -> Any:
        return ("anything", parts, named)


class WithLabels(nn.Module):
    def forward(self, ids: Any = None, labels: Any = None) -> Any:
        return ("with labels", ids, labels)


@pytest.mark.parametrize(
    ("model", "batch", "output", "target"),
    [
        (One(), 1, ("one", 1), None),
        (One(), (1,), ("one", 1), None),
        (One(), (1, 2), ("one", 1), 2),
        (One(), [1, 2], ("one", 1), 2),
        (One(), ([1, 5], 2), ("one", [1, 5]), 2),
        (OneAndMask(), (1, 2), ("one and mask", 1, None), 2),
        (OneAndMask(), (1, 2, 3), ("one and mask", 1, 2), 3),
        (OneAndMask(), ((1, 2), 3), ("one and mask", 1, 2), 3),
        (Two(), (1, 2), ("two", 1, 2), None),
        (Two(), [1, 2, 3], ("two", 1, 2), 3),
        (Two(), ((1, 2), 3), ("two", 1, 2), 3),
        (Two(), ({"a": 1, "b": 2}, 3), ("two", 1, 2), 3),
        (Two(), {"a": 1, "b": 2}, ("two", 1, 2), None),
        (Two(), {"a": 1, "b": 2, "label": 3}, ("two", 1, 2), 3),
        (WithLabels(), {"ids": 1, "labels": 3}, ("with labels", 1, 3), None),
        (WithLabels(), {"ids": 1, "target": 3}, ("with labels", 1, None), 3),
        (One(), {"pixels": 1, "target": 3}, ("one", {"pixels": 1, "target": 3}), 3),
        (One(), {"pixels": 1}, ("one", {"pixels": 1}), None),
        (Anything(), (1, 2, 3), ("anything", (1, 2, 3), {}), None),
        (Anything(), (1, 2), ("anything", (1,), {}), 2),
        (Anything(), {"a": 1, "target": 2}, ("anything", (), {"a": 1, "target": 2}), None),
    ],
)
def test_a_batch_is_handed_over_as_documented(model: nn.Module, batch: Any, output: Any, target: Any) -> None:
    signature = signature_of(model)
    inputs, found = split(batch, signature)
    assert call(model, inputs, signature) == output
    assert found == target


@pytest.mark.filterwarnings("ignore:.*deprecated")
def test_a_scripted_model_is_called_all_the_same() -> None:
    model = torch.jit.trace(nn.Linear(3, 2), torch.zeros(1, 3))  # type: ignore[no-untyped-call]
    inputs, target = split((torch.zeros(4, 3), 7), signature_of(model))
    output: Tensor = call(model, inputs, signature_of(model))
    assert output.shape == (4, 2)
    assert target == 7


def test_an_argument_bound_beforehand_is_not_required() -> None:
    model = Two()
    model.forward = functools.partial(model.forward, b=5)  # type: ignore[method-assign]
    assert split((1, 2), signature_of(model)) == (1, 2)
