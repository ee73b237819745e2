"""Points that fill a space evenly, however many of them are taken.

All arms of a round whose parameters are the same have the same points, as they have the same seeds: what differs
between two arms at one index is the target alone. If points were each arm's own, the arm with a luckier point would
seem better than it is.
"""

import hashlib
from collections.abc import Sequence

LARGEST_SEED = 2**32


def halton_point(round_name: str, branch: str, names: Sequence[str], index: int) -> dict[str, float]:
    """The point with this index of a scrambled Halton sequence, from 0 to just below 1, by the dimensions' names.

    It depends on nothing else, also not on the order of the names: it is the same in every process, and after the
    round's file has been rearranged or its ranges have been widened.
    """
    import numpy
    from scipy.stats import qmc

    ordered = sorted(names)
    if not ordered:
        return {}
    chance = numpy.random.default_rng(stable_seed(round_name, branch, *ordered))
    sequence = qmc.Halton(len(ordered), scramble=True, rng=chance)
    sequence.fast_forward(index)
    return dict(zip(ordered, sequence.random(1)[0].tolist(), strict=True))


def stable_seed(*parts: object) -> int:
    """A seed that is the same in every process; the language's own hash is not."""
    text = "\n".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % LARGEST_SEED
