"""A device that exists only on paper: memory grows with the batch, and too much of it ends the trial."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from traindyno.core.outcomes import REMEDIES, Outcome
from traindyno.core.records import (
    Block,
    Budget,
    Failure,
    Measurement,
    Memory,
    Settings,
    TrialRecord,
    TrialSpec,
    WorkloadSpec,
)
from traindyno.search.strategy import Strategy

MIB = 2**20


def fit_template() -> TrialSpec:
    return TrialSpec(
        kind="fit",
        workload=WorkloadSpec(model="torchvision:resnet50"),
        settings=Settings(batch_size=1, device="cuda"),
        budget=Budget(steps=3),
    )


def speed_template() -> TrialSpec:
    return TrialSpec(
        kind="speed",
        workload=WorkloadSpec(model="torchvision:resnet50"),
        settings=Settings(batch_size=1, device="cuda"),
        budget=Budget(seconds=10.0),
    )


def no_extra(batch_size: int) -> int:
    return 0


@dataclass
class FakeDevice:
    """`extra_bytes` bends the memory curve; `reserved` is what is needed over what is allocated."""

    limit_bytes: int
    intercept_bytes: int = 600 * MIB
    slope_bytes: int = 80 * MIB
    reserved: float = 1.0
    extra_bytes: Callable[[int], int] = no_extra
    limit_noise: float = 0.0
    reports_reserved: bool = True
    reported_reserved: float | None = None
    reports_limit: bool = True
    retries_above: float = 2.0
    step_seconds: Callable[[int], float] = lambda batch_size: 0.017 + 0.0004 * batch_size
    failures: dict[int, Failure] = field(default_factory=dict)
    seed: int = 0

    def run(self, spec: TrialSpec) -> TrialRecord:
        size = spec.settings.batch_size
        if size in self.failures:
            return failed(spec, self.failures[size])
        noise = random.Random(f"{self.seed} {spec.key}")
        allowed = (1 - spec.margin) * self.limit_bytes * (1 + noise.uniform(-1, 1) * self.limit_noise)
        peak = self.peak_bytes(size)
        if peak * self.reserved > allowed:
            return failed(spec, failure(Outcome.OUT_OF_DEVICE_MEMORY))
        return self._measured(spec, peak, retries=3 if peak * self.reserved > self.retries_above * allowed else 0)

    def peak_bytes(self, batch_size: int) -> int:
        return self.intercept_bytes + self.slope_bytes * batch_size + self.extra_bytes(batch_size)

    def true_limit(self) -> int:
        """The largest size that runs, with memory that never falls as the batch grows."""
        low, high = 0, 2**31
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.peak_bytes(middle) * self.reserved <= self.limit_bytes else (low, middle)
        return low

    def _measured(self, spec: TrialSpec, peak: int, retries: int) -> TrialRecord:
        size = spec.settings.batch_size
        noise = random.Random(f"{self.seed} {spec.key} time")
        seconds = self.step_seconds(size) * noise.gauss(1, 0.003)
        measurement = Measurement(
            batch_size=size,
            steps=10,
            step_seconds=seconds,
            ci95=(seconds * 0.995, seconds * 1.005),
            steady=True,
            blocks=(Block(steps=10, seconds=10 * seconds),),
            memory=Memory(
                peak_bytes=peak,
                limit_bytes=self.limit_bytes if self.reports_limit else None,
                peak_reserved_bytes=int(peak * (self.reported_reserved or self.reserved))
                if self.reports_reserved
                else None,
                allocator_retries=retries if self.reports_reserved else None,
            ),
            start_up_seconds=0.5,
            first_step_seconds=0.2,
            warm_up_seconds=0.5,
            warm_up_steps=10,
        )
        return TrialRecord(spec=spec, outcome=Outcome.OK, seconds=1.0, measurement=measurement)


def device_for(limit: int, **options: object) -> FakeDevice:
    """A device on which exactly `limit` examples run (reserved memory counted, no bends)."""
    device = FakeDevice(limit_bytes=0, **options)  # type: ignore[arg-type]
    device.limit_bytes = int((device.peak_bytes(limit) + device.slope_bytes // 3) * device.reserved)
    return device


def failure(outcome: Outcome, **details: str) -> Failure:
    return Failure(outcome=outcome, message=outcome.value, remedy=REMEDIES[outcome], details=details)


def failed(spec: TrialSpec, why: Failure) -> TrialRecord:
    return TrialRecord(spec=spec, outcome=why.outcome, seconds=1.0, failure=why)


def run_to_end(strategy: Strategy, device: FakeDevice, most: int = 200) -> list[TrialRecord]:
    """Let the strategy ask until it has enough."""
    history: list[TrialRecord] = []
    while (proposal := strategy.ask(history)) is not None:
        assert len(history) < most, "the strategy does not come to an end"
        history.append(device.run(proposal.spec))
    return history
