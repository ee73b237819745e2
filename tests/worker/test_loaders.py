"""Batches of the user's own data, and what cannot be rebuilt."""

import dataclasses
import multiprocessing
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    TensorDataset,
    get_worker_info,
)

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.worker import loaders
from traindyno.worker.errors import DataError
from traindyno.worker.loaders import DatasetSource, LoaderSource, dataset_source, loader_source, rebuild_loader

CPU = torch.device("cpu")
TEN = TensorDataset(torch.arange(10.0).reshape(10, 1), torch.arange(10))


class Broken(Dataset[Any]):
    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> Any:
        raise FileNotFoundError(f"no image {index}")


class Opening(Dataset[Any]):
    """Opens something on first use, as a dataset does whose file must not be shared by workers."""

    def __init__(self) -> None:
        self.opened = False

    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> torch.Tensor:
        self.opened = True
        return torch.tensor(float(index))


class OnlyHere(Opening):
    """Cannot be read by a worker."""

    def __getitem__(self, index: int) -> torch.Tensor:
        if get_worker_info() is not None:
            raise OSError("not from here")
        return super().__getitem__(index)


class Unsized(Dataset[Any]):
    def __getitem__(self, index: int) -> Any:
        return index


class Stream(IterableDataset[Any]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(4))


class CountedStream(Stream):
    def __init__(self, claimed: int) -> None:
        self.claimed = claimed

    def __len__(self) -> int:
        return self.claimed


class Endless(Sampler[int]):
    def __iter__(self) -> Iterator[int]:
        while True:
            yield 0


class Chatty(DataLoader[Any]):
    def __iter__(self) -> Any:
        return super().__iter__()


def test_a_batch_of_a_dataset_holds_distinct_items_with_their_targets() -> None:
    source = dataset_source(TEN)
    inputs, targets = source.batch(10, CPU, seed=3)
    assert source.examples == 10
    assert sorted(targets.tolist()) == list(range(10))
    assert inputs.flatten().tolist() == targets.tolist()


def test_the_seed_decides_which_items() -> None:
    first, again, other = (dataset_source(TEN).batch(5, CPU, seed)[1].tolist() for seed in (1, 1, 2))
    assert first == again != other


def test_any_sequence_serves_as_dataset() -> None:
    assert dataset_source([torch.ones(2)] * 4).batch(3, CPU, seed=0).shape == (3, 2)


@pytest.mark.parametrize("source", [dataset_source(TEN), loader_source(DataLoader(TEN, batch_size=2))])
def test_a_batch_larger_than_the_data_is_an_error_that_tells_the_largest(source: Any) -> None:
    with pytest.raises(TraindynoError, match="10 examples") as raised:
        source.batch(11, CPU, seed=0)
    assert "largest batch possible is 10" in str(raised.value.hint)


def test_a_batch_that_drop_last_leaves_nothing_of_says_so() -> None:
    source = loader_source(DataLoader(TEN, batch_size=2, drop_last=True))
    with pytest.raises(TraindynoError, match="drop_last=True leaves no batch at all"):
        source.batch(16, CPU, seed=0)


@pytest.mark.parametrize(
    ("dataset", "message"),
    [([], "is empty"), (Unsized(), "has no length"), (Stream(), "no items to pick"), (3, "no items to pick")],
)
def test_datasets_that_cannot_serve_are_refused(dataset: Any, message: str) -> None:
    with pytest.raises(TraindynoError, match=message):
        dataset_source(dataset)


def test_a_loader_given_as_dataset_is_pointed_to_its_place() -> None:
    with pytest.raises(UsageError, match="DataLoader") as raised:
        dataset_source(DataLoader(TEN))
    assert "loader=" in str(raised.value.hint)


def test_a_rebuilt_loader_keeps_all_but_the_batch_size() -> None:
    def collate(items: list[Any]) -> Any:
        return [item[1].item() for item in items]

    def set_up_worker(number: int) -> None: ...

    generator = torch.Generator()
    loader = DataLoader(
        TEN,
        batch_size=2,
        sampler=SubsetRandomSampler([1, 3, 5]),
        collate_fn=collate,
        generator=generator,
        worker_init_fn=set_up_worker,
    )
    rebuilt = rebuild_loader(loader, 3, num_workers=1)
    assert rebuilt.batch_size == 3
    assert rebuilt.num_workers == 1
    assert (rebuilt.dataset, rebuilt.sampler, rebuilt.collate_fn) == (TEN, loader.sampler, collate)
    assert (rebuilt.generator, rebuilt.worker_init_fn) == (generator, set_up_worker)
    source = loader_source(loader)
    assert source.examples == 3
    assert sorted(source.batch(3, CPU, seed=0)) == [1, 3, 5]


