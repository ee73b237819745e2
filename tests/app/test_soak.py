"""`soak` from request to answer: on simulated machines, on replayed GPUs, and for real on this one."""

import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import traindyno
from analysis.soak_runs import BEGAN, record, request, told
from traindyno.analysis.soak import conclude_soak
from traindyno.app.context import Context
from traindyno.app.library import study_document
from traindyno.app.resume import resume
from traindyno.app.soak import check_soak, soak, with_time
from traindyno.core.answers import Document, SoakAnswer
from traindyno.core.codec import decode
from traindyno.core.errors import StoppedError, TraindynoError, UsageError
from traindyno.core.events import Event, TrialFinished, TrialProgress
from traindyno.core.machine import GpuSample
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.requests import Bench, SoakRequest
from traindyno.core.soaking import SOAKING
from traindyno.machine.readings import Readings
from traindyno.machine.replay import RecordedLine, ReplayReader

MODEL = "torchvision:resnet50"
JOB = """
import time
from torch import nn
from traindyno import Workload
import torch

class Slow(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, inputs):
        time.sleep(0.05)
        return self.layer(inputs)

def workload():
    return Workload(model=Slow(), example_input=torch.zeros(4), loss=lambda output, target: output.sum())
"""


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "studies.db")


def simulated(store: str, profile: str = "", minutes: float = 5.0, **options: Any) -> SoakAnswer:
    return traindyno.soak(MODEL, minutes=minutes, runner=f"simulated:{profile}", store=store, **options)


def test_a_simulated_drift_is_found_with_its_sign(store: str) -> None:
    slower, same = simulated(store, "drift_percent=-2"), simulated(store)
    assert slower.ci95 is not None
    assert slower.ci95[1] < -1.5
    assert same.ci95 is not None
    assert same.ci95[0] <= 0 <= same.ci95[1]
    assert slower.simulated


def test_heat_power_limit_pauses_and_neighbours_are_told_apart(store: str) -> None:
    hot = simulated(store, "hot_after_seconds=200")
    capped = simulated(store, "power_capped=1")
    paused = simulated(store, "pause_seconds=4,examples=80000,decode_seconds=0", data="folder:/x", num_workers=8)
    noisy = simulated(store, "neighbour_share=0.5")
    assert (hot.throttle.thermal, hot.throttle.power_cap) == (True, False)
    assert (capped.throttle.thermal, capped.throttle.power_cap) == (False, True)
    assert paused.epoch_pause_seconds == pytest.approx(4)
    assert paused.epochs > 3
    assert told(noisy.verdicts, "Noisy neighbour")
    assert not any(told(each.verdicts, "Noisy neighbour") for each in (hot, capped, paused))


def test_an_epoch_of_a_resident_batch_is_as_long_as_the_user_says(store: str) -> None:
    answer = simulated(store, epoch_examples=50_000, price_per_hour=4.0)
    assert answer.epochs == int(answer.run_seconds * answer.examples_per_second / 50_000)
    assert answer.cost_per_epoch == pytest.approx(4.0 * 50_000 / answer.examples_per_second / 3600)


H200 = Path(__file__).parents[1] / "machine" / "fixtures" / "one_h200.jsonl"
RESTED_SECONDS = 12
THROTTLED_FROM = 90


def under_load() -> list[GpuSample]:
    """What an H200 told second by second while it trained, without its rest before."""
    samples = [decode(line, RecordedLine).sample for line in H200.read_text().splitlines()]
    return [sample for sample in samples if sample is not None][RESTED_SECONDS:]


def replayed(samples: list[GpuSample], speed: Callable[[float], float]) -> SoakAnswer:
    """A run of made-up steps beside these samples, one a second."""
    readings = Readings(ReplayReader([RecordedLine(sample=sample) for sample in samples]), 0)
    for at in range(len(samples)):
        readings.tick(BEGAN + at, None)
    run = msgspec.structs.replace(record(seconds=len(samples), speed=speed), series=readings.series())
    return conclude_soak(request(run_seconds=float(len(samples))), run, seconds=float(len(samples)))


