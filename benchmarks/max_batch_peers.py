"""One peer's search for the largest batch, in a process of its own; prints one JSON line. Used by max_batch.py.

python benchmarks/max_batch_peers.py lightning-power|lightning-binsearch|accelerate MODEL
"""

import json
import logging
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import torch
import torchvision
from torch.nn.functional import cross_entropy

DEVICE = torch.device("cuda:0")
STEPS = 3
ACCELERATE_START = 8192


def resident_batch(batch_size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A batch made on the device: no contestant waits for data."""
    images = torch.randn(batch_size, 3, 224, 224, device=DEVICE)
    return images, torch.randint(0, 1000, (batch_size,), device=DEVICE)


class Ticks:
    """An endless loader of nothing, for a module that makes its own batches."""

    def __iter__(self) -> Iterator[torch.Tensor]:
        while True:
            yield torch.zeros(1)


def build(name: str) -> torch.nn.Module:
    return torchvision.models.get_model(name)


def lightning(name: str, mode: str) -> dict[str, Any]:
    import pytorch_lightning
    from pytorch_lightning.tuner import Tuner, batch_size_scaling

    class Module(pytorch_lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.batch_size = 2
            self.model = build(name)

        def training_step(self, batch: Any, index: int) -> torch.Tensor:
            images, labels = resident_batch(self.batch_size)
            return cross_entropy(self.model(images), labels)

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=1e-3, momentum=0.9)

        def train_dataloader(self) -> Ticks:
            return Ticks()

    recognised = batch_size_scaling.is_oom_error
    endings = []

    def counting(error: BaseException) -> bool:
        endings.append(recognised(error))
        return bool(endings[-1])

    batch_size_scaling.is_oom_error = counting
    trainer = pytorch_lightning.Trainer(
        accelerator="gpu", devices=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, max_epochs=1,
    )  # fmt: skip
    start = time.monotonic()
    size = Tuner(trainer).scale_batch_size(Module(), mode=mode, steps_per_trial=STEPS, max_trials=40)
    return {"batch": size, "seconds": time.monotonic() - start, "out_of_memory": sum(endings)}


def accelerate(name: str) -> dict[str, Any]:
    from accelerate.utils import find_executable_batch_size

    tried = []

    @find_executable_batch_size(starting_batch_size=ACCELERATE_START)
    def train(batch_size: int) -> int:
        tried.append(batch_size)
        model = build(name).to(DEVICE)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
        images, labels = resident_batch(batch_size)
        for _ in range(STEPS):
            optimizer.zero_grad(set_to_none=True)
            cross_entropy(model(images), labels).backward()
            optimizer.step()
        torch.cuda.synchronize()
        return batch_size

    start = time.monotonic()
    size = train()
    return {"batch": size, "seconds": time.monotonic() - start, "out_of_memory": len(tried) - 1}


def main() -> None:
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    contestant, name = sys.argv[1:]
    result = accelerate(name) if contestant == "accelerate" else lightning(name, contestant.split("-")[1])
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
