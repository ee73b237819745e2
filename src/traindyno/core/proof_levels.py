"""What a proof by fresh seeds may err, and how many seeds it takes at the least."""

import math

ERROR = 0.05
"""How often all looks together may adopt what is no better."""
MOST_SEEDS = 100
"""Beyond this a difference is too small to be worth its proof."""
MOST_CANDIDATES = 3
"""So many are proved at once where nobody asks for more."""


def level_of_look(look: int) -> float:
    """The share of the error that a look may spend, counted from 0: half of what is left, so all of them stay within.

    Whoever may look again until luck is kind will see it kind; halving lets anyone look as often as they like.
    """
    return math.ldexp(ERROR, -(look + 1))


def smallest_probability(seeds: int) -> float:
    """What the exact permutation test says of the clearest case that `seeds` runs of each can be."""
    return 1 / math.comb(2 * seeds, seeds)


def fewest_seeds(level: float, tests: int) -> int:
    """Below this many of each not even the clearest gain could pass."""
    return next(seeds for seeds in range(2, MOST_SEEDS) if smallest_probability(seeds) < level / tests)
