"""A pipeline as torch's loader wants it: batches by index, or a stream of batches."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from torch.utils.data import Dataset, IterableDataset, get_worker_info

from traindyno.core.errors import TraindynoError
from traindyno.worker.data.pipeline import Batch, Pipeline

# torch rebuilds an exception of a worker from its text alone, so hints are lost; as a batch it arrives whole.
BatchOrError = Batch | TraindynoError


class PipelineDataset(Dataset[Any]):
    """Whole batches by their tickets; `through` may have the pipeline wait before each of them."""

    def __init__(self, pipeline: Pipeline, through: Callable[[Sequence[int]], Iterable[int]] = iter) -> None:
        self._pipeline, self._through = pipeline, through

    def __getitem__(self, ticket: int) -> BatchOrError:
        return self.__getitems__([ticket])

    def __getitems__(self, tickets: Sequence[int]) -> BatchOrError:
        try:
            return self._pipeline.batch(self._through(tickets))
        except TraindynoError as error:
            return error


class PipelineStream(IterableDataset[Any]):
    """Each worker's own batches of a stream, without end."""

    def __init__(self, pipeline: Pipeline, batch_size: int) -> None:
        self._pipeline = pipeline
        self._batch_size = batch_size

    def __iter__(self) -> Iterator[BatchOrError]:
        worker = get_worker_info()
        number, workers = (0, 1) if worker is None else (worker.id, worker.num_workers)
        try:
            yield from self._pipeline.batches(number, workers, self._batch_size)
        except TraindynoError as error:
            yield error


def as_it_is(batch: BatchOrError) -> BatchOrError:
    """The collate function of loaders whose datasets make whole batches."""
    return batch
