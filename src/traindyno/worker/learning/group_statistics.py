"""Many small normalisations as one: the groups of a batch are laid side by side as if they were further channels.

On a GPU a step of many small layers is limited by the host, which starts one piece of work after the other. A call for
every group would make it several times as long, and say nothing about training.
"""

from typing import Any

from torch import Tensor, arange, nn
from torch.nn.functional import batch_norm
from torch.nn.modules.batchnorm import _BatchNorm

PLAIN = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


def is_plain(layer: Any) -> bool:
    """Whether the layer does nothing but normalise, and by an average whose weights are known beforehand."""
    own = next(kind for kind in type(layer).__mro__[2:] if issubclass(kind, _BatchNorm))
    return own in PLAIN and (layer.momentum is not None or not layer.track_running_stats)


def momentum_of_each(momentum: float, groups: int) -> float:
    """What every one of several groups weighs, so that all together weigh as much as one batch."""
    return float(1 - (1 - momentum) ** (1 / groups))


def in_one_call(layer: Any, inputs: Tensor, count: int, of_the_first: int) -> Tensor:
    """Normalise `count` groups, of which the one at `number` has the examples at number, number + count, ...

    The first `of_the_first` are those of the first device, from which the running statistics come.
    """
    channels, tracks = inputs.shape[1], layer.track_running_stats and layer.running_mean is not None
    side_by_side = inputs.view(len(inputs) // count, count * channels, *inputs.shape[2:])
    means, variances = layer.running_mean.new_zeros(2, count * channels) if tracks else (None, None)
    weight, bias = (None if each is None else each.expand(count, -1).flatten() for each in (layer.weight, layer.bias))
    outputs = batch_norm(side_by_side, means, variances, weight, bias, training=True, momentum=1.0, eps=layer.eps)
    if means is not None and variances is not None:
        for running, found in ((layer.running_mean, means), (layer.running_var, variances)):
            _track(running, found[: of_the_first * channels], layer.momentum)
        layer.num_batches_tracked.add_(of_the_first)
    return outputs.view(inputs.shape)


def _track(running: Tensor, found: Tensor, momentum: float) -> None:
    """A running average goes on by groups that lie side by side, in as few calls as can be: one is the usual case."""
    if len(found) == len(running):
        running.lerp_(found, momentum)
        return
    groups = found.view(-1, len(running))
    weights = _weights(momentum_of_each(momentum, len(groups)), len(groups), like=running)
    running.mul_(1 - momentum).add_((weights[:, None] * groups).sum(0))


def _weights(momentum: float, groups: int, like: Tensor) -> Tensor:
    """Of each group in a running average that takes them one after the other."""
    later = arange(groups - 1, -1, -1, device=like.device, dtype=like.dtype)
    return momentum * (1 - momentum) ** later
