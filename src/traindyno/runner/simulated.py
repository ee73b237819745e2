"""Trials that are computed, not run: for tests, for demonstrations, and for trying out a command line.

The shape follows one accelerator with a ResNet-50: a floor under the step time while the host is the limit, then a
straight line; memory grows with the batch until `limit`. `simulated:limit=100,noise=0.02,sleep=0.1,fail=64:crash`.
"""

import hashlib
import math
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from traindyno.analysis.sustained import sustained_seconds
from traindyno.core.events import TrialProgress
from traindyno.core.learning import LEARNING, Evaluation
from traindyno.core.outcomes import REMEDIES, Outcome
from traindyno.core.records import Block, Failure, Measurement, Memory, TrialRecord, TrialSpec
from traindyno.runner.profile import Profile
from traindyno.runner.protocol import Watcher
from traindyno.runner.simulated_anatomy import anatomy_of
from traindyno.runner.simulated_job import with_job
from traindyno.runner.simulated_learning import with_learning
from traindyno.runner.simulated_loading import batch_seconds, loading_of
from traindyno.runner.simulated_scale import grouped, one_of, with_scaling
from traindyno.runner.simulated_soak import simulate_soak
from traindyno.runner.simulated_switches import (
    device_share,
    host_share,
    losses_of,
    memory_share,
    paired,
    warming_seconds,
)

BLOCKS = 12
LOADING = ("probe", "load", "feed")
FED = (*LOADING, "anatomy")
SUSTAINED = ("load", "feed", "anatomy")
SLEEP_TICK_SECONDS = 0.05


