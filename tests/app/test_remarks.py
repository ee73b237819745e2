"""What runs remark on is told once, among the answer's sentences, by every command that trains."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import traindyno
from traindyno.app.library import study_document
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.runner.profile import Profile
from traindyno.runner.protocol import Watcher
from traindyno.runner.simulated import SimulatedRunner

REMARK = "20 of 100 examples are held out to evaluate on."
COMMANDS: dict[str, Callable[..., Any]] = {
    "train": lambda **common: traindyno.train("mlp:64", batch_size=32, **common),
    "accuracy": lambda **common: traindyno.accuracy("mlp:64", batch_size="32,64", seeds=2, **common),
    "target": lambda **common: traindyno.target("mlp:64", value=0.5, batch_size="32,64", seeds=2, **common),
    "noise-scale": lambda **common: traindyno.noise_scale("mlp:64", seeds=2, curve_sizes="32,64", **common),
}


class Remarking(SimulatedRunner):
    def run(self, spec: TrialSpec, watcher: Watcher, log_path: Path | None) -> TrialRecord:
        record = super().run(spec, watcher, log_path)
        assert record.measurement is not None
        runs = {"learning": record.measurement.learning, "noise": record.measurement.noise}
        remarked = {
            name: msgspec.structs.replace(run, remarks=(REMARK,)) for name, run in runs.items() if run is not None
        }
        return msgspec.structs.replace(record, measurement=msgspec.structs.replace(record.measurement, **remarked))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_remark_of_the_runs_is_a_sentence_of_the_answer_and_no_warning(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("traindyno.app.workshop.open_runner", lambda name, deadlines: Remarking(Profile()))
    store = str(tmp_path / "studies.db")
    answer = COMMANDS[command](data="digits:", learning_rate=0.1, epochs=2.0, store=store, name="it")
    assert answer.verdicts.count(REMARK) == 1
    assert answer.verdicts[-1] == REMARK
    assert not any("held out" in warning for warning in study_document("it", store).warnings)
