"""The loader of `traindyno.apply` gives epochs of the user's own data, with the settings of the loader."""

import gc
import os
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset, TensorDataset, default_collate

from traindyno.worker.applying import apply
from traindyno.worker.data.worker_faults import HandOverError, WorkerEndedError
from worker.applying.small_trainings import EXAMPLES, labels_of, numbers, on_cpu


def test_an_epoch_has_every_example_once_and_the_next_another_order() -> None:
    data = TensorDataset(torch.randn(EXAMPLES, 6), torch.arange(EXAMPLES))
    loader = on_cpu(None, data).loader
    assert loader is not None
    first, second = labels_of(loader), labels_of(loader)
    assert sorted(first) == sorted(second) == list(range(EXAMPLES))
    assert first != second
    assert len(loader) == EXAMPLES // 5


def test_seeds_differ_in_every_epoch() -> None:
    data = TensorDataset(torch.randn(EXAMPLES, 6), torch.arange(EXAMPLES))
    first, second = (apply({"batch_size": 5}, None, data, device="cpu", seed=seed).loader for seed in (0, 1))
    orders = [tuple(labels_of(loader)) for loader in (first, second) for _ in range(3)]
    assert len(set(orders)) == 6


def test_a_short_last_batch_is_left_out() -> None:
    loader = apply({"batch_size": 8}, None, numbers(), device="cpu").loader
    assert [len(labels) for _, labels in loader or ()] == [8, 8]


@pytest.mark.parametrize("persistent", [True, False])
def test_an_epoch_that_was_left_early_does_not_reach_into_the_next(persistent: bool) -> None:
    data = TensorDataset(torch.randn(EXAMPLES, 6), torch.arange(EXAMPLES))
    loader = on_cpu(None, data, num_workers=2, persistent_workers=persistent).loader
    assert loader is not None
    for _ in loader:
        break
    assert sorted(labels_of(loader)) == list(range(EXAMPLES))


def test_the_loader_has_the_settings_of_the_loader() -> None:
    knobs = {"num_workers": 2, "prefetch_factor": 3, "persistent_workers": True, "pin_memory": False}
    loader = on_cpu(None, numbers(), **knobs).loader
    assert loader is not None
    made = loader.data_loader
    assert {name: getattr(made, name) for name in knobs} == knobs


def test_a_loader_is_rebuilt_with_its_own_parts_and_keeps_its_batch_where_none_is_set() -> None:
    def doubled(items: Any) -> Any:
        inputs, labels = default_collate(items)
        return inputs, labels * 2

    own = DataLoader(numbers(), batch_size=4, collate_fn=doubled, sampler=range(8))
    applied = apply({"num_workers": 0}, None, own, device="cpu")
    assert applied.settings.batch_size == 4
    assert labels_of(applied.loader) == [2 * (number % 3) for number in range(8)]


def test_what_the_settings_do_not_name_is_as_in_the_user_s_loader() -> None:
    own = DataLoader(
        numbers(), batch_size=5, num_workers=2, prefetch_factor=3, persistent_workers=True, pin_memory=True
    )
    found = apply({"precision": "bf16"}, None, own, device="cpu").settings
    kept = {"batch_size": 5, "num_workers": 2, "prefetch_factor": 3, "persistent_workers": True, "pin_memory": True}
    assert {name: getattr(found, name) for name in kept} == kept
    other = apply({"num_workers": 0, "pin_memory": False}, None, own, device="cpu").loader.data_loader
    assert (other.num_workers, other.pin_memory) == (0, False)


def test_a_stream_of_the_user_s_own_is_loaded_in_epochs_of_its_length() -> None:
    class Counting(IterableDataset[Any]):
        def __iter__(self) -> Iterator[Any]:
            return iter([(torch.zeros(6), number) for number in range(10)])

        def __len__(self) -> int:
            return 10

    loader = on_cpu(None, DataLoader(Counting(), batch_size=5)).loader
    assert [labels_of(loader) for _ in range(2)] == [list(range(10))] * 2


class Unsendable:
    def __reduce__(self) -> str:
        raise OSError("cannot send this")


def test_a_batch_that_cannot_be_handed_over_is_an_error_and_not_a_wait_without_end() -> None:
    own = DataLoader(numbers(), batch_size=5, collate_fn=lambda items: [Unsendable()], timeout=60)
    loader = on_cpu(None, own, num_workers=1).loader
    gc.collect()
    with pytest.raises(HandOverError, match="OSError: cannot send this"):
        next(iter(loader))


def test_a_worker_that_ends_is_told_by_its_exit_code() -> None:
    own = DataLoader(numbers(), batch_size=5, collate_fn=lambda items: os._exit(7))
    with pytest.raises(WorkerEndedError, match="exited with code 7"):
        next(iter(on_cpu(None, own, num_workers=1).loader))


def test_an_error_of_the_data_stays_as_it_is() -> None:
    own = DataLoader(numbers(), batch_size=5, collate_fn=lambda items: {}["label"])
    with pytest.raises(KeyError, match="label"):
        next(iter(on_cpu(None, own, num_workers=1).loader))
