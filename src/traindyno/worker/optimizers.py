"""Optimisers by name or by the user's own hand.

The rates are small: random data must not diverge within the few hundred steps of a measurement, and the
speed of a step does not depend on them.
"""

from collections.abc import Callable, Iterable

import torch
from torch import nn

from traindyno.core.errors import TraindynoError
from traindyno.core.records import OptimizerName

OptimizerFactory = Callable[[list[nn.Parameter]], torch.optim.Optimizer]


def named_optimizer(name: OptimizerName) -> OptimizerFactory:
    """SGD with momentum, Adam or AdamW."""
    factories: dict[OptimizerName, OptimizerFactory] = {
        "sgd": lambda parameters: torch.optim.SGD(parameters, lr=1e-3, momentum=0.9),
        "adam": lambda parameters: torch.optim.Adam(parameters, lr=1e-4),
        "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=1e-4),
    }
    return factories[name]


def make_optimizer(factory: OptimizerFactory, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
    """Build the optimiser over the trainable parameters, of which there must be some."""
    trainable = [parameter for parameter in parameters if parameter.requires_grad]
    if not trainable:
        raise TraindynoError(
            "the model has no trainable parameters", "unfreeze some of it, or measure it with --mode infer"
        )
    if isinstance(factory, torch.optim.Optimizer) or not callable(factory):
        raise _wrong(f"optimizer is a {type(factory).__name__} object")
    optimizer = factory(trainable)
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise _wrong(f"optimizer returned a {type(optimizer).__name__}")
    return optimizer


def _wrong(what: str) -> TraindynoError:
    return TraindynoError(
        f"{what}, not something that makes a torch.optim.Optimizer",
        "give optimizer=torch.optim.AdamW, or optimizer=lambda parameters: AdamW(parameters, lr=1e-3)",
    )
