"""A simulated long run: its blocks and the readings beside it, with planted drift, heat, pauses and neighbours.

The GPU warms up from 35 °C. From `hot_after_seconds` on, the driver tells of a thermal slowdown, and the clocks follow
the rate. A neighbour takes its share of the CPUs in every other half minute.
"""

import math
import random
from itertools import count

from traindyno.core.machine import POWER_CAP
from traindyno.core.records import TrialSpec
from traindyno.core.soaking import EpochEdge, Reading, Series, Soak, SoakBlock
from traindyno.runner.profile import Profile

FULL_CLOCK_MHZ, MEMORY_CLOCK_MHZ = 1980, 2619
HOT = "thermal software slowdown"
COOL_CELSIUS, WARMER_CELSIUS, WARMING_SECONDS = 35.0, 40.0, 45.0
FULL_WATTS, RESTING_WATTS = 640.0, 90.0
NEIGHBOUR_SECONDS = 30.0


def simulate_soak(profile: Profile, spec: TrialSpec, step_seconds: float, chance: random.Random) -> tuple[Soak, Series]:
    """The run that a trial of this profile would make, and what would be read beside it."""
    run_seconds = spec.budget.seconds
    assert run_seconds is not None
    fed = spec.feed.supply == "loader"
    epoch_steps = max(1, profile.examples // spec.settings.batch_size)
    blocks, epochs = _blocks(profile, run_seconds, step_seconds, epoch_steps if fed else None, chance)
    examples = epoch_steps * spec.settings.batch_size if fed else None
    soak = Soak(began=0.0, blocks=tuple(blocks), epochs=tuple(epochs), epoch_examples=examples)
    return soak, _series(profile, blocks[-1].end_seconds, chance)


def _blocks(
    profile: Profile, run_seconds: float, step_seconds: float, epoch_steps: int | None, chance: random.Random
) -> tuple[list[SoakBlock], list[EpochEdge]]:
    blocks: list[SoakBlock] = []
    edges: list[EpochEdge] = []
    now, left = 0.0, epoch_steps or math.inf
    while now < run_seconds:
        crossing = left == 0
        seconds = step_seconds / _speed(profile, now)
        steps = 1 if crossing else int(min(left, max(1, round(1 / seconds))))
        spent = steps * seconds * math.exp(chance.gauss(0, profile.noise)) + crossing * profile.pause_seconds
        if crossing:
            edges.append(EpochEdge(at_seconds=now, pause_seconds=profile.pause_seconds))
            left = epoch_steps or math.inf
        now, left = now + spent, left - steps
        wait = None if epoch_steps is None else crossing * profile.pause_seconds
        blocks.append(SoakBlock(end_seconds=now, seconds=spent, steps=steps, wait_seconds=wait))
    return blocks, edges


def _speed(profile: Profile, now: float) -> float:
    """How fast the run is at a moment, in shares of its usual speed."""
    drifted = 1 + profile.drift_percent * now / 6000
    return max(0.05, drifted * (1 - _neighbour(profile, now) / 2))


def _neighbour(profile: Profile, now: float) -> float:
    return profile.neighbour_share if int(now / NEIGHBOUR_SECONDS) % 2 else 0.0


def _series(profile: Profile, run_seconds: float, chance: random.Random) -> Series:
    readings, joules, hot_seconds = [], 0.0, 0.0
    for second in count():
        if second > run_seconds:
            break
        hot = second >= profile.hot_after_seconds
        hot_seconds += hot
        speed = 1 + profile.drift_percent * second / 6000
        watts = RESTING_WATTS + (FULL_WATTS - RESTING_WATTS) * speed + chance.gauss(0, 3)
        joules += watts
        celsius = COOL_CELSIUS + WARMER_CELSIUS * (1 - math.exp(-second / WARMING_SECONDS)) + 12 * hot
        readings.append(
            Reading(
                at=float(second),
                sm_clock_mhz=round(FULL_CLOCK_MHZ * min(1.0, speed)),
                memory_clock_mhz=MEMORY_CLOCK_MHZ,
                temperature_celsius=round(celsius),
                power_watts=round(watts, 1),
                energy_joules=round(joules, 1),
                utilization_percent=99,
                memory_used_bytes=40 << 30,
                clock_reasons=(*((POWER_CAP,) if profile.power_capped else ()), *((HOT,) if hot else ())),
                throttle_counters={POWER_CAP: second * 10**9 * bool(profile.power_capped), HOT: int(hot_seconds * 1e9)},
                foreign_gpu_processes=0,
                own_cpu_share=round(0.3 + chance.gauss(0, 0.01), 4),
                other_cpu_share=round(max(0.0, 0.02 + _neighbour(profile, second) + chance.gauss(0, 0.004)), 4),
                own_memory_bytes=3 << 30,
                disk_read_bytes=0,
            )
        )
    return Series(readings=tuple(readings), cost=0.001)
