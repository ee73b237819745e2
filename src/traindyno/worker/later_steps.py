"""Further steps of a job that has one already: they share its optimiser."""

import dataclasses
from collections.abc import Iterable

import torch
from msgspec.structs import replace
from torch import nn

from traindyno.core.records import TrialSpec
from traindyno.worker.job import Job


def of_later_steps(spec: TrialSpec) -> TrialSpec:
    """For steps made when others have run: their optimiser has its kernels, and a fused one refuses to choose again."""
    return replace(spec, settings=replace(spec.settings, optimizer_kernel="auto"))


def with_one_optimizer(job: Job) -> Job:
    """The same job, whose steps all share one optimiser: a second would hold its state a second time."""
    made: list[torch.optim.Optimizer] = []

    def shared(parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        if not made:
            made.append(job.make_optimizer(parameters))
        return made[0]

    return dataclasses.replace(job, optimizer=shared)
