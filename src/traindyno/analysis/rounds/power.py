"""How many seeds would decide what is still open, and how the error that may be made is shared among looks."""

import math

from traindyno.analysis.student import quantile
from traindyno.core.proof_levels import ERROR, MOST_SEEDS, fewest_seeds, level_of_look, smallest_probability

__all__ = ["ERROR", "MOST_SEEDS", "fewest_seeds", "level_of_look", "seeds_to_show", "spent_before"]

POWER = 0.8


def spent_before(look: int) -> float:
    return math.fsum(level_of_look(earlier) for earlier in range(look))


def seeds_to_show(effect: float, variance: float, *, beyond: int, level: float, tests: int) -> int | None:
    """About how many runs of each would show `effect` 8 times out of 10; null where no reasonable number would.

    They are more than the `beyond` that there are. `level` is the next look's, of which each of `tests` may have to
    make do with its part.
    """
    counts = range(beyond + 1, MOST_SEEDS + 1)
    return next((seeds for seeds in counts if _shows(effect, variance, seeds, level / tests)), None)


def _shows(effect: float, variance: float, seeds: int, level: float) -> bool:
    if effect <= 0 or smallest_probability(seeds) >= level:
        return False
    freedom = 2 * seeds - 2
    return effect >= (quantile(1 - level, freedom) + quantile(POWER, freedom)) * math.sqrt(2 * variance / seeds)
