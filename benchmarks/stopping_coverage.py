"""A trial stops when its 95 % interval is narrow: does that interval still hold the truth, and what does it cost?

Steps with made-up times, of which the truth is known, go through the product's own measuring loop against a clock that
only they move: blocks of a tenth of a second, five or ten seconds. Beside it stands a trial that stops the first time
that its interval is narrow, and three processes that are combined. No device is needed.

    python benchmarks/stopping_coverage.py [--trials 5000]
"""

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import torch

import results
from traindyno.analysis.flow_pace import LEAST_BLOCKS
from traindyno.analysis.intervals import combine_processes, median, median_interval
from traindyno.analysis.steady import precise_enough, steady_from
from traindyno.core.answers.interval import Interval
from traindyno.worker.channel import Channel
from traindyno.worker.timing import BLOCK_SECONDS, time_steps

NARROW = 0.01
PROCESSES = 3
NOISES = (0.005, 0.01, 0.015, 0.02, 0.025, 0.03)
CORRELATIONS = (0.3, 0.5)
LOSS = torch.tensor(1.0)


class Bench(Channel):
    """A step of made-up length, with the clock that it moves; device and channel have nothing to do."""

    def __init__(self, lengths: Iterator[float]) -> None:
        super().__init__(-1)
        self.now, self._lengths = 0.0, lengths

    def step_once(self) -> torch.Tensor:
        self.now += BLOCK_SECONDS * next(self._lengths)
        return LOSS

    def clock(self) -> float:
        return self.now

    def synchronize(self) -> None: ...

    def check_memory(self) -> None: ...

    def _send(self, kind: str, **fields: Any) -> None: ...


def lengths(noise: float, correlation: float, chance: random.Random) -> Iterator[float]:
    """Around 1; each shares so much of its deviation with the one before."""
    deviation = chance.gauss(0, noise)
    while True:
        yield math.exp(deviation)
        deviation = correlation * deviation + chance.gauss(0, noise * math.sqrt(1 - correlation**2))


def as_it_is(steps: Iterator[float], seconds: float) -> tuple[int, list[float]]:
    """How many blocks the product takes, and those that count."""
    bench = Bench(steps)
    timing = time_steps(bench.step_once, bench, bench, seconds, NARROW, bench.clock)  # type: ignore[arg-type]
    return len(timing.blocks), [block.seconds / block.steps for block in timing.counted]


def first_narrow(steps: Iterator[float], seconds: float) -> tuple[int, list[float]]:
    """The same for a trial that stops at the first narrow interval."""
    blocks: list[float] = []
    while len(blocks) < seconds / BLOCK_SECONDS:
        blocks.append(BLOCK_SECONDS * next(steps))
        start = steady_from(blocks)
        if start is not None and len(blocks) - start >= LEAST_BLOCKS and precise_enough(blocks[start:], NARROW):
            break
    return len(blocks), blocks[len(blocks) // 2 if start is None else start :]


def holds(interval: Interval) -> bool:
    return interval[0] <= BLOCK_SECONDS <= interval[1]


def row_of(noise: float, correlation: float, seconds: float, trials: int) -> dict[str, Any]:
    """One kind of noise: how often intervals hold the truth, and mean numbers of blocks."""
    row: dict[str, Any] = {"noise": noise, "correlation": correlation, "seconds": seconds, "trials": trials}
    ways: dict[str, Callable[[Iterator[float], float], tuple[int, list[float]]]] = {
        "first_narrow": first_narrow,
        "as_it_is": as_it_is,
    }
    for name, way in ways.items():
        chance = random.Random(f"{noise} {correlation}")
        taken = [way(lengths(noise, correlation, chance), seconds) for _ in range(trials)]
        told = [(median(counted), median_interval(counted)) for _, counted in taken]
        row[f"{name}_holds"] = sum(holds(interval) for _, interval in told) / trials
        row[f"{name}_blocks"] = sum(count for count, _ in taken) / trials
    groups = [told[first : first + PROCESSES] for first in range(0, trials - PROCESSES + 1, PROCESSES)]
    pooled = [combine_processes([each for each, _ in group], [each for _, each in group])[1] for group in groups]
    row["three_processes_hold"] = sum(map(holds, pooled)) / len(pooled)
    return row


def main() -> None:
    parser = results.arguments("Does the interval at the moment of stopping hold the truth?")
    parser.add_argument("--trials", type=int, default=5000)
    options = parser.parse_args()
    cases = [(noise, 0.0, 5.0) for noise in NOISES]
    cases += [(noise, correlation, 5.0) for correlation in CORRELATIONS for noise in (0.01, 0.02)]
    cases += [(noise, 0.0, 10.0) for noise in (0.02, 0.03)]
    rows = []
    for case in cases:
        rows.append(row_of(*case, options.trials))
        print(" ".join(f"{key}={value:g}" for key, value in rows[-1].items()), flush=True)
    results.write(options.out, "stopping_coverage", {"rows": rows})


if __name__ == "__main__":
    main()
