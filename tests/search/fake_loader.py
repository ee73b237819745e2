"""Machines that exist only on paper, with a loader and a step, for searches to be tried on.

They are made differently from the simulation that the search fits: workers slow down by how many hyperthreads share a
core and by a utilisation that is found by iteration, batches differ at random, and every reading is noisy.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from search.fake_device import failed, failure
from traindyno.core.loading import BatchIntervals, Feed, Loading, StageCost, StageName
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Block, Budget, Measurement, Memory, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.search.strategy import Strategy

BATCHES = 160
DISCARDED = 60
BATCH_SIZE = 64


def loader_template(device: str = "cuda", batch_size: int = BATCH_SIZE, data: str = "folder:/data") -> TrialSpec:
    return TrialSpec(
        kind="feed",
        workload=WorkloadSpec(model="torchvision:resnet50", data=data),
        settings=Settings(batch_size=batch_size, device=device),
        budget=Budget(seconds=5.0),
    )


def blocks_of(step_seconds: float, spread: float = 0.02) -> tuple[Block, ...]:
    """Twenty of five steps, by turns a little slower and faster; a spread of 2 % leaves about 1 % open."""
    shares = (1 - spread, 1 + spread) * 10
    return tuple(Block(steps=5, seconds=5 * step_seconds * share) for share in shares)


@dataclass
class FakeMachine:
    """Seconds per batch of 64. `hyperthreads` is what a second thread on a core adds; 1 means cores of their own.

    `launch_share` of the step does not depend on the batch; `cold_seconds` come to fetching when nothing is cached;
    `pinned_transfer` is what is left of moving a batch from pinned memory; `sources` have stages of their own.
    """

    cpus: int = 8
    device: str = "cuda"
    stages: dict[StageName, float] = field(default_factory=lambda: {"fetch": 0.01, "decode": 0.2, "augment": 0.08})
    cpu_share: float = 0.95
    step_seconds: float = 0.05
    transfer_seconds: float = 0.002
    hand_off_seconds: float = 0.0005
    worker_overhead: float = 0.05
    hyperthreads: float = 1.0
    bandwidth: float = 0.0
    oversubscription: float = 0.005
    interference: float = 0.8
    jitter: float = 0.1
    noise: float = 0.01
    worker_start_seconds: float = 0.05
    launch_share: float = 0.1
    cold_seconds: float = 0.0
    fill_seconds: float | None = None
    pinned_transfer: float = 1.0
    sources: dict[str, dict[StageName, float]] = field(default_factory=dict)
    examples: int = 50_000
    batch_bytes: int = 10_000_000
    most_workers: int | None = None
    failures: dict[int, Outcome] = field(default_factory=dict)
    seed: int = 0
    found: dict[str, float] = field(default_factory=dict, repr=False)

    def true_seconds(self, spec: TrialSpec) -> float:
        """What a trial would find without noise; trials that differ only in their repeat find the same."""
        key = _named(spec)
        if key not in self.found:
            self.found[key] = self._computed(spec)
        return self.found[key]

    def _computed(self, spec: TrialSpec) -> float:
        if spec.kind == "speed" or spec.feed.supply == "resident":
            return self._resident(spec)
        if spec.feed.supply == "cached":
            return self._resident(spec) + self._transfer(spec)
        return self._piped(spec)

    def run(self, spec: TrialSpec) -> TrialRecord:
        workers = spec.settings.num_workers
        if self.most_workers is not None and workers > self.most_workers:
            return failed(spec, failure(Outcome.USER_ERROR))
        if workers in self.failures:
            return failed(spec, failure(self.failures[workers]))
        chance = random.Random(f"{self.seed} {_named(spec)} {spec.repeat}")
        seconds = (self._load(spec) if spec.kind == "probe" else self.true_seconds(spec)) * self._noise(chance)
        return TrialRecord(
            spec=spec, outcome=Outcome.OK, seconds=6.0, measurement=self._measured(spec, seconds, chance)
        )

    def _measured(self, spec: TrialSpec, seconds: float, chance: random.Random) -> Measurement:
        return Measurement(
            batch_size=spec.settings.batch_size,
            steps=20 if spec.kind == "probe" else 100,
            step_seconds=seconds,
            ci95=(seconds * 0.99, seconds * 1.01),
            steady=True,
            blocks=self._batches(seconds, chance) if spec.kind == "probe" else blocks_of(seconds),
            memory=Memory(peak_bytes=10**9),
            start_up_seconds=1.0,
            first_step_seconds=0.1,
            warm_up_seconds=1.0,
            warm_up_steps=10,
            examples_in_data=self.examples,
            loading=self._loading(spec, seconds, chance),
        )

    def _batches(self, seconds: float, chance: random.Random) -> tuple[Block, ...]:
        """Single ones, which differ; all together they take what was read."""
        shares = [self._varied(chance) for _ in range(20)]
        return tuple(Block(steps=1, seconds=seconds * len(shares) * share / sum(shares)) for share in shares)

    def _loading(self, spec: TrialSpec, seconds: float, chance: random.Random) -> Loading:
        workers, probing = spec.settings.num_workers, spec.kind == "probe"
        with_model = spec.kind == "feed" or (probing and spec.feed.supply == "resident")
        step = self._resident(spec) * self._noise(chance)
        start_up = workers * self.worker_start_seconds + self._load(spec)
        return Loading(
            start_up_seconds=start_up,
            next_epoch_seconds=self._load(spec) if spec.settings.persistent_workers else start_up,
            intervals=BatchIntervals(
                median=seconds,
                p95=seconds * (1 + 2 * self.jitter),
                longest=seconds * (1 + 4 * self.jitter),
                samples=100,
            ),
            fill_seconds=None if probing else self.fill_seconds,
            batch_bytes=round(self.batch_bytes * spec.settings.batch_size / BATCH_SIZE),
            stages=tuple(self._costs(spec)) if probing else (),
            resident_step_seconds=step if with_model else None,
            resident_ci95=(step * 0.99, step * 1.01) if with_model else None,
            transfer_seconds=self._transfer(spec) if with_model else None,
            hand_off_seconds=self.hand_off_seconds if workers else None,
            wait_seconds=max(0.0, seconds - step) if spec.kind == "feed" else None,
            cached_share=0.02 if spec.feed.cold else 1.0,
            step_cpu_seconds=self._step_cpus() * self._resident(spec) if with_model else None,
            most_workers=self.most_workers if probing else None,
        )

    def _step_cpus(self) -> float:
        """The CPUs that a step keeps busy: all of them, or part of one to launch it."""
        return float(self.cpus) if self.device == "cpu" else 0.3

    def _costs(self, spec: TrialSpec) -> list[StageCost]:
        return [
            StageCost(
                stage=stage,
                seconds=seconds / BATCH_SIZE,
                ci95=(seconds / BATCH_SIZE * 0.98, seconds / BATCH_SIZE * 1.02),
                cpu_seconds=seconds / BATCH_SIZE * self.cpu_share,
            )
            for stage, seconds in self._stages(spec).items()
        ]

    def _stages(self, spec: TrialSpec) -> dict[StageName, float]:
        return self.sources.get(spec.workload.data, self.stages)

    def _load(self, spec: TrialSpec) -> float:
        """What one process takes for a batch, as deep as the trial goes."""
        left_out = {"bytes": ("decode", "augment", "example"), "pixels": ("augment",), "examples": ()}[spec.feed.depth]
        made = sum(seconds for stage, seconds in self._stages(spec).items() if stage not in left_out)
        return (made + (self.cold_seconds if spec.feed.cold else 0.0)) * spec.settings.batch_size / BATCH_SIZE

    def _resident(self, spec: TrialSpec) -> float:
        examples = spec.settings.batch_size / BATCH_SIZE
        return self.step_seconds * (self.launch_share + (1 - self.launch_share) * examples)

    def _transfer(self, spec: TrialSpec) -> float:
        if self.device == "cpu":
            return 0.0
        share = self.pinned_transfer if spec.settings.pin_memory else 1.0
        return self.transfer_seconds * share * spec.settings.batch_size / BATCH_SIZE

    def _piped(self, spec: TrialSpec) -> float:
        """Loading and stepping, with the slowdown that the workers' own utilisation causes found by iteration."""
        workers, cpus = spec.settings.num_workers, min(self.cpus, spec.feed.cpus or self.cpus)
        alone = spec.kind == "load"
        step = 0.0 if alone else self._resident(spec) + self._transfer(spec)
        load = self._load(spec)
        if workers == 0:
            gpu_overlap = self.device != "cpu" and not alone
            return max(step, load + self._transfer(spec)) if gpu_overlap else step + load
        busy = float(workers)
        seconds = 0.0
        for _ in range(8):
            slowdown, stepping = self._slowed(busy, workers, cpus, alone)
            seconds = self._ordered(workers, spec.settings.prefetch_factor, load * slowdown, step * stepping)
            busy = 0.5 * busy + 0.5 * min(workers, load * slowdown / seconds)
        return seconds

    def _slowed(self, busy: float, workers: int, cpus: int, alone: bool) -> tuple[float, float]:
        """How much longer loading and stepping take with so many workers busy at a time."""
        step_cpus = 0.0 if alone else min(cpus, self._step_cpus())
        cores = cpus / 2 if self.hyperthreads < 1 else float(cpus)
        wanted = busy * self.cpu_share
        running = min(wanted, cpus)
        capacity = min(running, cores) + self.hyperthreads * max(0.0, running - cores)
        slowdown = (1 + self.worker_overhead) * running / max(capacity, 1e-9)
        slowdown *= 1 + self.bandwidth * (running / 8) ** 2
        slowdown *= 1 + self.oversubscription * max(0, workers + 1 - cpus)
        if self.device == "cpu" and not alone:
            share = cpus / (step_cpus + wanted)
            return slowdown / share, (1 + self.interference * wanted / cpus) / share
        return slowdown * max(1.0, (wanted + step_cpus) / cpus), 1.0

    def _ordered(self, workers: int, prefetch: int, load: float, step: float) -> float:
        """Seconds per step when batches go round the workers and are taken in order."""
        chance = random.Random(f"{self.seed} order")
        sent = [0.0] * (workers * prefetch)
        finished: list[float] = []
        done: list[float] = []
        asked = 0.0
        asynchronous = self.device != "cpu"
        for index in range(BATCHES + 4 * workers):
            free = finished[index - workers] if index >= workers else 0.0
            finished.append(max(free, sent[index]) + load * self._varied(chance))
            taken = max(asked, finished[index]) + self.hand_off_seconds
            sent.append(taken)
            done.append(max(taken, done[-1] if done else 0.0) + step)
            lead = done[index - 1] if index else 0.0
            asked = max(taken, lead) if asynchronous else done[-1]
        start = DISCARDED
        return (done[-1] - done[start]) / (len(done) - 1 - start)

    def _varied(self, chance: random.Random) -> float:
        return math.exp(chance.gauss(-(self.jitter**2) / 2, self.jitter)) if self.jitter else 1.0

    def _noise(self, chance: random.Random) -> float:
        return math.exp(chance.gauss(0, self.noise))


