"""Trials that are not timed, several at once: how many, by whom, and what becomes of those that do not end well."""

import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

import traindyno
from traindyno.app import study, together
from traindyno.app.attempt import Attempt
from traindyno.app.context import Context
from traindyno.app.resume import resume
from traindyno.app.switches import switches as use_case
from traindyno.app.together import beneath, lanes_for
from traindyno.app.workshop import Workshop
from traindyno.core.answers import SwitchesAnswer
from traindyno.core.events import Event, TrialFinished, TrialStarted
from traindyno.core.machine import MachineFacts
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure, Measurement, Memory, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.requests import Bench, SwitchesRequest
from traindyno.runner.choose import open_runner
from traindyno.runner.local import LocalRunner
from traindyno.runner.profile import parse_profile
from traindyno.runner.protocol import Deadlines, Watcher
from traindyno.runner.simulated import SimulatedRunner
from traindyno.search.switches.checking import Checking
from traindyno.store.ledger import Ledger

GIB = 1 << 30
OPTIONS: dict[str, Any] = {"batch_size": 256, "only": ["precision", "memory_format"], "runner": "simulated"}
Run = Callable[[SimulatedRunner, TrialSpec, Watcher, Path | None], TrialRecord]


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "studies.db")


def switches(store: str, name: str | None = None, **options: Any) -> SwitchesAnswer:
    return traindyno.switches("torchvision:resnet50", store=store, name=name, **{**OPTIONS, **options})


