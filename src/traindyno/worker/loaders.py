"""Batches of the user's own data: a dataset as it is, or a loader rebuilt for another batch size."""

import contextlib
import random
from collections.abc import Callable, Sized
from dataclasses import dataclass
from multiprocessing.context import BaseContext
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, default_collate

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.worker.batches import check_size, guarded, own_copy, to_device
from traindyno.worker.data.flow import Flow
from traindyno.worker.data.loading import Endless
from traindyno.worker.data.sampling import epoch_seed
from traindyno.worker.data.worker_faults import WorkerFaults
from traindyno.worker.own_loading import OwnLoading, OwnParts


@dataclass(frozen=True)
class DatasetSource(OwnLoading):
    """Distinct random items of a map-style dataset, collated as torch does by default.

    `by_worker` has the resident batch read by a worker, for trials that may start others later.
    """

    dataset: Dataset[Any]
    examples: int
    by_worker: bool = False

    def batch(self, batch_size: int, device: torch.device, seed: int) -> Any:
        check_size(batch_size, self.examples)
        chosen = random.Random(seed).sample(range(self.examples), batch_size)

        def loader(**workers: Any) -> DataLoader[Any]:
            return DataLoader(self.dataset, batch_size=batch_size, sampler=chosen, **workers)

        return to_device(_by_worker(loader, "dataset") if self.by_worker else first_batch(loader(), "dataset"), device)

    def parts(self, seed: int) -> OwnParts:
        """Items in another random order each epoch."""

        def epoch(number: int) -> list[int]:
            order = torch.randperm(self.examples, generator=torch.Generator().manual_seed(epoch_seed(seed, number)))
            indices: list[int] = order.tolist()
            return indices

        return OwnParts(self.dataset, default_collate, "dataset", epoch)


@dataclass(frozen=True)
class LoaderSource(OwnLoading):
    """The first batch of the user's loader, rebuilt for the batch size; read by a worker if `by_worker`."""

    loader: DataLoader[Any]
    examples: int
    by_worker: bool = False

    def batch(self, batch_size: int, device: torch.device, seed: int) -> Any:
        check_size(batch_size, self.examples, self.loader.drop_last)

        def loader(**workers: Any) -> DataLoader[Any]:
            return rebuild_loader(self.loader, batch_size, **workers)

        context = self.loader.multiprocessing_context
        batch = _by_worker(loader, "loader", context) if self.by_worker else first_batch(loader(), "loader")
        return to_device(batch, device)

    def parts(self, seed: int) -> OwnParts:
        """Everything of the user's loader that is not among a trial's settings; their sampler makes each epoch."""
        loader = self.loader
        others = {
            "generator": loader.generator,
            "worker_init_fn": loader.worker_init_fn,
            "context": loader.multiprocessing_context,
            "timeout": loader.timeout,
            "in_order": loader.in_order,
        }
        epoch = None if isinstance(loader.dataset, IterableDataset) else lambda _: loader.sampler
        return OwnParts(loader.dataset, loader.collate_fn, "loader", epoch, self.examples, others)


def own_loader(source: object) -> DataLoader[Any] | None:
    """The user's loader as it was given, with the settings that trials do not use; null where there is none."""
    return source.loader if isinstance(source, LoaderSource) else None


def dataset_source(dataset: Any) -> DatasetSource:
    """Refuse what has no items to pick or no length; then take it."""
    if isinstance(dataset, DataLoader):
        raise UsageError("a DataLoader was given as dataset", "write loader=... instead of dataset=...")
    if isinstance(dataset, IterableDataset) or not hasattr(dataset, "__getitem__"):
        raise _not_map_style(dataset)
    return DatasetSource(dataset, _length(dataset, "dataset"))


def loader_source(loader: Any) -> LoaderSource:
    """Refuse by name what cannot be rebuilt for another batch size; then take it."""
    _check_rebuildable(loader)
    if isinstance(loader.dataset, IterableDataset):
        return LoaderSource(loader, _length(loader.dataset, "IterableDataset"))
    _length(loader.dataset, "dataset")
    return LoaderSource(loader, _length(loader.sampler, "sampler"))


def rebuild_loader(loader: DataLoader[Any], batch_size: int, **settings: Any) -> DataLoader[Any]:
    """The same data in batches of another size; `settings` are the loader's other knobs, such as workers."""
    if not isinstance(loader.dataset, IterableDataset):
        settings["sampler"] = loader.sampler
    return DataLoader(
        loader.dataset,
        batch_size=batch_size,
        collate_fn=loader.collate_fn,
        generator=loader.generator,
        worker_init_fn=loader.worker_init_fn,
        drop_last=True,
        **settings,
    )


def first_batch(loader: DataLoader[Any], what: str) -> Any:
    try:
        return guarded(what, lambda: next(iter(loader)))
    except StopIteration:
        raise TraindynoError(
            f"the {what} ended before it gave one batch of {loader.batch_size}",
            "use a smaller batch, or let its __len__ tell the true number of examples",
        ) from None


def _by_worker(loader: Callable[..., DataLoader[Any]], what: str, context: BaseContext | None = None) -> Any:
    """The first batch, read by one worker that then ends; by this process if the worker cannot, for a plain error.

    What the data's own code opens on its first use, such as a file, is then not open in this process: workers forked
    from it later would share the place at which it is read.
    """
    with contextlib.suppress(Exception):
        return _taken_from(loader(num_workers=1, prefetch_factor=1, multiprocessing_context=context or "fork"), what)
    return first_batch(loader(), what)


def _taken_from(loader: DataLoader[Any], what: str) -> Any:
    """A copy of the first batch: that in shared memory goes with the worker."""
    faults = WorkerFaults()
    loader.worker_init_fn = faults.watched(loader.worker_init_fn)
    with Flow(Endless(loader, what, faults)) as flow:
        return own_copy(flow.start()[1], pinned=False)


def _length(sized: Any, what: str) -> int:
    """The length, or a refusal that names what lacks it."""
    try:
        length = len(sized) if isinstance(sized, Sized) else None
    except (TypeError, NotImplementedError):
        length = None
    if length is None:
        raise TraindynoError(
            f"the {what} {type(sized).__name__} has no length, so no batch size is known to be full",
            "define its __len__, the examples of one pass; without data, a Workload may have example_input instead",
        )
    if length == 0:
        raise TraindynoError(f"the {what} is empty", "check the path and the filters that make up the data")
    return length


def _not_map_style(dataset: Any) -> TraindynoError:
    return TraindynoError(
        f"the dataset {type(dataset).__name__} has no items to pick by index",
        "give a map-style dataset (__getitem__ and __len__), or a DataLoader around it",
    )


def _check_rebuildable(loader: Any) -> None:
    if not isinstance(loader, DataLoader):
        raise _refusal(f"a {type(loader).__name__} is not a torch.utils.data.DataLoader")
    if type(loader).__iter__ is not DataLoader.__iter__:
        raise _refusal(f"the loader's class {type(loader).__name__} has an __iter__ of its own")
    if loader.batch_size is None and loader.batch_sampler is None:
        raise _refusal("the loader has batch_size=None: its dataset makes whole batches itself")
    if loader.batch_size is None:
        name = type(loader.batch_sampler).__name__
        raise _refusal(f"the loader has a batch_sampler given by hand ({name}), which fixes the batch size")


def _refusal(reason: str) -> TraindynoError:
    return TraindynoError(
        f"the loader cannot be rebuilt for another batch size: {reason}",
        "give a DataLoader with batch_size and sampler, or its dataset; a Workload may have example_input instead",
    )
