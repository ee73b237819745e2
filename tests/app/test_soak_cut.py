"""A soak that is cut short: what is kept of it, and what to type next."""

import shlex
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from analysis.soak_runs import record, request
from app.stopping import Stop
from traindyno.app.context import Context
from traindyno.app.library import study_document
from traindyno.app.resume import resume
from traindyno.app.soak import soak
from traindyno.core.answers import Document
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.requests import Bench, SoakRequest
from traindyno.report.charts.soak import run_of
from traindyno.runner.protocol import Watcher


class CutRunner:
    """Goes on until it is stopped; each run then tells of as many seconds as the test says, or of nothing."""

    simulated = True

    def __init__(self, lengths: Sequence[float | None]) -> None:
        self._lengths = iter(lengths)

    def run(self, spec: TrialSpec, watcher: Watcher, log_path: Path | None) -> TrialRecord:
        while not watcher.should_stop():
            time.sleep(0.02)
        length = next(self._lengths)
        told = None if length is None else record(seconds=length).measurement
        failure = Failure(outcome=Outcome.INTERRUPTED, message="ended early on request", remedy="")
        return TrialRecord(spec=spec, outcome=Outcome.INTERRUPTED, seconds=1.0, failure=failure, measurement=told)

    def close(self) -> None:
        """Nothing was started."""


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "my studies; old.db")


def cut(monkeypatch: pytest.MonkeyPatch, *lengths: float | None, budget_seconds: float | None = 0.5) -> SoakRequest:
    """A request for five minutes, which the runner does not give."""
    runner = CutRunner(lengths)
    monkeypatch.setattr("traindyno.app.workshop.open_runner", lambda name, deadlines: runner)
    bench = Bench(runner="simulated:", device="cuda:1", time_budget_seconds=budget_seconds)
    return msgspec.structs.replace(request(), bench=bench)


def typed(document: Document) -> list[str]:
    return shlex.split(document.hint or "")


def after(words: list[str], option: str) -> str:
    return words[words.index(option) + 1]


def test_a_run_cut_by_its_budget_hints_the_command_with_one_that_is_long_enough(
    monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    words = typed(soak(cut(monkeypatch, 200.0), Context(store=store)))
    assert words[:2] == ["traindyno", "soak"]
    assert float(after(words, "--time-budget").removesuffix("s")) > 300
    assert (after(words, "--minutes"), after(words, "--device"), after(words, "--store")) == ("5", "cuda:1", store)


def test_a_run_stopped_by_hand_is_resumed_only_if_its_budget_lets_it_end(
    monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    enough, short = cut(monkeypatch, 200.0, 200.0, budget_seconds=1000.0), request().run_seconds - 1
    assert typed(soak(enough, Context(store=store, should_stop=Stop())))[1] == "resume"
    bench = msgspec.structs.replace(enough.bench, time_budget_seconds=short)
    never = msgspec.structs.replace(enough, bench=bench)
    assert typed(soak(never, Context(store=store, should_stop=Stop())))[1] == "soak"


def test_the_command_to_resume_can_be_typed_whatever_the_paths_are(monkeypatch: pytest.MonkeyPatch, store: str) -> None:
    own = WorkloadSpec(model="/my jobs; old/job.py:workload", source_sha256="0")
    asked = msgspec.structs.replace(cut(monkeypatch, 200.0, budget_seconds=None), workload=own)
    words = typed(soak(asked, Context(store=store, name="it", should_stop=Stop())))
    assert words == ["traindyno", "resume", "it", "--model", own.model, "--store", store]


@pytest.mark.parametrize("again", [150.0, None])
def test_a_resumed_run_that_is_cut_even_earlier_does_not_replace_the_longer_one(
    monkeypatch: pytest.MonkeyPatch, store: str, again: float | None
) -> None:
    soak(cut(monkeypatch, 200.0, again, 250.0), Context(store=store, name="it"))
    shorter = resume("it", Context(store=store))
    assert shorter.answer.run_seconds == pytest.approx(200, abs=2)
    for document in (shorter, study_document("it", store)):
        run = run_of(document)
        assert run is not None
        assert run.seconds == shorter.answer.run_seconds
    assert resume("it", Context(store=store)).answer.run_seconds == pytest.approx(250, abs=2)


def test_waiting_for_batches_is_looked_into_on_the_same_device(store: str) -> None:
    asked = SoakRequest(
        workload=WorkloadSpec(model="torchvision:resnet50", data="folder:/x"),
        bench=Bench(runner="simulated:pause_seconds=20,examples=20000,decode_seconds=0", device="cuda:1"),
        settings=Settings(batch_size=64, num_workers=4),
        run_seconds=300.0,
        from_loader=True,
    )
    words = typed(soak(asked, Context(store=store)))
    assert words[:2] == ["traindyno", "stalls"]
    assert (after(words, "--device"), after(words, "--store")) == ("cuda:1", store)
