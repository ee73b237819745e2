"""On a GPU: the same examples in the same order, whether pictures lie there or are decoded there."""

from itertools import chain
from typing import Any

import pytest
import torch

from traindyno.core.records import MemoryFormat
from traindyno.worker.devices import CudaDevice
from traindyno.worker.learning.data import LearningData
from worker.learning.learning_sets import LearningSet, make_sets, open_set, same, shades

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LearningSet]:
    return make_sets(tmp_path_factory.mktemp("sets"))


def all_batches(data: LearningData) -> list[Any]:
    with data.training(3) as take, data.evaluation() as batches:
        return [*(take() for _ in range(6)), *batches, *data.micro_batches(3, 4, 0)]


def on_host(batches: list[Any]) -> list[Any]:
    return [tuple(part.cpu() for part in batch) for batch in batches]


@pytest.mark.parametrize("memory_format", ["contiguous", "channels_last"])
@pytest.mark.parametrize("kind", ["cifar10", "prepared pixels", "folder of pictures"])
def test_batches_are_those_of_the_processor(
    kind: str, memory_format: MemoryFormat, sets: dict[str, LearningSet]
) -> None:
    there = all_batches(open_set(sets[kind].workload, device=CudaDevice("cuda:0"), memory_format=memory_format))
    here = all_batches(open_set(sets[kind].workload, memory_format=memory_format))
    assert all(part.is_cuda for batch in there for part in batch)
    for (images, labels), (expected, expected_labels) in zip(on_host(there), here, strict=True):
        assert torch.allclose(images, expected, atol=1e-5)
        assert torch.equal(labels, expected_labels)


@pytest.mark.parametrize("workers", [0, 2])
def test_images_decoded_on_the_gpu_are_the_same_examples_whenever_they_are_begun(
    workers: int, sets: dict[str, LearningSet]
) -> None:
    data = open_set(sets["folder with splits"].workload, device=CudaDevice("cuda:0"), workers=workers, decoder="nvjpeg")
    with data.training(0) as take:
        whole = [take() for _ in range(9)]
    with data.training(5) as take:
        assert same(on_host([take() for _ in range(4)]), on_host(whole[5:]))
    with data.evaluation() as batches:
        evaluated = list(batches)
    assert sum(len(labels) for _, labels in evaluated) == data.evaluation_examples
    seen = set(chain.from_iterable(map(shades, on_host([*whole, *evaluated]))))
    assert len(seen) == 30
    assert [len(labels) for _, labels in data.micro_batches(3, 6, 0)] == [3] * 6
