"""From blocks with instruments and without to the phases of a step and what the instruments cost."""

from collections.abc import Sequence

from traindyno.analysis.intervals import median, median_interval
from traindyno.core.anatomy import Phase, PhaseName
from traindyno.core.answers.interval import Interval
from traindyno.core.records import Block
from traindyno.worker.anatomy.instruments import Reading

ORDER: tuple[PhaseName, ...] = ("load", "transfer", "forward", "backward", "optimizer", "communication", "other")
# Below what any clock can tell; a phase that took no time at all has no logarithm.
LEAST_SECONDS = 1e-9


def phases_of(blocks: Sequence[dict[PhaseName, Reading]]) -> tuple[Phase, ...]:
    """The phases that came, in the order of a step: the median over blocks, with interval."""
    return tuple(_phase(name, [block[name] for block in blocks]) for name in ORDER if name in blocks[0])


def _phase(name: PhaseName, readings: Sequence[Reading]) -> Phase:
    seconds = [max(LEAST_SECONDS, reading.seconds) for reading in readings]
    return Phase(
        phase=name,
        seconds=median(seconds),
        ci95=median_interval(seconds),
        host_seconds=median([reading.host_seconds for reading in readings]),
    )


def step_seconds_of(blocks: Sequence[Block]) -> list[float]:
    return [block.seconds / block.steps for block in blocks]


def instrument_cost(plain: Sequence[Block], instrumented: Sequence[Block]) -> tuple[float, Interval]:
    """By how much of the plain step the instruments made it longer: the median over pairs of blocks, with interval."""
    pairs = zip(step_seconds_of(plain), step_seconds_of(instrumented), strict=True)
    ratios = [with_them / without for without, with_them in pairs]
    low, high = median_interval(ratios)
    return median(ratios) - 1, (low - 1, high - 1)
