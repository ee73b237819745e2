"""The rate of the baseline beside another way to train: the two rates that an answer names give its ratio.

A speedup is the middle of ratios, each of runs beside each other; a rate is the middle of all runs of one way to train.
Where runs differ much, two such rates do not give that ratio. The ratio is what was shown, so the baseline follows it.
"""

import math

from traindyno.core.answers.find import Finalist
from traindyno.core.units import format_rate

RATES_AGREE = 0.02
"""So far the ratio of two rates may lie from the speedup, and both are told as they are."""


def baseline_beside(baseline: Finalist, found: Finalist) -> float:
    """Examples per second of the baseline: its own, or where they disagree with the speedup, what that makes of them.

    What is recommended keeps the rate it was measured at: a run of the baseline that broke down is no measure for it.
    """
    if rates_agree(baseline, found):
        return baseline.examples_per_second
    return found.examples_per_second / found.speedup


def rates_agree(baseline: Finalist, found: Finalist) -> bool:
    """Whether both rates give the speedup; what has none to compare contradicts nothing."""
    figures = (found.speedup, found.examples_per_second, baseline.examples_per_second)
    if not found.changes or not all(math.isfinite(each) and each > 0 for each in figures):
        return True
    return abs(found.examples_per_second / baseline.examples_per_second / found.speedup - 1) <= RATES_AGREE


def rates_in_words(baseline: Finalist, found: Finalist) -> str:
    """`858 → 6,500 examples/s`."""
    return f"{format_rate(baseline_beside(baseline, found))} → {format_rate(found.examples_per_second)} examples/s"
