"""Small models with blocks, and jobs that tell what their trial is like inside. Trials run this file."""

import json
import os
from pathlib import Path

import torch
from torch import nn

from traindyno import Workload


class Block(nn.Module):
    """A convolution that counts how often it is computed."""

    def __init__(self, normalised: bool) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(8, 8, 3, padding=1)
        self.normalisation = nn.BatchNorm2d(8) if normalised else nn.Identity()
        self.calls = 0

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return images + torch.relu(self.normalisation(self.convolution(images)))


class Blocks(nn.Module):
    def __init__(self, normalised: bool) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3)
        self.body = nn.Sequential(Block(normalised), Block(normalised))
        self.head = nn.Linear(8, 5)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.head(self.body(self.stem(images)).mean((2, 3)))
        return scores


def batch(size: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(size, 3, 8, 8, generator=torch.Generator().manual_seed(1)), torch.arange(size) % 5


def plain() -> Workload:
    return Workload(model=Blocks(normalised=False), example_input=batch)


def normalised() -> Workload:
    return Workload(model=Blocks(normalised=True), example_input=batch)


def without_blocks() -> Workload:
    return Workload(model=nn.Linear(6, 2), example_input=torch.zeros(6))


def scatters() -> Workload:
    """With an operation of which torch has no deterministic kind."""

    def step(model: nn.Module, batch: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = model(batch)
        return scores.put(torch.zeros(1, dtype=torch.int64), scores.new_zeros(1)).sum()

    return Workload(model=nn.Linear(6, 2), example_input=torch.zeros(6), training_step=step)


def perceptron() -> Workload:
    """For the compiler: neither loops nor convolutions, and a loss of the model's own size."""
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
    return Workload(model=model, example_input=torch.zeros(6))


class OwnLoss(nn.Module):
    """Returns its loss, as models do that are given labels."""

    def __init__(self) -> None:
        super().__init__()
        self.model = Blocks(normalised=False)

    def forward(self, images: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"loss": nn.functional.cross_entropy(self.model(images), labels)}


def own_loss() -> Workload:
    def named(size: int) -> dict[str, torch.Tensor]:
        images, labels = batch(size)
        return {"images": images, "labels": labels}

    return Workload(model=OwnLoss(), example_input=named)


def tells_segments() -> Workload:
    """Writes down which kinds of segments the allocator has: expandable ones or not."""

    def step(model: nn.Module, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        kinds = sorted({segment["is_expandable"] for segment in torch.cuda.memory_snapshot()})
        Path(os.environ["TRAINDYNO_TEST_SEGMENTS"]).write_text(json.dumps(kinds))
        return nn.functional.cross_entropy(model(batch[0]), batch[1])

    return Workload(model=Blocks(normalised=False), example_input=batch, training_step=step)
