"""A loader that never ends: torch's own, with the settings of a trial."""

import contextlib
import functools
import gc
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.context import BaseContext
from multiprocessing.reduction import ForkingPickler
from typing import Any

from torch.utils.data import DataLoader

from traindyno.core.errors import TraindynoError
from traindyno.core.records import Settings
from traindyno.worker.data.sampling import EndlessBatches
from traindyno.worker.data.sharing import Sharing
from traindyno.worker.data.worker_faults import WorkerFaults, WorkerInit


class UnpicklableError(TraindynoError):
    """Something of the user's must travel to loader workers and cannot."""


@dataclass(frozen=True)
class Endless:
    """A loader without end, and what to call it; `batches` can end its epoch, which a stream has no means for.

    `sharing` looks at the batches of a stream of which it is not known whether workers share it out.
    """

    loader: DataLoader[Any]
    what: str
    faults: WorkerFaults
    batches: EndlessBatches | None = None
    sharing: Sharing | None = None


def make_loader(
    dataset: Any,
    settings: Settings,
    collate: Callable[[Any], Any],
    what: str,
    *,
    batches: EndlessBatches | None = None,
    batch_size: int | None = None,
    context: BaseContext | None = None,
    worker_init_fn: WorkerInit | None = None,
    **others: Any,
) -> Endless:
    """torch's loader with a trial's settings, its workers forked unless `context` says otherwise.

    Batches are cut by `batches` from what has indices, by `batch_size` from a stream, and made by the dataset itself
    if neither is given.
    """
    faults = WorkerFaults()
    if batches is not None:
        others["batch_sampler"] = batches
    else:
        others |= {"batch_size": batch_size, "drop_last": batch_size is not None}
    if settings.num_workers:
        others |= {
            "prefetch_factor": settings.prefetch_factor,
            "persistent_workers": settings.persistent_workers,
            "multiprocessing_context": context or "fork",
            "worker_init_fn": faults.watched(worker_init_fn),
        }
    loader = DataLoader(
        dataset, collate_fn=collate, num_workers=settings.num_workers, pin_memory=settings.pin_memory, **others
    )
    return Endless(loader, what, faults, batches)


def start_loader(loader: DataLoader[Any]) -> Iterator[Any]:
    """Begin to iterate, which starts the workers. What cannot be sent to them is named."""
    try:
        with _collector_at_rest():
            return iter(loader)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        context = loader.multiprocessing_context
        culprit = _culprit(loader)
        if context is None or context.get_start_method() == "fork" or culprit is None:
            raise
        raise UnpicklableError(
            f"{culprit} cannot be pickled, and workers started by {context.get_start_method()} need that: {error}",
            "make it inside the worker (in __getitem__ or worker_init_fn), or leave multiprocessing_context away: "
            "forked workers need no pickling",
        ) from error


@contextlib.contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Let forked workers begin without a collector; it starts in them once all that they inherited is out of its reach.

    What this process has dropped and not yet collected may hold tensors, events and streams of a GPU, and CUDA does not
    work in a fork: a worker that takes them apart is aborted.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _culprit(loader: DataLoader[Any]) -> str | None:
    """Which part of the loader refuses to be pickled, and which attribute of it if that can be told."""
    own_init = loader.worker_init_fn.args[-1] if isinstance(loader.worker_init_fn, functools.partial) else None
    parts = {"dataset": loader.dataset, "collate_fn": loader.collate_fn, "worker_init_fn": own_init}
    for name, part in parts.items():
        if not _picklable(part):
            whole = f"the loader's {name} ({getattr(part, '__qualname__', type(part).__name__)})"
            inside = [key for key, value in getattr(part, "__dict__", {}).items() if not _picklable(value)]
            return f"the attribute {inside[0]!r} of {whole}" if inside else whole
    return None


def _picklable(part: Any) -> bool:
    try:
        ForkingPickler.dumps(part)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True
