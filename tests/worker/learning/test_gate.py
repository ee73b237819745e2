"""Loader workers make nothing for training while its clock stands still."""

import multiprocessing
import time
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset, default_collate

from traindyno.core.records import Settings
from traindyno.worker.data.datasets import PipelineDataset
from traindyno.worker.data.pipeline import Pipeline
from traindyno.worker.data.stored import Stored
from traindyno.worker.learning.gate import Gate
from traindyno.worker.learning.loaded import LoadedData
from traindyno.worker.learning.order import Run
from traindyno.worker.learning.own_items import OwnPart
from traindyno.worker.learning.processes import ALONE
from worker.learning.children import start

WORKERS, PREFETCH, BATCH = 2, 4, 8


class Counted(Dataset[int]):
    """Tells in all processes how many items were made."""

    def __init__(self) -> None:
        self.made = torch.zeros(256, dtype=torch.int64).share_memory_()

    def __len__(self) -> int:
        return 256

    def __getitem__(self, index: int) -> int:
        time.sleep(0.002)
        self.made[index] += 1
        return index


def loaded(dataset: Counted) -> LoadedData:
    settings = Settings(batch_size=BATCH, num_workers=WORKERS, prefetch_factor=PREFETCH)
    part = OwnPart(dataset, np.arange(len(dataset)), default_collate, "dataset")
    return LoadedData(part, part, Run(settings, 0, torch.device("cpu"), ALONE), None)


def taken(pauses: tuple[int, ...]) -> tuple[list[list[int]], list[int]]:
    """The first batches, and how many items were made in each pause, which is long enough to make all that is asked."""
    dataset, batches, meanwhile = Counted(), [], []
    data = loaded(dataset)
    with data.training(0) as take:
        for step in range(12):
            with data.supplying():
                batches.append(take().tolist())
            if step in pauses:
                before = int(dataset.made.sum())
                time.sleep(0.3)
                meanwhile.append(int(dataset.made.sum()) - before)
    return batches, meanwhile


def test_in_a_pause_each_worker_finishes_the_item_it_is_at_and_no_more():
    _, meanwhile = taken(pauses=(3, 7))
    assert all(made <= WORKERS for made in meanwhile)


def test_a_pause_changes_no_batch():
    assert taken(pauses=(3, 7))[0] == taken(pauses=())[0]


def test_evaluation_goes_on_while_training_is_held():
    data = loaded(Counted())
    with data.training(0) as take:
        with data.supplying():
            take()
        with data.evaluation() as batches:
            assert sum(len(batch) for batch in batches) == 256


def test_workers_that_wait_at_the_gate_end_with_the_loader():
    others = multiprocessing.active_children()
    data = loaded(Counted())
    with data.training(0) as take, data.supplying():
        take()
    assert [child for child in multiprocessing.active_children() if child not in others] == []


class Told:
    """Pictures that say when they are fetched."""

    classes, augmentation, paths = 2, "none", ()

    def __init__(self, story: list[str]) -> None:
        self._story = story

    def __len__(self) -> int:
        return 4

    def fetch(self, index: int) -> Stored:
        self._story.append(f"fetch {index}")
        return Stored(np.zeros((2, 2, 3), np.uint8), 0, str(index))


def test_pictures_by_name_pass_the_gate_one_by_one():
    story: list[str] = []
    gate = Gate()
    gate.wait = lambda: story.append("gate")  # type: ignore[method-assign]
    pipeline = Pipeline(Told(story), size=2)  # type: ignore[arg-type]
    PipelineDataset(pipeline, gate.through).__getitems__([2, 0])
    assert story == ["gate", "fetch 2", "gate", "fetch 0", "gate"]


def test_a_gate_that_travels_to_another_process_is_the_same_there(tmp_path: Path):
    gate, passed = Gate(), tmp_path / "passed"
    gate.shut()
    process = start(go_through, gate, passed)
    time.sleep(0.1)
    assert not passed.exists()
    gate.open()
    process.join(60)
    assert passed.read_text() == "[1, 2, 3]"


def go_through(gate: Gate, passed: Path) -> None:
    passed.write_text(str(list(gate.through([1, 2, 3]))))
