"""A trace is spoken of only if this study wrote it."""

import os
from pathlib import Path

import pytest

from traindyno.app.anatomy import anatomy
from traindyno.app.context import Context
from traindyno.app.resume import resume
from traindyno.core.answers import AnatomyAnswer
from traindyno.core.records import Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.requests import AnatomyRequest, Bench
from traindyno.runner.profile import Profile
from traindyno.runner.protocol import Watcher
from traindyno.runner.simulated import SimulatedRunner


class TracingRunner(SimulatedRunner):
    """Passes for a real runner, and writes traces if it is told to."""

    simulated = False

    def __init__(self, writes: bool) -> None:
        super().__init__(Profile())
        self._writes = writes

    def run(self, spec: TrialSpec, watcher: Watcher, log_path: Path | None) -> TrialRecord:
        if spec.trace_path is not None and self._writes:
            Path(spec.trace_path).write_text("{}")
        return super().run(spec, watcher, log_path)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A trace that an earlier study left where the new one is to go."""
    path = tmp_path / "trace.json"
    path.write_text("{}")
    os.utime(path, (1e9, 1e9))
    return path


def taken_apart(monkeypatch: pytest.MonkeyPatch, trace: Path, writes: bool) -> AnatomyAnswer:
    runner = TracingRunner(writes)
    monkeypatch.setattr("traindyno.app.workshop.open_runner", lambda name, deadlines: runner)
    asked = AnatomyRequest(
        workload=WorkloadSpec(model="torchvision:resnet50"),
        bench=Bench(device="cpu"),
        settings=Settings(batch_size=8),
        repeats=1,
        trace=str(trace),
    )
    answer: AnatomyAnswer = anatomy(asked, Context(store=str(trace.with_name("studies.db")), name="it")).answer
    return answer


def test_a_trace_from_before_is_not_taken_for_the_one_that_could_not_be_written(
    monkeypatch: pytest.MonkeyPatch, trace: Path
) -> None:
    assert taken_apart(monkeypatch, trace, writes=False).trace is None


def test_a_trace_that_was_written_is_named_also_when_the_study_is_resumed_elsewhere(
    monkeypatch: pytest.MonkeyPatch, trace: Path
) -> None:
    monkeypatch.chdir(trace.parent)
    assert taken_apart(monkeypatch, Path(trace.name), writes=True).trace == trace.name
    (trace.parent / "elsewhere").mkdir()
    monkeypatch.chdir(trace.parent / "elsewhere")
    again = resume("it", Context(store=str(trace.with_name("studies.db"))))
    assert again.answer.trace == trace.name
