"""What a few micro-batches say about the gradient and its noise, without bias.

N examples have gradients with mean G and covariance Σ. Each of n micro-batches is b of them, all different, drawn
without regard to the other micro-batches; their means are gᵢ, and ḡ is that over all. Then gᵢ are independent, with the
mean G. So the expectation of s² = Σᵢ|gᵢ − ḡ|² / (n − 1) is tr Σ / b · (N − b) / (N − 1), and that of |ḡ|² − s² / n is
|G|².

The second holds whatever else is drawn anew for each micro-batch: crops, flips, dropout. A correction for examples
drawn without replacement over all micro-batches would not, because such noise never runs out. By noise of that kind the
first comes out too large, by at most b / N.
"""

from traindyno.core.base import Record


class Moments(Record, frozen=True):
    """The squared length of the mean gradient, and the sum of squared distances of the micro-batches' from it."""

    mean_squared: float
    distances_squared: float
    micro_batch: int
    micro_batches: int
    training_examples: int


def noise_trace(moments: Moments) -> float:
    """The trace of one example's covariance, over all training examples, of which a micro-batch is a part."""
    examples, together = moments.training_examples, moments.micro_batch
    return together * _spread(moments) * (examples - 1) / (examples - together)


def gradient_squared(moments: Moments) -> float:
    """The squared length of the gradient over all training examples."""
    return moments.mean_squared - _spread(moments) / moments.micro_batches


def _spread(moments: Moments) -> float:
    return moments.distances_squared / (moments.micro_batches - 1)
