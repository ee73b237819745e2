"""The optimiser of a recipe, and its rate from step to step."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from traindyno.core.errors import UsageError
from traindyno.core.learning import Recipe
from traindyno.core.records import OptimizerName
from traindyno.worker.job import Job
from traindyno.worker.optimizers import OptimizerFactory, make_optimizer

OWN = (
    "The optimiser is the workload's own: the recipe sets its learning rate, with its groups' rates in proportion, "
    "and leaves its momentum and weight decay alone."
)


@dataclass(frozen=True)
class Rates:
    """The rate of every group of an optimiser, as a share of the highest."""

    optimizer: torch.optim.Optimizer
    shares: tuple[float, ...]

    def set(self, rate: float) -> None:
        for group, share in zip(self.optimizer.param_groups, self.shares, strict=True):
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(share * rate)
            else:
                group["lr"] = share * rate


def optimizer_of(job: Job, name: OptimizerName, recipe: Recipe) -> Rates:
    """The optimiser over what is trainable: the user's own, or the one of this name with the recipe's numbers."""
    factory = job.optimizer if job.own_optimizer else _named(name, recipe)
    optimizer = make_optimizer(factory, job.model.parameters())
    if job.own_optimizer:
        job.remarks.append(OWN)
    return Rates(optimizer, _shares(optimizer))


def _named(name: OptimizerName, recipe: Recipe) -> OptimizerFactory:
    rate, decay = recipe.learning_rate, recipe.weight_decay
    makers: dict[OptimizerName, Callable[[list[nn.Parameter]], torch.optim.Optimizer]] = {
        "sgd": lambda given: torch.optim.SGD(given, lr=rate, momentum=recipe.momentum, weight_decay=decay),
        "adam": lambda given: torch.optim.Adam(given, lr=rate, weight_decay=decay),
        "adamw": lambda given: torch.optim.AdamW(given, lr=rate, weight_decay=decay),
    }
    return makers[name]


def _shares(optimizer: torch.optim.Optimizer) -> tuple[float, ...]:
    if any("lr" not in group for group in optimizer.param_groups):
        raise UsageError(
            f"{type(optimizer).__name__} has no learning rate 'lr' that a recipe could set",
            "use an optimiser whose groups have 'lr', as those of torch.optim do",
        )
    rates = [float(group["lr"]) for group in optimizer.param_groups]
    highest = max(rates)
    return tuple(rate / highest if highest > 0 else 1.0 for rate in rates)