class SimulatedRunner:
    """Answers trials from a profile. Equal specifications give equal answers."""

    simulated = True

    def __init__(self, profile: Profile, sleep: Callable[[float], None] = time.sleep) -> None:
        self._profile = profile
        self._sleep = sleep

    def run(self, spec: TrialSpec, watcher: Watcher, log_path: Path | None) -> TrialRecord:
        watcher.progress(TrialProgress(phase="simulated", steps=0, seconds=0.0))
        if not self._pretend_to_work(watcher):
            return self._failed(spec, Outcome.INTERRUPTED, "stopped on request")
        size = spec.settings.batch_size
        for failing_size, outcome in self._profile.fail:
            if size == failing_size:
                return self._failed(spec, outcome, f"simulated failure at batch size {size}")
        on_one_device = one_of(self._profile, grouped(spec)) if _is_of_group(spec) else spec
        if self._peak_of(on_one_device) > self._limit_bytes() * (1 - spec.margin):
            return self._failed(spec, Outcome.OUT_OF_DEVICE_MEMORY, f"simulated device is full at batch size {size}")
        measurement = self._measured(spec)
        if spec.kind == "soak":
            return self._soaked(spec, measurement)
        if spec.kind in ("learn", "noise"):
            return self._learnt(spec, measurement, watcher)
        if spec.kind == "job":
            measurement = with_job(self._profile, spec, measurement, _chance(spec))
        seconds = measurement.start_up_seconds + sum(block.seconds for block in measurement.blocks)
        return TrialRecord(spec=spec, outcome=Outcome.OK, seconds=seconds, measurement=measurement)

    def close(self) -> None:
        """Nothing was started."""

    def _pretend_to_work(self, watcher: Watcher) -> bool:
        remaining = self._profile.sleep
        while remaining > 0:
            watcher.tick(time.monotonic(), None)
            if watcher.should_stop():
                return False
            self._sleep(min(SLEEP_TICK_SECONDS, remaining))
            remaining -= SLEEP_TICK_SECONDS
        return True

    def _measured(self, spec: TrialSpec) -> Measurement:
        if spec.kind == "pair":
            return paired(spec, self._measurement)
        if spec.kind == "scale":
            one = one_of(self._profile, spec)
            return with_scaling(self._profile, spec, self._measurement(one), self._step_seconds(one), _chance(spec))
        if _is_of_group(spec):
            together, one = grouped(spec), one_of(self._profile, grouped(spec))
            measured = self._measurement(one)
            shared = with_scaling(self._profile, together, measured, self._step_seconds(one), _chance(spec))
            return msgspec.structs.replace(shared, scaling=None)
        return self._measurement(spec)

    def _measurement(self, spec: TrialSpec) -> Measurement:
        chance = random.Random(hashlib.sha256(spec.key.encode()).digest())
        size, peak = spec.settings.batch_size, round(self._peak_of(spec))
        resident, loads = self._step_seconds(spec), spec.kind in LOADING
        usual = batch_seconds(self._profile, spec, resident) if _is_fed(spec) else resident
        typical = usual * math.exp(chance.gauss(0, self._profile.noise))
        steps = spec.budget.steps or max(1, round(0.1 / typical))
        steps = max(1, steps // BLOCKS) if spec.kind == "losses" else steps
        per_step = [typical * math.exp(chance.gauss(0, self._profile.noise)) for _ in range(BLOCKS)]
        blocks = tuple(Block(steps=steps, seconds=seconds * steps) for seconds in per_step)
        step_seconds, ci95 = sustained_seconds(blocks) if spec.kind in SUSTAINED else _middle(per_step)
        return Measurement(
            batch_size=size,
            steps=steps * BLOCKS,
            step_seconds=step_seconds,
            ci95=ci95,
            steady=True,
            blocks=blocks,
            memory=Memory(
                peak_bytes=peak,
                peak_reserved_bytes=peak,
                limit_bytes=self._limit_bytes(),
                allocator_retries=0,
                device_total_bytes=self._limit_bytes(),
            ),
            start_up_seconds=0.5,
            first_step_seconds=typical * 3 + warming_seconds(spec),
            warm_up_seconds=0.0,
            warm_up_steps=0,
            evaluation_step_seconds=typical / 3 if spec.evaluate else None,
            training_seconds=0.5 + typical * steps if spec.kind == "train" else None,
            loss=1.0,
            losses=losses_of(spec) if spec.kind == "losses" else (),
            examples_in_data=self._profile.examples if loads else None,
            loading=loading_of(self._profile, spec, typical, resident) if loads else None,
            anatomy=anatomy_of(self._profile, spec, typical, resident) if spec.kind == "anatomy" else None,
        )

    def _soaked(self, spec: TrialSpec, measurement: Measurement) -> TrialRecord:
        chance = random.Random(hashlib.sha256(f"soak {spec.key}".encode()).digest())
        soak, series = simulate_soak(self._profile, spec, measurement.step_seconds, chance)
        seconds = measurement.start_up_seconds + soak.blocks[-1].end_seconds
        measurement = msgspec.structs.replace(measurement, soak=soak)
        return TrialRecord(spec=spec, outcome=Outcome.OK, seconds=seconds, measurement=measurement, series=series)

    def _learnt(self, spec: TrialSpec, measurement: Measurement, watcher: Watcher) -> TrialRecord:
        measurement = with_learning(self._profile, spec, measurement, _chance(spec))
        seconds = measurement.start_up_seconds + sum(block.seconds for block in measurement.blocks)
        if measurement.learning is not None:
            seconds += measurement.learning.evaluation_seconds
            for each in measurement.learning.evaluations:
                watcher.progress(_progress(measurement, each, measurement.learning.planned_steps))
        return TrialRecord(spec=spec, outcome=Outcome.OK, seconds=seconds, measurement=measurement)

    def _step_seconds(self, spec: TrialSpec) -> float:
        profile = self._profile
        line = (profile.alpha_seconds + profile.beta_seconds * spec.settings.batch_size) * device_share(spec.settings)
        return max(profile.floor_seconds * host_share(spec.settings), line) / (
            3 if spec.workload.mode == "infer" else 1
        )

    def _peak_of(self, spec: TrialSpec) -> float:
        """What a trial takes; a pair has both of its settings on the device."""
        arms = [spec.settings, *([spec.against] if spec.kind == "pair" and spec.against is not None else [])]
        return sum(self._peak_bytes(arm.batch_size) * memory_share(arm) for arm in arms)

    def _peak_bytes(self, batch_size: int) -> float:
        return self._profile.intercept_bytes + self._profile.slope_bytes * batch_size

    def _limit_bytes(self) -> int:
        return round(self._peak_bytes(self._profile.limit) + 0.5 * self._profile.slope_bytes)

    def _failed(self, spec: TrialSpec, outcome: Outcome, message: str) -> TrialRecord:
        both = spec.kind == "pair" and outcome is Outcome.OUT_OF_DEVICE_MEMORY
        failure = Failure(
            outcome=outcome,
            message=message,
            remedy=REMEDIES[outcome],
            phase="simulated",
            details={"arm": "candidate"} if both else {},
        )
        return TrialRecord(spec=spec, outcome=outcome, seconds=0.5, failure=failure)


def _middle(per_step: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """The median of the blocks and what they leave open."""
    ordered = sorted(per_step)
    return (ordered[BLOCKS // 2 - 1] + ordered[BLOCKS // 2]) / 2, (ordered[2], ordered[BLOCKS - 3])


def _chance(spec: TrialSpec) -> random.Random:
    """What varies between seeds, and never between two runs of the same trial."""
    return random.Random(hashlib.sha256(f"{spec.kind} {spec.key}".encode()).digest())


def _is_of_group(spec: TrialSpec) -> bool:
    return spec.kind == "scale" or spec.settings.devices > 1


def _is_fed(spec: TrialSpec) -> bool:
    return spec.kind in FED or (spec.kind in ("soak", "scale") and spec.feed.supply == "loader")


def _progress(measurement: Measurement, evaluation: Evaluation, planned_steps: int) -> TrialProgress:
    return TrialProgress(
        phase=LEARNING,
        steps=evaluation.step,
        seconds=measurement.start_up_seconds + evaluation.seconds,
        step_seconds=measurement.step_seconds,
        planned_steps=planned_steps,
        accuracy=evaluation.accuracy,
    )
