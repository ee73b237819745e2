"""The recipe's numbers in the optimiser."""

import pytest
import torch

from traindyno.core.errors import UsageError
from traindyno.core.learning import Recipe
from traindyno.core.records import OptimizerName, WorkloadSpec
from traindyno.worker.job import Job, build_job
from traindyno.worker.learning.optimising import OWN, optimizer_of
from worker.learning.small_learners import spec_of

RECIPE = Recipe(learning_rate=0.3, momentum=0.8, weight_decay=0.01)


def job_of(function: str) -> Job:
    return build_job(spec_of(function).workload)


@pytest.mark.parametrize(
    ("name", "kind"), [("sgd", torch.optim.SGD), ("adam", torch.optim.Adam), ("adamw", torch.optim.AdamW)]
)
def test_an_optimiser_by_name_has_the_recipes_numbers(name: OptimizerName, kind: type[torch.optim.Optimizer]):
    (group,) = optimizer_of(job_of("plain"), name, RECIPE).optimizer.param_groups
    assert type(optimizer_of(job_of("plain"), name, RECIPE).optimizer) is kind
    assert (group["lr"], group["weight_decay"]) == (0.3, 0.01)
    assert group.get("momentum", 0.8) == 0.8


def test_momentum_may_be_none():
    (group,) = optimizer_of(job_of("plain"), "sgd", Recipe(learning_rate=0.3, momentum=0.0)).optimizer.param_groups
    assert group["momentum"] == 0.0


def test_ones_own_optimiser_keeps_its_proportions_and_its_momentum():
    job = job_of("with_own_optimizer")
    rates = optimizer_of(job, "adam", RECIPE)
    rates.set(0.5)
    assert [group["lr"] for group in rates.optimizer.param_groups] == pytest.approx([0.05, 0.5])
    assert {group["momentum"] for group in rates.optimizer.param_groups} == {0.5}
    assert job.remarks == [OWN]


def test_a_rate_that_is_a_tensor_stays_the_same_tensor():
    job = job_of("plain")
    job.own_optimizer, job.optimizer = True, lambda given: torch.optim.SGD(given, lr=torch.tensor(0.1))
    rates = optimizer_of(job, "sgd", RECIPE)
    before = rates.optimizer.param_groups[0]["lr"]
    rates.set(0.25)
    assert rates.optimizer.param_groups[0]["lr"] is before
    assert before.item() == 0.25


def test_an_optimiser_without_a_rate_is_refused():
    class Rateless(torch.optim.Optimizer):
        def __init__(self, parameters: list[torch.nn.Parameter]) -> None:
            super().__init__(parameters, {})

    job = job_of("plain")
    job.own_optimizer, job.optimizer = True, Rateless
    with pytest.raises(UsageError, match="no learning rate 'lr'"):
        optimizer_of(job, "sgd", RECIPE)


def test_only_the_users_own_optimiser_is_taken_for_that():
    assert not build_job(WorkloadSpec(model="torchvision:resnet18", classes=2)).own_optimizer
    assert not job_of("plain").own_optimizer
    assert job_of("with_own_optimizer").own_optimizer
