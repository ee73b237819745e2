"""Tiny sets to learn from, of every kind. Each example has a shade of its own, so that it is known in any batch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from traindyno.core.learning import Recipe
from traindyno.core.records import Settings, TrialSpec, WorkloadSpec
from traindyno.worker.data.normalise import MEAN, STANDARD_DEVIATION
from traindyno.worker.devices import CpuDevice, Device
from traindyno.worker.job import build_job
from traindyno.worker.learning.data import LearningData, open_learning_data
from traindyno.worker.learning.processes import ALONE, Processes
from worker.data.pictures import encoded, picture
from worker.data.prepared_sets import prepare
from worker.data.tiny_sets import cifar_binary, write_folder

OWN_FILE = """
import random
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, SubsetRandomSampler, WeightedRandomSampler
from traindyno import Workload

class Items(Dataset):
    offset = 0
    def __init__(self, count=30): self.targets = [index % 3 for index in range(count)]
    def __len__(self): return len(self.targets)
    def __getitem__(self, index):
        chance = [random.random(), np.random.rand(), torch.rand(()).item()]
        return torch.tensor([float(index + self.offset), *chance]), self.targets[index]

def named(items):
    images, labels = torch.utils.data.default_collate(items)
    return {"numbers": images, "noise": torch.rand(2), "labels": labels}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)
    def forward(self, numbers, noise=None): return self.layer(numbers)

def begin(worker): torch.utils.data.get_worker_info().dataset.offset = 100

class Stream(IterableDataset):
    def __iter__(self): return iter([])
    def __len__(self): return 30

def loaded(dataset=None, **how): return Workload(Net(), loader=DataLoader(dataset or Items(), batch_size=4, **how))

def dataset(): return Workload(Net(), dataset=Items())
def weighted(): return loaded(sampler=WeightedRandomSampler([1.0] * 30, 30))
def subset(): return loaded(sampler=SubsetRandomSampler(range(10, 30)))
def begun(): return loaded(worker_init_fn=begin)
def stream(): return loaded(Stream())
def example(): return Workload(Net(), example_input=torch.zeros(4))
def two_sets(): return Workload(Net(), dataset=Items(), evaluation_dataset=Items(9))
def more_classes():
    wider = Items(9)
    wider.targets[0] = 5
    return Workload(Net(), dataset=Items(), evaluation_dataset=wider)
def nothing_to_train_on(): return Workload(Net(), evaluation_dataset=Items())
def loader(): return Workload(Net(), loader=DataLoader(Items(), batch_size=4, shuffle=True, collate_fn=named))
"""


@dataclass(frozen=True)
class LearningSet:
    """Where the data is, and how many examples it has in all."""

    workload: WorkloadSpec
    examples: int


def make_sets(root: Path) -> dict[str, LearningSet]:
    names = [f"class{label}/{number}.jpg" for label in range(3) for number in range(10)]
    plain = write_folder(root / "plain", names)
    split = write_folder(root / "split", [f"{'val' if name[-5] in '37' else 'train'}/{name}" for name in names])
    prepare(f"folder:{plain}", root / "prepared", shorter_side=16)
    prepare(f"folder:{plain}", root / "encoded", shorter_side=16, encoding="jpeg", quality=90)
    _write_cifar(root / "cifar")

    def named(data: str, image_size: int) -> LearningSet:
        return LearningSet(WorkloadSpec(model="mlp:4", data=data, image_size=image_size), 30)

    return {
        "cifar10": named(f"cifar10:{root / 'cifar'}", 32),
        "prepared pixels": named(f"prepared:{root / 'prepared'}", 12),
        "prepared pixels to be enlarged": named(f"prepared:{root / 'prepared'}", 24),
        "prepared JPEG": named(f"prepared:{root / 'encoded'}", 12),
        "folder without splits": named(f"folder:{plain}", 12),
        "folder with splits": named(f"folder:{split}", 12),
        "folder of pictures": named(f"folder:{_write_pictures(root / 'pictures')}", 12),
        "folder with splits in memory": named(f"memory:folder:{split}", 12),
        "own dataset": LearningSet(own(root, "dataset"), 30),
        "own loader": LearningSet(own(root, "loader"), 30),
    }


def own(folder: Path, function: str) -> WorkloadSpec:
    """The workload of one function of the user's file, which is written here."""
    path = folder / "own_of_a_test.py"
    path.write_text(OWN_FILE)
    return WorkloadSpec(model=f"{path}:{function}")


def open_set(
    workload: WorkloadSpec,
    batch_size: int = 7,
    workers: int = 0,
    seed: int = 0,
    processes: Processes = ALONE,
    hold_out: float = 0.2,
    device: Device | None = None,
    **settings: Any,
) -> LearningData:
    spec = TrialSpec(
        kind="learn",
        workload=workload,
        settings=Settings(batch_size=batch_size, num_workers=workers, **settings),
        seed=seed,
        recipe=Recipe(learning_rate=0.1, hold_out=hold_out),
    )
    return open_learning_data(spec, build_job(workload), device or CpuDevice(), processes)


def shades(batch: Any) -> list[int]:
    """Which examples a batch is made of: the shade in the middle, which no crop removes, or the item's own number."""
    inputs = batch["numbers"] if isinstance(batch, dict) else batch[0]
    if inputs.dim() == 2:
        return [round(float(number)) for number in inputs[:, 0]]
    middle = inputs[:, 0, inputs.shape[2] // 2, inputs.shape[3] // 2]
    return [round(float(shade)) for shade in 255 * (middle * STANDARD_DEVIATION[0] + MEAN[0])]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return len(one) == len(other) and all(map(same, one, other))


def _write_pictures(root: Path) -> Path:
    """Images of which no two crops are alike."""
    for number in range(30):
        path = root / f"class{number % 3}" / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded(picture(24, 32, number)))
    return root


def _write_cifar(folder: Path) -> None:
    """Five files of five images to train on, and one of five to evaluate on."""
    folder.mkdir()
    for number, name in enumerate([*(f"data_batch_{file}" for file in range(1, 6)), "test_batch"]):
        levels = 8 * np.arange(5 * number, 5 * number + 5, dtype=np.uint8)
        pixels = np.repeat(levels[:, None], 3072, axis=1)
        (folder / f"{name}.bin").write_bytes(cifar_binary(pixels, [int(level) // 8 % 10 for level in levels]))
