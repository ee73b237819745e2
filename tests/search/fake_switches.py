"""A device on paper with planted effects of switches, for the strategy to be tried on."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from search.fake_device import failed, failure
from traindyno.analysis.switch_candidates import Candidate
from traindyno.core.outcomes import Outcome
from traindyno.core.records import (
    Arm,
    Block,
    Budget,
    Failure,
    Measurement,
    Memory,
    Pair,
    Settings,
    TrialRecord,
    TrialSpec,
    WorkloadSpec,
)
from traindyno.search.strategy import Strategy
from traindyno.search.switches import find_candidates
from traindyno.search.switches.strategy import SwitchesPlan
from traindyno.search.switches.switch import Situation

BASELINE = Settings(batch_size=64, device="cuda:0")
WORKLOAD = WorkloadSpec(model="torchvision:resnet50")


def template(settings: Settings = BASELINE, workload: WorkloadSpec = WORKLOAD) -> TrialSpec:
    return TrialSpec(kind="pair", workload=workload, settings=settings, budget=Budget(seconds=3.0))


def candidates(*only: str, settings: Settings = BASELINE) -> tuple[Candidate, ...]:
    return find_candidates(Situation(workload=WORKLOAD, baseline=settings, usable_cpus=8), only)


def plan(*only: str, repeats: int = 2, **options: bool) -> SwitchesPlan:
    return SwitchesPlan(template(), candidates(*only), repeats=repeats, **options)


def unchanged(settings: Settings) -> float:
    return 1.0


@dataclass
class FakeBench:
    """`step` is the share of the baseline's step that settings take; `loss` what they add to the final loss.

    `noise` differs from pair to pair. Settings in `failures` (by a name such as `compile=default`) fail. Those that are
    not `roomy` do not fit beside the baseline, and those that are `tight` do so after some tries. `start` is what the
    first step takes.
    """

    step: Callable[[Settings], float] = unchanged
    loss: Callable[[Settings], float] = lambda settings: 0.0
    noise: float = 0.002
    spread: float = 0.1
    failures: dict[str, Failure] = field(default_factory=dict)
    roomy: Callable[[Settings], bool] = lambda settings: True
    tight: Callable[[Settings], bool] = lambda settings: False
    start: Callable[[Settings], float] = lambda settings: 0.1
    seed: int = 0

    def run(self, spec: TrialSpec) -> TrialRecord:
        for named, why in self.failures.items():
            name, _, value = named.partition("=")
            if str(getattr(spec.settings, name)) == value and spec.kind in ("pair", "speed"):
                return failed(spec, why)
        if spec.kind == "pair" and not self.roomy(spec.settings):
            return failed(spec, of_arm(failure(Outcome.OUT_OF_DEVICE_MEMORY), "candidate"))
        return TrialRecord(spec=spec, outcome=Outcome.OK, seconds=5.0, measurement=self._measured(spec))

    def _measured(self, spec: TrialSpec) -> Measurement:
        chance = random.Random(f"{self.seed} {spec.key}")
        step = 0.1 * self.step(spec.settings) * (1 + chance.gauss(0, self.noise))
        ends = 1.0 + self.spread * (spec.seed % 3) + self.loss(spec.settings)
        measurement = Measurement(
            batch_size=spec.settings.batch_size,
            steps=30,
            step_seconds=step,
            ci95=(step * 0.999, step * 1.001),
            steady=True,
            blocks=(Block(steps=1, seconds=step),),
            memory=Memory(peak_bytes=10**9),
            start_up_seconds=1.0,
            first_step_seconds=step,
            warm_up_seconds=0.0,
            warm_up_steps=0,
            losses=(2.0,) * 90 + (ends,) * 10 if spec.kind == "losses" else (),
        )
        if spec.against is None or spec.kind != "pair":
            return measurement
        base = 0.1 * self.step(spec.against)
        paired = _with_pair(measurement, base, step, retries=3 if self.tight(spec.settings) else 0)
        assert paired.pair is not None
        candidate = msgspec.structs.replace(paired.pair.candidate, first_step_seconds=self.start(spec.settings))
        pair = msgspec.structs.replace(paired.pair, candidate=candidate)
        return msgspec.structs.replace(paired, pair=pair)


class FirstLook(FakeBench):
    """A bench on which bf16 looks fast in the first two rounds, and never again."""

    def run(self, spec: TrialSpec) -> TrialRecord:
        record = super().run(spec)
        lucky = spec.kind == "pair" and spec.settings.precision == "bf16" and spec.repeat < 2
        if not lucky or record.measurement is None or record.measurement.pair is None:
            return record
        pair = msgspec.structs.replace(record.measurement.pair, ratio=2.0, ci95=(1.99, 2.01))
        return msgspec.structs.replace(record, measurement=msgspec.structs.replace(record.measurement, pair=pair))


def _with_pair(measurement: Measurement, base: float, step: float, retries: int) -> Measurement:
    ratio = base / step
    candidate = arm(step)
    candidate = msgspec.structs.replace(
        candidate, memory=msgspec.structs.replace(candidate.memory, allocator_retries=retries)
    )
    pair = Pair(baseline=arm(base), candidate=candidate, turns=(), ratio=ratio, ci95=(ratio * 0.999, ratio * 1.001))
    return msgspec.structs.replace(measurement, pair=pair)


def arm(step_seconds: float, first_step_seconds: float | None = None, peak_bytes: int = 10**9) -> Arm:
    return Arm(
        step_seconds=step_seconds,
        ci95=(step_seconds * 0.999, step_seconds * 1.001),
        steady=True,
        memory=Memory(peak_bytes=peak_bytes),
        start_up_seconds=1.0,
        first_step_seconds=step_seconds if first_step_seconds is None else first_step_seconds,
        warm_up_seconds=10 * step_seconds,
        warm_up_steps=10,
    )


def of_arm(why: Failure, side: str) -> Failure:
    return msgspec.structs.replace(why, details={**why.details, "arm": side})


def run_study(strategy: Strategy, bench: FakeBench, most: int = 300) -> list[TrialRecord]:
    history: list[TrialRecord] = []
    while (proposal := strategy.ask(history)) is not None:
        assert len(history) < most, "the study does not end"
        history.append(bench.run(proposal.spec))
    return history
