"""A search that is cut before it has a baseline: where its trial was, and what to type next."""

import time
from pathlib import Path

import pytest

import traindyno
from traindyno.core.errors import BudgetSpentError
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure, TrialRecord, TrialSpec
from traindyno.runner.protocol import Watcher


class Hangs:
    """Trials that are still in this phase when they are asked to stop."""

    simulated = False

    def __init__(self, phase: str | None) -> None:
        self._phase = phase

    def run(self, spec: TrialSpec, watcher: Watcher, log_path: Path | None) -> TrialRecord:
        while not watcher.should_stop():
            time.sleep(0.01)
        failure = Failure(outcome=Outcome.INTERRUPTED, message="ended", remedy="go on", phase=self._phase)
        return TrialRecord(spec=spec, outcome=Outcome.INTERRUPTED, seconds=1.0, failure=failure)

    def close(self) -> None:
        """Nothing was started."""


def cut_in(phase: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, toml: str | None) -> BudgetSpentError:
    monkeypatch.setattr("traindyno.app.workshop.open_runner", lambda name, deadlines: Hangs(phase))
    store, file = str(tmp_path / "studies.db"), None if toml is None else tmp_path / toml
    with pytest.raises(BudgetSpentError) as spent:
        traindyno.find("mlp:16", "digits:", device="cpu", store=store, time_budget_seconds=0.05, settings_file=file)
    return spent.value


@pytest.mark.parametrize(
    ("phase", "where"),
    [
        ("data", ": the trial was still waiting for its data"),
        ("first step", ": the trial was still in its first step"),
        ("steps", ""),
        (None, ""),
    ],
)
def test_where_a_hanging_trial_was_is_told(
    phase: str | None, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = cut_in(phase, tmp_path, monkeypatch, None)
    assert error.message == f"the time budget ended before any baseline was measured{where}"


def test_the_command_that_goes_on_writes_the_file_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = cut_in("data", tmp_path, monkeypatch, "best.toml")
    assert error.hint is not None
    assert error.hint.startswith("traindyno resume find-")
    assert " --time-budget 1m " in error.hint
    assert error.hint.endswith(f" --export-toml {tmp_path / 'best.toml'}")