def test_an_h200_that_held_its_clocks_is_not_said_to_be_throttled() -> None:
    answer = replayed(under_load(), lambda at: 1.0)
    assert answer.throttle.known
    assert not answer.throttle.thermal
    assert not answer.throttle.power_cap
    assert answer.energy_joules_per_example is not None
    assert answer.ranges["temperature_celsius"] == (36, 55)


@pytest.mark.parametrize("reason", ["thermal software slowdown", "power cap"])
def test_throttling_injected_into_the_recording_of_an_h200_is_found_when_it_is_replayed(reason: str) -> None:
    """From the middle on its clocks fall, and the driver says why and counts for how long."""
    samples, slow = under_load(), 1500

    def throttled(sample: GpuSample, seconds: int) -> GpuSample:
        counters = dict(sample.throttle_counters or {})
        counters[reason] = counters.get(reason, 0) + seconds * 10**9
        return msgspec.structs.replace(
            sample, sm_clock_mhz=slow, clock_reasons=(reason,), throttle_counters=counters, temperature_celsius=88
        )

    injected = [throttled(each, at) for at, each in enumerate(samples[THROTTLED_FROM:], start=1)]
    answer = replayed(samples[:THROTTLED_FROM] + injected, lambda at: 1.0 if at < THROTTLED_FROM else 0.76)
    thermal = reason.startswith("thermal")
    assert (answer.throttle.thermal, answer.throttle.power_cap) == (thermal, not thermal)
    assert answer.throttle.shares[reason] == pytest.approx(len(injected) / len(samples), abs=0.03)
    assert told(answer.verdicts, "Throughput fell all at once, by 2", "the clocks fell from 1980 to 1500 MHz")


def own_job(tmp_path: Path) -> str:
    path = tmp_path / "job.py"
    path.write_text(JOB)
    return f"{path}:workload"


def real_request(tmp_path: Path, seconds: float, **bench: Any) -> SoakRequest:
    from traindyno.app.sources import hash_source

    model = own_job(tmp_path)
    return SoakRequest(
        workload=WorkloadSpec(model=model, source_sha256=hash_source(model)),
        bench=Bench(**bench),
        settings=Settings(batch_size=4),
        run_seconds=seconds,
    )


class Stop:
    """Asks to stop once the run has begun and lasted a moment."""

    def __init__(self) -> None:
        self._since: float | None = None

    def __call__(self) -> bool:
        return self._since is not None and time.monotonic() - self._since > 0.5

    def hear(self, event: Event) -> None:
        if isinstance(event, TrialProgress) and event.phase == SOAKING and self._since is None:
            self._since = time.monotonic()


def test_an_interrupted_run_answers_for_the_time_it_had_and_is_run_whole_when_resumed(
    tmp_path: Path, store: str
) -> None:
    stop, asked = Stop(), real_request(tmp_path, 2.5)
    document = soak(asked, Context(store=store, name="it", emit=stop.hear, should_stop=stop))
    assert document.interrupted
    assert 0.2 < document.answer.run_seconds < 2.5
    assert told(document.answer.verdicts, "The run ended after", "of 2.50 s")
    assert [trial["outcome"] for trial in document.trials] == ["interrupted"]
    assert study_document("it", store).trials[0]["measurement"]["soak"]["blocks"]
    events: list[Event] = []
    workload = asked.workload
    whole = resume("it", Context(store=store, emit=events.append), ((workload.model, workload.source_sha256),))
    assert whole.state == "done"
    assert whole.answer.run_seconds >= 2.5
    assert [trial["outcome"] for trial in whole.trials] == ["ok"]
    was_read_beside_told_live_and_kept(whole, events)
    assert study_document("it", store).trials == (json.loads(json.dumps(whole.trials[0])),)


