"""A GPU machine of which the main figures were measured: how long its steps, its loader and its trials take.

ResNet-50 at a batch of 256 on an H200 with 16 CPUs, from JPEG files. Trials take as long as they did there, so that it
can be seen what a search does with its time: a step that is compiled for the first time takes most of a minute.
"""

from collections.abc import Mapping, Sequence

import msgspec

from search.simulated_find import WORKLOAD, Tamper, plan_of
from traindyno.analysis.flow_pace import flow_seconds
from traindyno.core.loading import Loading
from traindyno.core.records import Settings, TrialRecord, TrialSpec
from traindyno.core.setups import step_settings
from traindyno.runner.profile import parse_profile
from traindyno.runner.protocol import Watcher
from traindyno.runner.simulated import SimulatedRunner
from traindyno.runner.simulated_loading import making_seconds
from traindyno.search.find.goal import Goal
from traindyno.search.find.prices import HARDLY_WAITS
from traindyno.worker.kinds.probe import LEAST_BATCHES, LEAST_IN_TIME

Step = tuple[str, str, str]
"""Precision, memory format and compile mode."""

STEP_MILLISECONDS: dict[Step, float] = {
    ("fp32", "contiguous", "none"): 116.5,
    ("fp32", "channels_last", "none"): 82.0,
    ("bf16", "contiguous", "none"): 105.0,
    ("bf16", "channels_last", "none"): 54.8,
    ("fp32", "contiguous", "default"): 68.9,
    ("fp32", "channels_last", "default"): 68.5,
    ("bf16", "contiguous", "default"): 40.0,
    ("bf16", "channels_last", "default"): 38.4,
    ("fp32", "contiguous", "reduce-overhead"): 67.4,
    ("fp32", "channels_last", "reduce-overhead"): 67.4,
    ("bf16", "contiguous", "reduce-overhead"): 39.5,
    ("bf16", "channels_last", "reduce-overhead"): 37.8,
}

SLOW_STEPS = {
    ("fp32", "none"): 680.0,
    ("bf16", "none"): 118.0,
    ("fp32", "default"): 634.0,
    ("fp32", "reduce-overhead"): 634.0,
    ("bf16", "default"): 79.0,
    ("bf16", "reduce-overhead"): 77.5,
}
"""ViT-B/16 on the same machine, whatever the memory format: twice the times of results/switches_vit_b_16_128_h200.md.

What is slow at first is most of the time that a search reckons with.
"""

DECODED_ON_GPU_MILLISECONDS = 17.0
BESIDE_DECODING_MILLISECONDS = 1.0
"""A batch is decoded beside the step, which takes so much longer for it."""
LOADER = "decode_seconds=0.0026,augment_seconds=0.0008,fetch_seconds=0.0001,collate_seconds=0.00003"
QUICK_LOADER = "decode_seconds=0.0020,augment_seconds=0.0004,fetch_seconds=0.00002,collate_seconds=0.00007"
"""Another such machine: there a process makes a batch of prepared examples in just the time of the fastest step."""
STARTING_SECONDS, ARM_SECONDS = 1.5, 0.8
COMPILING_SECONDS, COMPILED_SECONDS = 55.0, 9.0
BESIDE_MEASURING_SECONDS = {"losses": 2.0, "pair": 1.0}
ANATOMY_SECONDS, ANATOMY_STEPS = 4.0, 17
"""Beside its fed steps; it queues, counts and profiles steps too."""
RESIDENT_SECONDS, RESIDENT_STEPS = 2.0, 11
"""A step by itself is timed for so long, and until there are enough of them."""
PAIRED_STEPS = 8
"""Of each arm."""
CPU_TIME_STEPS = 3
PROBED_TIMES = 1.1
"""What is made is read once before."""
EXAMPLES = 16384