def _named(spec: TrialSpec) -> str:
    """What a trial does, in words that do not change when records get new fields."""
    settings, feed = spec.settings, spec.feed
    knobs = (settings.batch_size, settings.num_workers, settings.prefetch_factor, settings.pin_memory, settings.decoder)
    return " ".join(map(str, (spec.kind, spec.workload.data, *knobs, feed.supply, feed.depth, feed.cold, feed.cpus)))


def run_loader(
    strategy: Strategy, machine: FakeMachine, most: int = 60, until: Callable[[TrialSpec], bool] = lambda _: False
) -> list[TrialRecord]:
    """Let the strategy ask until it has enough, or asks for something that the caller does not care about."""
    history: list[TrialRecord] = []
    while (proposal := strategy.ask(history)) is not None and not until(proposal.spec):
        assert len(history) < most, "the strategy does not come to an end"
        assert proposal.spec.key not in {record.spec.key for record in history}, "the same trial was proposed twice"
        history.append(machine.run(proposal.spec))
    return history


def feed_at(workers: int, machine: FakeMachine, **settings: object) -> float:
    """The true seconds per step end to end at a worker count."""
    template = loader_template(machine.device)
    changed = {"num_workers": workers, **settings}
    return machine.true_seconds(
        TrialSpec(
            kind="feed",
            workload=template.workload,
            settings=Settings(batch_size=BATCH_SIZE, device=machine.device, **changed),  # type: ignore[arg-type]
            feed=Feed(supply="loader"),
        )
    )
