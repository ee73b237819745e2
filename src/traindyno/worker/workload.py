"""What a user's own job consists of. Importing this file does not import torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset


@dataclass(frozen=True, eq=False)
class Workload:
    """A model and, as far as the defaults do not fit, its data, loss, optimiser and training step.

    `model` is an `nn.Module` or a function without arguments that returns one.

    At most one of these says where batches come from; without any, batches are random 3 × 224 × 224 images:

    - `example_input`: ONE example without batch dimension, repeated to the batch size: a tensor or number, or
      a tuple, list or dict of them. Floating tensors are drawn anew between the example's smallest and
      largest value (normally distributed if the example is all zeros); all else is repeated as it is. It may
      also be a function `batch_size -> batch`.
    - `dataset`: a map-style dataset. Items are collated by torch's `default_collate`.
    - `loader`: a `DataLoader`. It is rebuilt for each batch size with its dataset, `collate_fn`, sampler,
      generator and `worker_init_fn`.

    How a batch reaches the model and the loss:

    - a tensor (or any other single object): `model(batch)`.
    - two elements: `(inputs, target)`, unless `forward` requires two arguments; then both are inputs.
    - three or more elements: all are inputs if `forward` takes that many; otherwise the last is the target.
    - `((a, b), target)` and `({"name": a}, target)` state it without doubt.
    - a dict: `model(**batch)`. An item `labels`, `label`, `targets` or `target` is the target, unless
      `forward` has an argument of that name.

    `evaluation_dataset` is what accuracy is measured on; without it a part of `dataset` is held out for that. It is
    collated as the training data is.

    `loss(output, target)` returns a scalar tensor. A missing target is made up at random to fit the output.
    By default the loss is the output's own `.loss` if it has one, else cross entropy (mean squared error for
    outputs of width one) of the class scores: the output itself, the first tensor of a tuple, the item
    `logits` or `out` of a dict, or `.logits`. Scores of three dimensions are examples × positions × classes.

    `optimizer` is an `Optimizer` class or a function `parameters -> Optimizer`.

    `training_step(model, batch)` returns the loss and replaces model call and loss; backward and optimiser
    are left to traindyno.

    `communication_hook(state, bucket)` returns a `torch.futures.Future` of the bucket's gradients averaged over all
    processes; it replaces the way in which several devices share them. It is registered on torch's
    `DistributedDataParallel` with a state of None.
    """

    model: nn.Module | Callable[[], nn.Module]
    example_input: Any = None
    dataset: Dataset[Any] | None = None
    loader: DataLoader[Any] | None = None
    loss: Callable[[Any, Any], torch.Tensor] | None = None
    optimizer: Callable[[Any], torch.optim.Optimizer] | None = None
    training_step: Callable[[nn.Module, Any], torch.Tensor] | None = None
    evaluation_dataset: Dataset[Any] | None = None
    communication_hook: Callable[[Any, Any], torch.futures.Future[torch.Tensor]] | None = None