class ImaginedGpu(SimulatedRunner):
    """Remembers what was compiled: it is on disk the next time.

    Workers that feed a step take `slower` times as long as the probe of one process says.
    """

    decoded_on_gpu_milliseconds = DECODED_ON_GPU_MILLISECONDS

    def __init__(self, cpus: int, examples: int = EXAMPLES, loader: str = LOADER, slower: float = 1.0) -> None:
        profile = f"cpus={cpus},{loader},noise=0.004,examples={examples},transfer_seconds=0.00001"
        super().__init__(parse_profile(profile))
        self.step_milliseconds: Mapping[Step, float] = STEP_MILLISECONDS
        self._slower = slower
        self._compiled: set[Settings] = set()
        self._prepared = False

    def run(self, spec: TrialSpec, watcher: Watcher, log_path: None = None) -> TrialRecord:
        record, compiling = self._timed(spec, watcher, log_path), self._compiling_seconds(spec)
        told = record.measurement
        if told is not None:
            loading = self._told_of_decoding(spec, told.loading)
            told = msgspec.structs.replace(told, first_step_seconds=max(compiling), loading=loading)
        seconds = self._takes(spec, compiling)
        if spec.kind in ("feed", "anatomy") and told is not None:
            seconds += self._fed_seconds(spec, told.step_seconds)
        return msgspec.structs.replace(record, measurement=told, seconds=seconds)

    def _timed(self, spec: TrialSpec, watcher: Watcher, log_path: None) -> TrialRecord:
        plain = self._profile
        if spec.kind == "feed":
            stages = ("fetch_seconds", "decode_seconds", "augment_seconds", "collate_seconds")
            longer = {name: self._slower * getattr(plain, name) for name in stages}
            self._profile = msgspec.structs.replace(plain, **longer)
        record = super().run(spec, watcher, log_path)
        self._profile = plain
        return record

    def _step_seconds(self, spec: TrialSpec) -> float:
        plain, settings = self._plain_step_seconds(spec.settings), spec.settings
        if settings.decoder != "nvjpeg" or spec.kind != "feed":
            return plain
        beside = plain + _seconds_of_batch(BESIDE_DECODING_MILLISECONDS, settings)
        return max(beside, _seconds_of_batch(self.decoded_on_gpu_milliseconds, settings))

    def _plain_step_seconds(self, settings: Settings) -> float:
        """With nothing to decode."""
        whole = self.step_milliseconds[settings.precision, settings.memory_format, settings.compile]
        return _seconds_of_batch(whole, settings)

    def _told_of_decoding(self, spec: TrialSpec, told: Loading | None) -> Loading | None:
        """Of a GPU that decodes a probe says what that takes, and a run what the step takes without it."""
        if told is None or spec.settings.decoder != "nvjpeg":
            return told
        if spec.kind == "probe":
            seconds = _seconds_of_batch(self.decoded_on_gpu_milliseconds, spec.settings)
            return msgspec.structs.replace(told, transfer_seconds=seconds)
        step = self._plain_step_seconds(spec.settings)
        return msgspec.structs.replace(told, resident_step_seconds=step, resident_ci95=(0.99 * step, 1.01 * step))

    def _takes(self, spec: TrialSpec, compiling: list[float]) -> float:
        if spec.kind == "probe":
            return self._probing(spec) + self._preparing(spec)
        starting = STARTING_SECONDS + sum(ARM_SECONDS + seconds for seconds in compiling)
        if spec.kind in ("feed", "anatomy"):
            return starting
        if spec.kind == "losses":
            measuring = (spec.budget.steps or 0) * self._step_seconds(spec)
        elif spec.kind == "pair":
            arms = [each for each in (spec.settings, spec.against) if each is not None]
            steps = PAIRED_STEPS * sum(map(self._plain_step_seconds, arms))
            measuring = max(spec.budget.seconds or 0.0, steps)
        else:
            measuring = spec.budget.seconds or 0.0
        return starting + measuring + BESIDE_MEASURING_SECONDS.get(spec.kind, 0.8)

    def _preparing(self, spec: TrialSpec) -> float:
        is_prepared, self._prepared = self._prepared, self._prepared or spec.workload.data.startswith("prepared:")
        source = msgspec.structs.replace(spec, workload=WORKLOAD)
        making = making_seconds(self._profile, source) / spec.settings.batch_size
        return self._profile.examples * making / self._profile.cpus if self._prepared and not is_prepared else 0.0

    def _probing(self, spec: TrialSpec) -> float:
        """Two batches of three are timed by the wall's clock; with the model, its step too."""
        making, limit = making_seconds(self._profile, spec), spec.budget.seconds or 0.0
        batches = max(3 * LEAST_IN_TIME // 2, min(3 * LEAST_BATCHES // 2, limit / making))
        with_model = self._alone_seconds(spec) + making if spec.feed.supply == "resident" else 0.0
        return STARTING_SECONDS + ARM_SECONDS + with_model + PROBED_TIMES * (1 + batches) * making

    def _alone_seconds(self, spec: TrialSpec) -> float:
        """The step, and then a few more of them for what they take of the CPU."""
        step = self._plain_step_seconds(spec.settings)
        return max(RESIDENT_SECONDS, RESIDENT_STEPS * step) + CPU_TIME_STEPS * step

    def _fed_seconds(self, spec: TrialSpec, period: float) -> float:
        """The step by itself, the first batches and those that workers had ready; then enough of the others."""
        making = making_seconds(self._profile, spec)
        beside = self._beside_fed_seconds(spec)
        waits = period > HARDLY_WAITS * self._plain_step_seconds(spec.settings)
        return beside + 2 * making + flow_seconds(spec.settings, period, spec.budget.seconds or 0.0, waits=waits)

    def _beside_fed_seconds(self, spec: TrialSpec) -> float:
        """What else is looked at in such a trial."""
        if spec.kind == "anatomy":
            return ANATOMY_SECONDS + ANATOMY_STEPS * self._plain_step_seconds(spec.settings)
        return max(RESIDENT_SECONDS, RESIDENT_STEPS * self._plain_step_seconds(spec.settings))

    def _compiling_seconds(self, spec: TrialSpec) -> list[float]:
        """For each arm; a loader by itself has no model to compile."""
        arms = [spec.settings] if spec.against is None else [spec.settings, spec.against]
        without_model = spec.kind == "load" or (spec.kind == "probe" and spec.feed.supply == "loader")
        return [0.0 if without_model else self._compiling(arm) for arm in arms]

    def _compiling(self, settings: Settings) -> float:
        if settings.compile == "none":
            return 0.0
        code = step_settings(settings)
        known = code in self._compiled
        self._compiled.add(code)
        return COMPILED_SECONDS if known else COMPILING_SECONDS


def _seconds_of_batch(milliseconds: float, settings: Settings) -> float:
    """What takes so long for a batch of 256."""
    return milliseconds * settings.batch_size / 256 / 1000


def searched(
    goal: Goal,
    tamper: Tamper = lambda record: record,
    examples: int = EXAMPLES,
    history: Sequence[TrialRecord] = (),
    loader: str = LOADER,
    slower: float = 1.0,
    decoded_on_gpu_milliseconds: float = DECODED_ON_GPU_MILLISECONDS,
) -> list[TrialRecord]:
    """Every trial of a search on such a machine, after those of its `history`."""
    runner = ImaginedGpu(int(goal.usable_cpus), examples, loader, slower)
    runner.decoded_on_gpu_milliseconds = decoded_on_gpu_milliseconds
    plan, records = plan_of(goal), list(history)
    while (proposal := plan.ask(records)) is not None:
        records.append(tamper(runner.run(proposal.spec, Watcher())))
        assert len(records) < 100, "the search does not end"
    return records
