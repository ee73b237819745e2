"""Long runs made up for tests: blocks of a second whose rates are known, and readings beside them."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from traindyno.core.outcomes import Outcome
from traindyno.core.records import Measurement, Memory, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.requests import Bench, SoakRequest
from traindyno.core.soaking import EpochEdge, Reading, Series, Soak, SoakBlock

BATCH, STEPS = 32, 10
BEGAN = 1000.0


def correlated(seed: int, likeness: float, spread: float) -> Callable[[], float]:
    """Factors around 1 of which each resembles the one before."""
    chance, state = random.Random(seed), 0.0

    def factor() -> float:
        nonlocal state
        state = likeness * state + (1 - likeness**2) ** 0.5 * chance.gauss(0, 1)
        return 1 + spread * state

    return factor


def record(
    seconds: float = 300.0,
    speed: Callable[[float], float] = lambda at: 1.0,
    epoch_seconds: float | None = None,
    pause_seconds: float = 0.0,
    reading: Callable[[float], dict[str, Any]] | None = None,
    seed: int = 0,
    spread: float = 0.005,
    likeness: float = 0.5,
) -> TrialRecord:
    """A run of blocks of about a second; `speed` is a factor by the second, `reading` the fields of each reading."""
    factor, blocks, edges, now, edge = correlated(seed, likeness, spread), [], [], 0.0, epoch_seconds
    while now < seconds:
        crossing = edge is not None and now >= edge
        steps = 1 if crossing else STEPS
        spent = steps / STEPS / speed(now) / factor() + crossing * pause_seconds
        if crossing and epoch_seconds is not None:
            edges.append(EpochEdge(at_seconds=now, pause_seconds=pause_seconds))
            edge = now + epoch_seconds
        now += spent
        blocks.append(SoakBlock(end_seconds=now, seconds=spent, steps=steps))
    soak = Soak(began=BEGAN, blocks=tuple(blocks), epochs=tuple(edges), epoch_examples=10_000 if edges else None)
    series = None if reading is None else Series(readings=readings(now, reading), cost=0.001)
    return record_of(soak, series)


def readings(seconds: float, fields: Callable[[float], dict[str, Any]]) -> tuple[Reading, ...]:
    return tuple(Reading(at=BEGAN + at, **fields(at)) for at in range(int(seconds) + 1))


def record_of(soak: Soak, series: Series | None = None) -> TrialRecord:
    spec = TrialSpec(kind="soak", workload=WorkloadSpec(model="m"), settings=Settings(batch_size=BATCH))
    measurement = Measurement(
        batch_size=BATCH,
        steps=sum(block.steps for block in soak.blocks),
        step_seconds=0.1,
        ci95=(0.1, 0.1),
        steady=True,
        blocks=(),
        memory=Memory(peak_bytes=1),
        start_up_seconds=0.0,
        first_step_seconds=0.0,
        warm_up_seconds=0.0,
        warm_up_steps=0,
        soak=soak,
    )
    return TrialRecord(spec=spec, outcome=Outcome.OK, seconds=1.0, measurement=measurement, series=series)


def request(run_seconds: float = 300.0, device: str = "cuda:0", **fields: Any) -> SoakRequest:
    settings = fields.pop("settings", Settings(batch_size=BATCH))
    bench = Bench(device=device)
    workload = WorkloadSpec(model="m")
    return SoakRequest(workload=workload, bench=bench, settings=settings, run_seconds=run_seconds, **fields)


def told(verdicts: Sequence[str], *words: str) -> bool:
    """Whether one sentence has all of these words."""
    return any(all(word in verdict for word in words) for verdict in verdicts)