def test_a_stream_that_knows_its_length_is_taken() -> None:
    source = loader_source(DataLoader(CountedStream(4), batch_size=2))
    assert source.batch(4, CPU, seed=0).tolist() == [0, 1, 2, 3]


def test_a_stream_shorter_than_it_claims_is_an_error() -> None:
    with pytest.raises(TraindynoError, match="ended before it gave one batch of 6"):
        loader_source(DataLoader(CountedStream(100), batch_size=2)).batch(6, CPU, seed=0)


@pytest.mark.parametrize(
    ("loader", "message"),
    [
        (
            DataLoader(TEN, batch_sampler=BatchSampler(SequentialSampler(TEN), 2, False)),
            "batch_sampler given by hand",
        ),
        (DataLoader(TEN, batch_size=None), "batch_size=None"),
        (DataLoader(Stream(), batch_size=2), "IterableDataset Stream has no length"),
        (DataLoader(TEN, batch_size=2, sampler=Endless()), "sampler Endless has no length"),
        (Chatty(TEN, batch_size=2), "Chatty has an __iter__ of its own"),
        ([1, 2, 3], "a list is not a torch.utils.data.DataLoader"),
    ],
)
def test_loaders_that_cannot_be_rebuilt_are_refused_by_name(loader: Any, message: str) -> None:
    with pytest.raises(TraindynoError, match=message):
        loader_source(loader)


def test_a_stream_without_a_length_is_told_what_its_length_is() -> None:
    with pytest.raises(TraindynoError) as raised:
        loader_source(DataLoader(Stream(), batch_size=2))
    assert "__len__, the examples of one pass" in (raised.value.hint or "")


@pytest.mark.parametrize(
    "source",
    [
        dataset_source(Broken()),
        loader_source(DataLoader(Broken(), batch_size=2)),
        DatasetSource(Broken(), 10, by_worker=True),
    ],
)
def test_what_the_dataset_raises_is_the_cause_of_a_data_error(source: Any) -> None:
    with pytest.raises(DataError, match="reading from the") as raised:
        source.batch(2, CPU, seed=0)
    assert isinstance(raised.value.__cause__, FileNotFoundError)
    assert str(raised.value.__cause__).startswith("no image")


def test_what_collating_raises_is_the_cause_of_a_data_error() -> None:
    ragged = [torch.ones(1), torch.ones(2)]
    with pytest.raises(DataError) as raised:
        dataset_source(ragged).batch(2, CPU, seed=0)
    assert isinstance(raised.value.__cause__, RuntimeError)


def by_worker(data: Any) -> DatasetSource | LoaderSource:
    if isinstance(data, DataLoader):
        return dataclasses.replace(loader_source(data), by_worker=True)
    return dataclasses.replace(dataset_source(data), by_worker=True)


@pytest.mark.parametrize("of_loader", [False, True])
def test_a_batch_read_by_a_worker_is_the_same_and_opens_nothing_in_this_process(of_loader: bool) -> None:
    dataset = Opening()
    data: Any = DataLoader(dataset, batch_size=2) if of_loader else dataset
    batch = by_worker(data).batch(4, CPU, seed=3)
    assert not dataset.opened
    assert not batch.is_shared()
    assert multiprocessing.active_children() == []
    here = (loader_source(data) if of_loader else dataset_source(data)).batch(4, CPU, seed=3)
    assert dataset.opened
    assert torch.equal(batch, here)


def test_the_worker_that_reads_a_batch_is_started_as_the_users_loader_starts_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loaders, "_taken_from", lambda loader, what: loader.multiprocessing_context.get_start_method())
    own = DataLoader(TEN, batch_size=2, num_workers=1, multiprocessing_context="spawn")
    assert by_worker(own).batch(2, CPU, seed=0) == "spawn"
    assert by_worker(DataLoader(TEN, batch_size=2)).batch(2, CPU, seed=0) == "fork"


def test_what_no_worker_can_read_is_read_here() -> None:
    assert by_worker(OnlyHere()).batch(3, CPU, seed=0).shape == (3,)


def test_a_stream_shorter_than_it_claims_is_an_error_from_a_worker_too() -> None:
    with pytest.raises(TraindynoError, match="ended before it gave one batch of 6"):
        by_worker(DataLoader(CountedStream(100), batch_size=2)).batch(6, CPU, seed=0)
