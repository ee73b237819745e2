"""Learning from the user's own dataset or loader: which items to train on, and which to evaluate on."""

from collections.abc import Sized
from typing import Any

import numpy as np
from torch.utils.data import IterableDataset, RandomSampler, SequentialSampler, SubsetRandomSampler, default_collate

from traindyno.core.errors import UsageError
from traindyno.core.records import TrialSpec
from traindyno.worker.job import Job
from traindyno.worker.learning.loaded import LoadedData
from traindyno.worker.learning.order import Run
from traindyno.worker.learning.own_items import OwnPart
from traindyno.worker.learning.splitting import Indices, hold_out, own_labels_of
from traindyno.worker.loaders import DatasetSource, LoaderSource, dataset_source

PASSED_ON = ("worker_init_fn", "context", "timeout")


def open_own(spec: TrialSpec, job: Job, source: DatasetSource | LoaderSource, run: Run) -> LoadedData:
    """The user's items behind a loader, in our order."""
    whole, notes = _whole(source, spec.seed)
    labels = own_labels_of(whole.dataset)
    trained, evaluated, remarks = _parted(spec, whole, labels, job.evaluation_dataset)
    classes = job.criterion.classes or (None if labels is None else int(labels.max()) + 1)
    return LoadedData(trained, evaluated, run, classes, notes, remarks)


def _whole(source: DatasetSource | LoaderSource, seed: int) -> tuple[OwnPart, list[str]]:
    """All items that the user trains on, and what is not as in the user's loader."""
    if isinstance(source, DatasetSource):
        return OwnPart(source.dataset, np.arange(source.examples), default_collate, "dataset"), []
    loader = source.loader
    if isinstance(loader.dataset, IterableDataset):
        raise UsageError(
            f"the loader's {type(loader.dataset).__name__} gives its items in its own order, so no run could go on "
            "from the middle of it",
            "give the Workload a map-style dataset (__getitem__ and __len__)",
        )
    others = {name: value for name, value in source.parts(seed).others.items() if name in PASSED_ON}
    indices, notes = _sampled(loader.dataset, loader.sampler)
    return OwnPart(loader.dataset, indices, loader.collate_fn, "loader", others), notes


def _sampled(dataset: Any, sampler: Any) -> tuple[Indices, list[str]]:
    """The items that a sampler chooses from. What else a sampler does cannot be begun in the middle."""
    if type(sampler) is SubsetRandomSampler:
        return np.array(sampler.indices, np.int64), []
    assert isinstance(dataset, Sized), "loaders of unknown length were refused"
    note = (
        f"the loader's {type(sampler).__name__} is left out: all {len(dataset):,} items come once an epoch, in an "
        "order from the trial's seed"
    )
    return np.arange(len(dataset)), [] if _takes_all_once(dataset, sampler) else [note]


def _takes_all_once(dataset: Sized, sampler: Any) -> bool:
    plain = type(sampler) is SequentialSampler or (type(sampler) is RandomSampler and not sampler.replacement)
    return plain and len(sampler) == len(dataset)


def _check_classes(trained: Indices | None, evaluated: Indices | None) -> None:
    if trained is not None and evaluated is not None and evaluated.max() > trained.max():
        raise UsageError(
            f"the evaluation_dataset has the class {evaluated.max()}, and training goes up to class {trained.max()}",
            "let both have the same classes",
        )


def _parted(
    spec: TrialSpec, whole: OwnPart, labels: Indices | None, evaluation: Any
) -> tuple[OwnPart, OwnPart, list[str]]:
    """What to train on, what to evaluate on, and a remark if the one is taken from the other."""
    assert spec.recipe is not None, "a trial that learns has a recipe"
    if evaluation is not None:
        examples = dataset_source(evaluation).examples
        _check_classes(labels, own_labels_of(evaluation))
        evaluated = OwnPart(evaluation, np.arange(examples), whole.collate, "evaluation_dataset", whole.others)
        return whole, evaluated, []
    share, of_every_class = spec.recipe.hold_out, "" if labels is None else " of every class"
    split = hold_out(whole.examples, None if labels is None else labels[whole.indices], share)
    remark = (
        f"{len(split.evaluation):,} of the {whole.what}'s {whole.examples:,} examples "
        f"({share:.0%}{of_every_class}) are held out to evaluate on. They are read as those "
        "to train on are: if it augments those, give the Workload an evaluation_dataset."
    )
    return whole.among(split.training), whole.among(split.evaluation), [remark]
