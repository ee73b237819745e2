"""What a run learns from: batches to train on from any step on, and the examples that it is evaluated on."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

from traindyno.core.errors import UsageError
from traindyno.core.records import TrialSpec
from traindyno.worker.batches import check_size
from traindyno.worker.data.pipeline_source import PipelineSource
from traindyno.worker.devices import Device
from traindyno.worker.job import Job
from traindyno.worker.learning.named import open_named
from traindyno.worker.learning.order import Run
from traindyno.worker.learning.own import open_own
from traindyno.worker.learning.processes import ALONE, Processes
from traindyno.worker.loaders import DatasetSource, LoaderSource


class LearningData(Protocol):
    """The data of a run. `classes` is null where it is not known; `notes` may grow while the run reads.

    `remarks` are sentences about what is as it should be.
    """

    @property
    def training_examples(self) -> int: ...

    @property
    def evaluation_examples(self) -> int: ...

    @property
    def classes(self) -> int | None: ...

    @property
    def notes(self) -> list[str]: ...

    @property
    def remarks(self) -> list[str]: ...

    def training(self, first_step: int) -> AbstractContextManager[Callable[[], Any]]:
        """A function for the next batch on the device, laid out as the settings want it, from step `first_step` on.

        Steps count from 0. The same step brings the same batch, whenever it is begun. Of several processes each gets
        its own share of the batch.
        """
        ...

    def supplying(self) -> AbstractContextManager[None]:
        """The time in which batches for training are made; once it has ended, none are until it begins again."""
        ...

    def evaluation(self) -> AbstractContextManager[Iterator[Any]]:
        """This process's share of the evaluation examples, once, in batches on the device; the last may be smaller."""
        ...

    def micro_batches(self, size: int, count: int, draw: int) -> list[Any]:
        """Batches drawn independently, each of different training examples, on the device and augmented as in training.

        Each draw brings others.
        """
        ...


def open_learning_data(spec: TrialSpec, job: Job, device: Device, processes: Processes = ALONE) -> LearningData:
    """The data of a trial that learns, parted into what is trained on and what is evaluated on."""
    if spec.workload.mode == "infer":
        raise UsageError("there is nothing to learn without training", "use --mode train")
    processes.share_of(spec.settings.batch_size)
    data = _opened(spec, job, Run(spec.settings, spec.seed, device.torch_device, processes))
    check_size(spec.settings.batch_size, data.training_examples)
    return data


def _opened(spec: TrialSpec, job: Job, run: Run) -> LearningData:
    source = job.source
    if isinstance(source, PipelineSource):
        return open_named(spec, source, run)
    if isinstance(source, DatasetSource | LoaderSource):
        return open_own(spec, job, source, run)
    raise UsageError(
        "there is nothing to learn: the batches of this workload are made up at random",
        "name data with --data, such as folder:PATH or digits:, or give the Workload a dataset or a loader",
    )