def was_read_beside_told_live_and_kept(document: Document, events: list[Event]) -> None:
    answer: SoakAnswer = document.answer
    assert not answer.throttle.known
    assert answer.ranges["own_memory_bytes"][0] > 0
    live = [event for event in events if isinstance(event, TrialProgress) and event.phase == SOAKING]
    assert any(event.reading is not None for event in live)
    (trial,) = document.trials
    assert len(trial["series"]["readings"]) >= 2
    assert trial["series"]["cost"] < 0.2


def test_a_study_stopped_before_its_run_has_no_answer_and_can_be_resumed(store: str) -> None:
    asked = SoakRequest(
        workload=WorkloadSpec(model=MODEL),
        bench=Bench(runner="simulated:sleep=5"),
        settings=Settings(batch_size=8),
        run_seconds=200.0,
    )
    with pytest.raises(StoppedError, match="before any step was measured"):
        soak(asked, Context(store=store, name="it", should_stop=lambda: True))


def test_a_finished_run_is_not_repeated_when_its_study_is_resumed(store: str) -> None:
    simulated(store, name="it")
    events: list[Event] = []
    document = resume("it", Context(store=store, emit=events.append))
    assert document.answer.run_seconds == pytest.approx(300, abs=2)
    assert not [event for event in events if isinstance(event, TrialFinished)]


def test_a_run_longer_than_the_usual_limit_of_a_trial_gets_the_time_it_needs() -> None:
    asked = request(run_seconds=2 * 3600.0)
    assert (with_time(asked).trial_timeout_seconds or 0) > 2 * 3600
    assert with_time(asked).asked.trial_timeout_seconds is None
    assert with_time(request(run_seconds=60.0)).trial_timeout_seconds is None


def test_what_cannot_be_run_is_refused_before_anything_is() -> None:
    short = msgspec.structs.replace(request(), bench=Bench(trial_timeout_seconds=10.0))
    with pytest.raises(UsageError, match="--trial-timeout"):
        check_soak(short)
    with pytest.raises(UsageError, match="nothing to load"):
        check_soak(request(from_loader=True))
    for seconds in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(UsageError, match="some time"):
            check_soak(request(run_seconds=seconds))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"minutes": float("nan")}, "minutes of nan cannot be meant"),
        ({"batch_size": 0}, "at least one example"),
        ({"batch_size": 8, "accumulation_steps": 3}, "3 equal parts"),
        ({"mode": "infer", "optimizer_kernel": "fused"}, "optimizer_kernel only matters in training"),
        ({"threads": 1}, "threads only matters on a CPU"),
    ],
)
def test_settings_without_sense_are_refused_at_once_and_also_in_a_simulation(
    store: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        simulated(store, **options)


def test_workers_without_a_loader_are_warned_of(store: str) -> None:
    asked = SoakRequest(
        workload=WorkloadSpec(model=MODEL),
        bench=Bench(runner="simulated"),
        settings=Settings(batch_size=8, num_workers=4),
        run_seconds=200.0,
    )
    warnings = soak(asked, Context(store=store)).warnings
    assert "--workers: 4 workers change nothing here, for no loader feeds the steps." in warnings
    one = msgspec.structs.replace(asked, settings=Settings(batch_size=8))
    assert not any("--workers" in warning for warning in soak(one, Context(store=store)).warnings)


def test_a_run_that_fails_says_why(store: str) -> None:
    with pytest.raises(TraindynoError, match="the run failed: simulated failure"):
        simulated(store, "fail=64:crash")


@pytest.mark.gpu
def test_a_real_gpu_is_read_while_it_trains(store: str) -> None:
    answer = traindyno.soak("torchvision:resnet18", minutes=0.1, batch_size=64, device="cuda:0", store=store)
    assert answer.throttle.known
    assert answer.energy_joules_per_example is not None
    assert answer.energy_joules_per_example > 0
    assert {"temperature_celsius", "sm_clock_mhz", "power_watts", "utilization_percent"} <= set(answer.ranges)
    assert answer.sampling_cost is not None
    assert answer.sampling_cost < 0.05
