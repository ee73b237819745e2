"""From blocks with instruments and without to the phases of a step and what the instruments cost.

Phases are means over all blocks: only so do they add up to the step, and only so does a stall show that comes now and
then. What the instruments cost is the middle of pairs: a stall that one block of a pair had and the other had not is
none of their doing.
"""

from collections.abc import Sequence
from statistics import fmean

from traindyno.analysis.intervals import median, median_interval
from traindyno.analysis.sustained import mean_interval
from traindyno.core.anatomy import Phase, PhaseName
from traindyno.core.answers.interval import Interval
from traindyno.core.records import Block
from traindyno.worker.anatomy.instruments import Reading

ORDER: tuple[PhaseName, ...] = ("load", "transfer", "forward", "backward", "optimizer", "communication", "other")
# Below what any clock can tell; a phase that took no time at all has no logarithm.
LEAST_SECONDS = 1e-9


def phases_of(blocks: Sequence[dict[PhaseName, Reading]]) -> tuple[Phase, ...]:
    """The phases that came, in the order of a step: the mean over blocks, with interval."""
    return tuple(_phase(name, [block[name] for block in blocks]) for name in ORDER if name in blocks[0])


def _phase(name: PhaseName, readings: Sequence[Reading]) -> Phase:
    seconds = [max(LEAST_SECONDS, reading.seconds) for reading in readings]
    return Phase(
        phase=name,
        seconds=fmean(seconds),
        ci95=mean_interval(seconds),
        host_seconds=fmean(reading.host_seconds for reading in readings),
    )


def _step_seconds_of(blocks: Sequence[Block]) -> list[float]:
    return [block.seconds / block.steps for block in blocks]


def instrument_cost(plain: Sequence[Block], instrumented: Sequence[Block]) -> tuple[float, Interval]:
    """By how much of the plain step the instruments made it longer: the median over pairs of blocks, with interval."""
    pairs = zip(_step_seconds_of(plain), _step_seconds_of(instrumented), strict=True)
    ratios = [with_them / without for without, with_them in pairs]
    low, high = median_interval(ratios)
    return median(ratios) - 1, (low - 1, high - 1)
