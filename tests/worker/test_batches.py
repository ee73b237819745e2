"""Synthetic batches."""

from collections import UserDict, namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from traindyno.core.errors import UsageError
from traindyno.worker.batches import ExampleSource, FunctionSource, ImageSource, host_bytes, to_device
from traindyno.worker.errors import DataError

CPU = torch.device("cpu")
META = torch.device("meta")
Pair = namedtuple("Pair", ["image", "label"])


def test_images_come_with_random_classes() -> None:
    images, classes = ImageSource((3, 8, 8), classes=4).batch(256, CPU, seed=0)
    assert images.shape == (256, 3, 8, 8)
    assert set(classes.tolist()) == {0, 1, 2, 3}


def test_the_seed_decides_the_batch() -> None:
    source = ImageSource((3, 4, 4), classes=9)
    first, again, other = (source.batch(8, CPU, seed) for seed in (1, 1, 2))
    assert torch.equal(first[0], again[0])
    assert torch.equal(first[1], again[1])
    assert not torch.equal(first[0], other[0])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_images_are_made_on_the_device() -> None:
    images, classes = ImageSource((3, 8, 8), classes=4).batch(2, torch.device("cuda"), seed=0)
    assert images.is_cuda
    assert classes.is_cuda


def test_floats_are_drawn_anew_within_the_range_of_the_example() -> None:
    example = torch.tensor([[0.25, 0.5], [0.75, 0.5]])
    batch = ExampleSource(example).batch(64, CPU, seed=0)
    assert batch.shape == (64, 2, 2)
    assert batch.min() >= 0.25
    assert batch.max() <= 0.75
    assert batch.unique().numel() > 100


def test_an_example_of_zeros_stands_for_any_values() -> None:
    batch = ExampleSource(torch.zeros(16, dtype=torch.bfloat16)).batch(64, CPU, seed=0)
    assert batch.dtype == torch.bfloat16
    assert batch.float().std() == pytest.approx(1.0, abs=0.1)


def test_a_constant_other_than_zero_is_kept() -> None:
    assert torch.equal(ExampleSource(torch.ones(3)).batch(2, CPU, seed=0), torch.ones(2, 3))


@given(values=st.lists(st.integers(-(2**40), 2**40), min_size=0, max_size=5), batch_size=st.integers(1, 5))
def test_whole_numbers_are_repeated_since_they_may_be_indices(values: list[int], batch_size: int) -> None:
    batch = ExampleSource(torch.tensor(values, dtype=torch.int64)).batch(batch_size, CPU, seed=0)
    assert batch.tolist() == [values] * batch_size
    assert batch.is_contiguous()


def test_the_structure_of_an_example_is_kept() -> None:
    example = {"pair": Pair(torch.zeros(2), 3), "rest": [torch.tensor(True), (0.5, np.arange(2))]}
    batch: Any = ExampleSource(example).batch(3, CPU, seed=0)
    assert type(batch["pair"]) is Pair
    assert batch["pair"].image.shape == (3, 2)
    assert batch["pair"].label.tolist() == [3, 3, 3]
    assert batch["rest"][0].tolist() == [True] * 3
    assert batch["rest"][1][0].tolist() == [0.5] * 3
    assert batch["rest"][1][1].tolist() == [[0, 1]] * 3


def test_an_example_that_cannot_be_repeated_is_refused_by_its_type() -> None:
    with pytest.raises(UsageError, match="contains a str"):
        ExampleSource({"text": "hello"}).batch(2, CPU, seed=0)


def test_a_function_makes_the_whole_batch() -> None:
    source = FunctionSource(lambda batch_size: {"x": torch.ones(batch_size, 2), "names": ["a"] * batch_size})
    batch = source.batch(4, META, seed=0)
    assert batch["x"].shape == (4, 2)
    assert batch["x"].device == META
    assert batch["names"] == ["a"] * 4


def test_what_the_function_raises_is_the_cause_of_a_data_error() -> None:
    with pytest.raises(DataError, match="reading from the example_input") as raised:
        FunctionSource(lambda batch_size: 1 // 0).batch(4, CPU, seed=0)
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


def test_objects_that_can_move_themselves_are_moved_whole() -> None:
    packed = torch.nn.utils.rnn.pack_sequence([torch.ones(2)])
    assert to_device([packed, "text"], META)[0].data.device == META


class Encoded(UserDict[str, torch.Tensor]):
    """Changes itself when it moves, as those of tokenizers do."""

    def to(self, device: torch.device) -> "Encoded":
        self.data = {name: value.to(device) for name, value in self.data.items()}
        return self


def test_an_object_that_changes_itself_when_it_moves_stays_where_it_was() -> None:
    kept = Encoded(ids=torch.ones(2))
    assert to_device((kept,), META)[0]["ids"].device == META
    assert kept["ids"].device == CPU


class Graph:
    def __init__(self, *parts: Any) -> None:
        self.parts, self.whole = parts, self


@dataclass(slots=True)
class Slotted:
    values: torch.Tensor


def test_the_size_of_a_batch_is_that_of_its_tensors_wherever_they_are_each_counted_once() -> None:
    ten = torch.zeros(10, dtype=torch.uint8)
    assert host_bytes(Graph(ten, [Slotted(ten.clone())], {"again": ten}, Encoded(ids=ten.clone()))) == 30
    assert host_bytes((Graph(), Slotted, np, "text", 3)) == 0


def test_a_long_chain_of_objects_is_counted_to_its_end() -> None:
    chain = Graph(torch.zeros(7, dtype=torch.uint8))
    for _ in range(5000):
        chain = Graph(chain)
    assert host_bytes(chain) == 7
