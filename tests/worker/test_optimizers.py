"""Optimisers by name and by hand."""

from typing import Any, get_args

import pytest
import torch
from torch import nn
from torch.nn import functional

from traindyno.core.errors import TraindynoError
from traindyno.core.records import OptimizerName
from traindyno.worker.optimizers import make_optimizer, named_optimizer

NAMES: tuple[OptimizerName, ...] = get_args(OptimizerName)


@pytest.mark.parametrize(("name", "kind"), [("sgd", "SGD"), ("adam", "Adam"), ("adamw", "AdamW")])
def test_a_name_makes_its_optimiser(name: OptimizerName, kind: str) -> None:
    optimizer = make_optimizer(named_optimizer(name), nn.Linear(2, 2).parameters())
    assert type(optimizer).__name__ == kind
    assert optimizer.defaults.get("momentum", 0.9) == 0.9


@pytest.mark.parametrize("name", NAMES)
def test_random_data_does_not_diverge_in_some_hundred_steps(name: OptimizerName) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(192, 64), nn.ReLU(), nn.Linear(64, 10))
    inputs, target = torch.randn(16, 3, 8, 8), torch.randint(10, (16,))
    optimizer = make_optimizer(named_optimizer(name), model.parameters())
    first = functional.cross_entropy(model(inputs), target).item()
    for _ in range(300):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(inputs), target)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    assert loss.item() < first


@pytest.mark.parametrize("given", [torch.optim.RMSprop, lambda parameters: torch.optim.RMSprop(parameters, lr=0.1)])
def test_a_class_and_a_function_both_make_an_optimiser(given: Any) -> None:
    assert isinstance(make_optimizer(given, nn.Linear(2, 2).parameters()), torch.optim.RMSprop)


def test_frozen_parameters_are_left_out() -> None:
    model = nn.Linear(2, 2)
    model.weight.requires_grad_(False)
    (group,) = make_optimizer(named_optimizer("sgd"), model.parameters()).param_groups
    assert len(group["params"]) == 1


def test_a_model_without_trainable_parameters_is_pointed_to_inference() -> None:
    with pytest.raises(TraindynoError, match="no trainable parameters") as raised:
        make_optimizer(named_optimizer("sgd"), nn.ReLU().parameters())
    assert "infer" in str(raised.value.hint)


@pytest.mark.parametrize("given", [torch.optim.SGD([nn.Parameter(torch.ones(1))]), "sgd", lambda parameters: None])
def test_what_makes_no_optimiser_is_an_error_with_an_example(given: Any) -> None:
    with pytest.raises(TraindynoError, match="not something that makes") as raised:
        make_optimizer(given, nn.Linear(2, 2).parameters())
    assert "optimizer=" in str(raised.value.hint)
