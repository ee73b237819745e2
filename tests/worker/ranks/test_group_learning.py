"""A recipe on two devices: what one process with torchrun by hand would learn, and ends that say what happened."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import torch
from msgspec.structs import replace

from keepers import Keepers
from traindyno.core.events import TrialProgress
from traindyno.core.learning import LEARNING, Learning, Recipe
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines, Watcher

SPEC = TrialSpec(
    kind="learn",
    workload=WorkloadSpec(model="mlp:64", data="digits:"),
    settings=Settings(batch_size=64, devices=2, threads=1),
    recipe=Recipe(learning_rate=0.05, epochs=2, schedule="constant"),
)
LONG = replace(SPEC, recipe=Recipe(learning_rate=0.05, epochs=100_000, schedule="constant"))
BY_HAND = (
    *(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--rdzv-backend", "c10d"),
    *("--rdzv-endpoint", "127.0.0.1:0", "-m", "traindyno", "train", "--model", "mlp:64", "--data", "digits:"),
    *("--batch-size", "64", "--set", "threads=1", "--lr", "0.05", "--epochs", "2", "--schedule", "constant"),
    *("--device", "cpu", "--no-report", "--checkpoints"),
)


class Learner(Watcher):
    """Knows when the run has begun to learn, and what was told of it."""

    def __init__(self) -> None:
        self.told: list[TrialProgress] = []

    @property
    def learns(self) -> bool:
        return any(each.phase == LEARNING and each.steps > 0 for each in self.told)

    def progress(self, progress: TrialProgress) -> None:
        self.told.append(progress)


class Killer(Learner):
    """Kills the second rank once it learns."""

    has_killed = False

    def tick(self, now: float, pid: int | None) -> None:
        if pid is None or not self.learns or self.has_killed:
            return
        (second,) = (each for each in psutil.Process(pid).children(recursive=True) if each.environ().get("RANK") == "1")
        os.kill(second.pid, signal.SIGKILL)
        self.has_killed = True


class Impatient(Learner):
    """Wants a run to end as soon as it has learnt a little."""

    def should_stop(self) -> bool:
        return self.learns


@pytest.fixture(scope="module")
def runner(keepers: Keepers) -> Iterator[LocalRunner]:
    runner = keepers.runner(Deadlines())
    yield runner
    runner.close()


def learning_of(record: TrialRecord) -> Learning:
    assert record.measurement is not None, record.failure
    assert record.measurement.learning is not None
    return record.measurement.learning


def weights_in(folder: Path) -> dict[str, torch.Tensor]:
    weights: dict[str, torch.Tensor] = torch.load(folder / "last.pt", weights_only=True)["model"]
    return weights


@pytest.mark.slow
def test_a_rank_that_is_killed_is_named_and_ends_the_run(runner: LocalRunner, tmp_path: Path):
    record = runner.run(replace(LONG, checkpoints=str(tmp_path)), Killer(), None)
    assert record.outcome is Outcome.KILLED
    assert record.failure is not None
    assert "rank 1 of 2" in record.failure.message
    assert "SIGKILL" in record.failure.message
    assert record.failure.details["rank"] == "1"
    assert "survivors" not in record.failure.details


@pytest.mark.slow
def test_two_devices_learn_just_what_torchrun_by_hand_does(runner: LocalRunner, tmp_path: Path):
    watcher = Learner()
    record = runner.run(replace(SPEC, checkpoints=str(tmp_path / "group")), watcher, None)
    assert record.outcome is Outcome.OK, record.failure
    learning = learning_of(record)
    assert (learning.processes, learning.steps, len(learning.evaluations)) == (2, learning.planned_steps, 2)
    assert any(each.planned_steps == learning.planned_steps for each in watcher.told)
    subprocess.run([*BY_HAND, str(tmp_path / "hand")], cwd=tmp_path, check=True, capture_output=True, timeout=240)
    by_hand, of_group = weights_in(tmp_path / "hand"), weights_in(tmp_path / "group")
    assert by_hand.keys() == of_group.keys()
    assert all(torch.equal(by_hand[name], value) for name, value in of_group.items())


@pytest.mark.slow
def test_a_run_in_two_pieces_has_the_weights_of_a_whole_one(runner: LocalRunner, tmp_path: Path):
    """The first piece is ended somewhere on its way, wherever that is."""
    spec = replace(SPEC, recipe=Recipe(learning_rate=0.05, epochs=150, schedule="constant", evaluation_examples=40_000))
    assert runner.run(replace(spec, checkpoints=str(tmp_path / "whole")), Learner(), None).ok
    piece = runner.run(replace(spec, checkpoints=str(tmp_path / "pieces")), Impatient(), None)
    assert piece.outcome is Outcome.INTERRUPTED
    assert 0 < learning_of(piece).steps < learning_of(piece).planned_steps
    rest = runner.run(replace(spec, checkpoints=str(tmp_path / "pieces")), Learner(), None)
    assert learning_of(rest).resumed_from == (learning_of(piece).steps,)
    whole, pieces = weights_in(tmp_path / "whole"), weights_in(tmp_path / "pieces")
    assert all(torch.equal(whole[name], value) for name, value in pieces.items())
