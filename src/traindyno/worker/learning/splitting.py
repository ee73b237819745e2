"""What to train on and what to evaluate on, where the source does not tell: a part is held out, the same one always."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import Subset, TensorDataset

from traindyno.core.errors import UsageError
from traindyno.worker.data.prepared import PreparedExamples
from traindyno.worker.data.prepared_format import COLUMNS
from traindyno.worker.data.stored import Augmentation, Examples, Stored

Indices = NDArray[np.int64]
# Whatever the seed of a run, all runs are evaluated on the same examples.
HOLD_OUT_SEED = 6
EXAMPLES_PER_CLASS = 2


@dataclass(frozen=True, eq=False)
class Split:
    """The indices to train on and those to evaluate on, both in rising order."""

    training: Indices
    evaluation: Indices


@dataclass(eq=False)
class ChosenExamples:
    """Some of a source's examples, as if there were no others."""

    examples: Examples
    indices: Indices
    classes: int
    augmentation: Augmentation

    @property
    def paths(self) -> Sequence[str]:
        return self.examples.paths

    def __len__(self) -> int:
        return len(self.indices)

    def fetch(self, index: int) -> Stored:
        return self.examples.fetch(int(self.indices[index]))


def chosen(examples: Examples, indices: Indices) -> ChosenExamples:
    return ChosenExamples(examples, indices, examples.classes, examples.augmentation)


def hold_out(examples: int, labels: Indices | None, share: float) -> Split:
    """Hold out a share of the examples by chance, of every class the same share where labels are known."""
    groups = [np.arange(examples)] if labels is None else [np.flatnonzero(labels == one) for one in np.unique(labels)]
    counts = _held_out_counts([len(group) for group in groups], share)
    if not 0 < sum(counts) < examples:
        raise UsageError(
            f"{examples:,} examples cannot be parted into some to train on and {share:.0%} to evaluate on",
            "give another share with --hold-out, or data with more examples or an evaluation split of its own",
        )
    random = np.random.default_rng(HOLD_OUT_SEED)
    held = np.concatenate([random.permutation(group)[:count] for group, count in zip(groups, counts, strict=True)])
    return Split(np.setdiff1d(np.arange(examples), held), np.sort(held))


def labels_of(examples: Examples) -> Indices | None:
    """The class of every example, where that is known without reading the examples themselves."""
    if isinstance(examples, PreparedExamples):
        return np.asarray(examples.index[:, COLUMNS.index("label")])
    labels = getattr(examples, "labels", None)
    return None if labels is None else np.asarray(labels, np.int64)


def own_labels_of(dataset: Any) -> Indices | None:
    """The classes of a user's items: `targets`, as torchvision has them, or the last tensor of a TensorDataset.

    Whole numbers that hardly repeat are no classes.
    """
    if isinstance(dataset, Subset):
        within = own_labels_of(dataset.dataset)
        return None if within is None else within[np.asarray(dataset.indices, np.int64)]
    told = dataset.tensors[-1] if isinstance(dataset, TensorDataset) else getattr(dataset, "targets", None)
    try:
        labels = np.asarray(told.cpu() if isinstance(told, torch.Tensor) else told)
    except ValueError:
        return None
    if labels.shape != (len(dataset),) or not np.issubdtype(labels.dtype, np.integer):
        return None
    return labels.astype(np.int64) if EXAMPLES_PER_CLASS * len(np.unique(labels)) <= len(labels) else None


def _held_out_counts(sizes: Sequence[int], share: float) -> list[int]:
    """How many of each class: their exact shares rounded so that the sum is right; a class keeps one to train on."""
    exact = [size * share for size in sizes]
    counts = [int(each) for each in exact]
    by_rest = sorted(range(len(sizes)), key=lambda place: counts[place] - exact[place])
    for place in by_rest[: round(sum(exact)) - sum(counts)]:
        counts[place] += 1
    return [min(count, size - 1) for count, size in zip(counts, sizes, strict=True)]