@pytest.fixture
def three_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A simulated machine with room for three, which the product itself never shares."""
    monkeypatch.setattr(study, "lanes_for", lambda workshop, records: 3)
    monkeypatch.setattr(together, "_runners", lambda workshop, lanes, stack: [beneath(workshop.runner)] * lanes)
    monkeypatch.setattr(SimulatedRunner, "get_ready", lambda self, watcher: True, raising=False)


def kinds(store: str, name: str) -> list[tuple[str, str]]:
    with Ledger.open(store) as ledger:
        records = ledger.trials(ledger.study(name).id)
    return [(record.spec.kind, record.spec.key) for record in records]


def patch_run(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setattr(SimulatedRunner, "run", run)


def test_losses_run_at_once_and_the_answer_is_the_same(
    store: str, monkeypatch: pytest.MonkeyPatch, three_lanes: None
) -> None:
    most = 0
    running: dict[str, int] = {"pair": 0, "losses": 0}
    original, lock = SimulatedRunner.run, threading.Lock()
    meeting, have_met = threading.Barrier(3), threading.Event()

    def run(self: SimulatedRunner, spec: TrialSpec, watcher: Watcher, log: Path | None) -> TrialRecord:
        nonlocal most
        with lock:
            running[spec.kind] += 1
            most = max(most, running["losses"])
            assert running["pair"] == 0 or running == {"pair": 1, "losses": 0}, "what is timed runs alone"
        if spec.kind == "losses" and not have_met.is_set():
            meeting.wait(120)
            have_met.set()
        record = original(self, spec, watcher, log)
        with lock:
            running[spec.kind] -= 1
        return record

    patch_run(monkeypatch, run)
    events: list[Event] = []
    shared = switches(store, "shared", on_event=events.append)
    assert most == 3
    monkeypatch.setattr(study, "lanes_for", lambda workshop, records: 1)
    alone = switches(store, "alone")
    assert shared.recommended == alone.recommended
    assert shared.speedup == alone.speedup
    assert [effect.loss_difference for effect in shared.effects] == [effect.loss_difference for effect in alone.effects]
    assert sorted(kinds(store, "shared")) == sorted(kinds(store, "alone"))
    told = [event.ordinal for event in events if isinstance(event, TrialFinished)]
    assert told == list(range(1, len(told) + 1))
    assert all(event.expected_trials >= event.ordinal for event in events if isinstance(event, TrialStarted))


def test_what_fails_beside_others_is_run_again_by_itself(
    store: str, monkeypatch: pytest.MonkeyPatch, three_lanes: None
) -> None:
    original, failed = SimulatedRunner.run, []
    why = Failure(outcome=Outcome.OUT_OF_DEVICE_MEMORY, message="no room", remedy="")

    def run(self: SimulatedRunner, spec: TrialSpec, watcher: Watcher, log: Path | None) -> TrialRecord:
        beside = threading.current_thread() is not threading.main_thread()
        if beside and spec.settings.precision == "bf16" and spec.kind == "losses":
            failed.append(spec.key)
            return TrialRecord(spec=spec, outcome=why.outcome, seconds=0.1, failure=why)
        return original(self, spec, watcher, log)

    patch_run(monkeypatch, run)
    answer = switches(store, "shared")
    assert len(failed) == len(set(failed)) > 0
    assert answer.recommended["precision"] == "bf16"
    assert {key for _, key in kinds(store, "shared")} >= set(failed)


def test_a_study_stopped_while_several_run_loses_none_that_ended_and_repeats_none(
    store: str, monkeypatch: pytest.MonkeyPatch, three_lanes: None
) -> None:
    whole = switches(store, "whole")
    original, reached = SimulatedRunner.run, threading.Event()

    def run(self: SimulatedRunner, spec: TrialSpec, watcher: Watcher, log: Path | None) -> TrialRecord:
        if spec.kind == "losses" and spec.seed == 1:
            reached.set()
            while not watcher.should_stop():
                time.sleep(0.01)
            return TrialRecord(spec=spec, outcome=Outcome.INTERRUPTED, seconds=0.1)
        return original(self, spec, watcher, log)

    patch_run(monkeypatch, run)
    request = SwitchesRequest(
        workload=WorkloadSpec(model="torchvision:resnet50"),
        bench=Bench(runner="simulated"),
        settings=Settings(batch_size=256),
        only=("precision", "memory_format"),
    )
    use_case(request, Context(store=store, name="cut", should_stop=reached.is_set))
    kept = kinds(store, "cut")
    assert {kind for kind, _ in kept} == {"pair", "losses"}
    assert len(kept) < len(kinds(store, "whole"))
    patch_run(monkeypatch, original)
    events: list[Event] = []
    answer = resume("cut", Context(store=store, emit=events.append)).answer
    run_again = {event.record.spec.key for event in events if isinstance(event, TrialFinished)}
    assert not run_again & {key for _, key in kept}
    assert answer.recommended == whole.recommended
    assert sorted(kinds(store, "cut")) == sorted(kinds(store, "whole"))


def test_an_error_of_a_lane_ends_the_study_and_gives_back_what_was_held(
    store: str, monkeypatch: pytest.MonkeyPatch, three_lanes: None
) -> None:
    original = SimulatedRunner.run

    def run(self: SimulatedRunner, spec: TrialSpec, watcher: Watcher, log: Path | None) -> TrialRecord:
        if spec.kind == "losses":
            raise traindyno.TraindynoError("the trial server could not start", "look")
        return original(self, spec, watcher, log)

    patch_run(monkeypatch, run)
    with pytest.raises(traindyno.TraindynoError, match="could not start"):
        switches(store, "cut")
    patch_run(monkeypatch, original)
    assert resume("cut", Context(store=store)).answer.recommended == switches(store, "whole").recommended


class CannotStart(SimulatedRunner):
    def get_ready(self, watcher: Watcher) -> bool:
        raise traindyno.TraindynoError("the trial server could not start", "look")

    def run(self, spec: TrialSpec, watcher: Watcher, log_path: Path | None) -> TrialRecord:
        raise AssertionError("it never started")


def test_a_lane_that_cannot_start_leaves_its_share_to_the_others(
    store: str, monkeypatch: pytest.MonkeyPatch, three_lanes: None
) -> None:
    whole = switches(store, "whole")
    broken, original = CannotStart(parse_profile("")), SimulatedRunner.run

    def run(self: SimulatedRunner, spec: TrialSpec, watcher: Watcher, log: Path | None) -> TrialRecord:
        time.sleep(0.05)  # so that the others have failed long before all is done
        return original(self, spec, watcher, log)

    patch_run(monkeypatch, run)
    monkeypatch.setattr(together, "_runners", lambda workshop, lanes, stack: [beneath(workshop.runner), broken, broken])
    assert switches(store, "shared").recommended == whole.recommended
    assert sorted(kinds(store, "shared")) == sorted(kinds(store, "whole"))


def test_a_trial_that_was_killed_alone_at_the_end_is_tried_again_when_the_study_is_resumed(
    store: str, monkeypatch: pytest.MonkeyPatch, three_lanes: None
) -> None:
    """Although others were asked for after it."""
    original = SimulatedRunner.run
    why = Failure(outcome=Outcome.KILLED, message="killed", remedy="")

    def run(self: SimulatedRunner, spec: TrialSpec, watcher: Watcher, log: Path | None) -> TrialRecord:
        if spec.kind == "losses" and spec.settings.memory_format == "channels_last":
            time.sleep(0.4)  # thrice alone: the ledger knows ends by the second
            return TrialRecord(spec=spec, outcome=why.outcome, seconds=0.1, failure=why)
        return original(self, spec, watcher, log)

    patch_run(monkeypatch, run)
    options: dict[str, Any] = {"only": ["memory_format"], "precision": "bf16", "combine": False}
    assert switches(store, "cut", **options).recommended == {}
    patch_run(monkeypatch, original)
    events: list[Event] = []
    answer = resume("cut", Context(store=store, emit=events.append)).answer
    again = [event.record.spec for event in events if isinstance(event, TrialFinished)]
    assert (again[0].kind, again[0].settings.memory_format) == ("losses", "channels_last")
    assert answer.recommended == {"memory_format": "channels_last"}


def test_the_seconds_of_trials_that_ran_at_once_sum_up_to_the_time_that_passed(
    store: str, monkeypatch: pytest.MonkeyPatch, three_lanes: None
) -> None:
    original = SimulatedRunner.run

    def run(self: SimulatedRunner, spec: TrialSpec, watcher: Watcher, log: Path | None) -> TrialRecord:
        if spec.kind == "losses":
            time.sleep(0.1)
        return original(self, spec, watcher, log)

    patch_run(monkeypatch, run)
    start = time.monotonic()
    switches(store, "shared", combine=False)
    passed = time.monotonic() - start
    with Ledger.open(store) as ledger:
        records = ledger.trials(ledger.study("shared").id)
    losses = [record.seconds for record in records if record.spec.kind == "losses"]
    assert len(losses) > 4
    assert 0.1 * math.ceil(len(losses) / 3) <= sum(losses) < passed


def workshop_of(runner: Any, device: str, cpus: float | None = 16.0) -> Workshop:
    machine = MachineFacts(hostname="here", system="Linux", python="3.11", traindyno="0", cpus_usable=cpus)
    bench, nothing = Bench(device=device), cast(Any, None)
    return Workshop(ledger=nothing, runner=runner, reader=nothing, machine=machine, bench=bench, asked=bench)


def record_with(memory: Memory) -> TrialRecord:
    spec = TrialSpec(kind="speed", workload=WorkloadSpec(model="m"), settings=Settings(batch_size=8))
    measurement = Measurement(
        batch_size=8,
        steps=1,
        step_seconds=0.1,
        ci95=(0.1, 0.1),
        steady=True,
        blocks=(),
        memory=memory,
        start_up_seconds=0.0,
        first_step_seconds=0.0,
        warm_up_seconds=0.0,
        warm_up_steps=0,
    )
    return TrialRecord(spec=spec, outcome=Outcome.OK, seconds=1.0, measurement=measurement)


@pytest.mark.parametrize(
    ("device", "cpus", "peak_gib", "lanes"),
    [
        ("cuda:0", 16.0, 9, 4),
        ("cuda:0", 16.0, 40, 3),
        ("cuda:0", 16.0, 100, 1),
        ("cuda:0", 8.0, 9, 2),
        ("cuda:0", 4.0, 9, 1),
        ("cuda:0", None, 9, 1),
        ("cpu", 16.0, 9, 1),
    ],
)
def test_a_gpu_is_shared_as_far_as_its_memory_and_the_cpus_reach(
    device: str, cpus: float | None, peak_gib: int, lanes: int
) -> None:
    runner = LocalRunner("entry", Deadlines())
    memory = Memory(peak_bytes=1, peak_reserved_bytes=peak_gib * GIB, limit_bytes=138 * GIB)
    assert lanes_for(workshop_of(runner, device, cpus), [record_with(memory)]) == lanes


def test_what_is_not_known_to_fit_beside_others_runs_alone() -> None:
    runner = LocalRunner("entry", Deadlines())
    assert lanes_for(workshop_of(runner, "cuda:0"), []) == 1
    assert lanes_for(workshop_of(runner, "cuda:0"), [record_with(Memory(peak_bytes=GIB))]) == 1


def test_a_simulated_machine_is_not_shared() -> None:
    memory = Memory(peak_bytes=1, peak_reserved_bytes=GIB, limit_bytes=138 * GIB)
    runner = open_runner("simulated", Deadlines())
    assert lanes_for(workshop_of(runner, "cuda:0"), [record_with(memory)]) == 1


def test_the_losses_of_real_trials_are_the_same_beside_each_other(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"device": "cpu", "batch_size": 8, "only": "precision", "trial_seconds": 0.2}
    monkeypatch.setattr(Checking, "_reason_not", lambda self, findings, candidate: None)  # slower or not
    found = []
    for lanes in (2, 1):
        monkeypatch.setattr(study, "lanes_for", lambda workshop, records, lanes=lanes: lanes)
        traindyno.switches("mlp:16", store=store, name=f"by_{lanes}", repeats=1, combine=False, **options)
        with Ledger.open(store) as ledger:
            records = ledger.trials(ledger.study(f"by_{lanes}").id)
        losses = [record for record in records if record.spec.kind == "losses" and record.measurement is not None]
        told = {(each.spec.seed, each.spec.settings.precision): each.measurement for each in losses}
        found.append({key: each.losses for key, each in told.items() if each is not None})
    assert len(found[0]) >= 4
    assert found[0] == found[1]


def test_a_search_looks_at_its_losses_at_once_too(
    store: str, monkeypatch: pytest.MonkeyPatch, three_lanes: None
) -> None:
    original, shared = SimulatedRunner.run, []

    def run(self: SimulatedRunner, spec: TrialSpec, watcher: Watcher, log: Path | None) -> TrialRecord:
        if threading.current_thread() is not threading.main_thread():
            shared.append((spec.kind, spec.seed, spec.settings.precision))
        return original(self, spec, watcher, log)

    patch_run(monkeypatch, run)
    answer = traindyno.find("torchvision:resnet50", runner="simulated", store=store, batch_size=256)
    assert answer.recommended.settings["precision"] == "bf16"
    assert sorted(shared) == [("losses", 0, "bf16"), *(("losses", seed, "fp32") for seed in range(3))]


@pytest.mark.gpu
def test_on_a_gpu_losses_share_the_device_and_what_is_timed_does_not(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = []

    def spy(attempts: Sequence[Attempt], lanes: int, *rest: Any) -> Any:
        shared.append((lanes, {attempt.spec.kind for attempt in attempts}))
        return together.run_together(attempts, lanes, *rest)

    monkeypatch.setattr(study, "run_together", spy)
    answer = traindyno.switches(
        "torchvision:resnet18", store=store, name="real", batch_size=64, only="memory_format", trial_seconds=0.5
    )
    checked = [effect.loss_agrees for effect in answer.effects if effect.loss_agrees is not None]
    assert len(shared) == (1 if checked and (os.cpu_count() or 1) >= 8 else 0)
    for lanes, found in shared:
        assert lanes > 1
        assert found == {"losses"}
    with Ledger.open(store) as ledger:
        records = ledger.trials(ledger.study("real").id)
    assert all(record.ok for record in records)
