"""Studies over a real Ray cluster of three machines, one of which is killed in the middle."""

import json
import os
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest

from app.rounds.killing import ROUND
from ray_nodes import Nodes, ray_nodes, wait_for
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord
from traindyno.store.ledger import Ledger, QueuedTrial

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed"),
    pytest.mark.timeout(300),
]
MACHINES = ("one", "two", "three")
TRIALS_OF_AN_ARM = 15


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    with ray_nodes(*MACHINES) as started:
        yield started


def start(nodes: Nodes, folder: Path, *words: str) -> "subprocess.Popen[str]":
    """The command over the cluster, with the store in `folder`."""
    return subprocess.Popen(
        [sys.executable, "-m", "traindyno", *words, "--executor", "ray", "--address", nodes.address, "--no-report"],
        cwd=folder,
        env={**os.environ, **nodes.variables, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def queue_of(folder: Path, study: str) -> list[QueuedTrial]:
    if not (folder / "traindyno.db").exists():
        return []
    with Ledger.open(str(folder / "traindyno.db"), create=False) as ledger:
        names = {row.name: row.id for row in ledger.studies()}
        return ledger.queue(names[study]) if study in names else []


def records_of(folder: Path, study: str) -> list[TrialRecord]:
    with Ledger.open(str(folder / "traindyno.db"), create=False) as ledger:
        return ledger.trials(ledger.study(study).id)


def done(folder: Path, study: str) -> int:
    return sum(trial.outcome is Outcome.OK for trial in queue_of(folder, study))


def machines_of(folder: Path, study: str) -> list[str | None]:
    """Where the runs that succeeded were made."""
    if not queue_of(folder, study):
        return []
    return [record.conditions.machine for record in records_of(folder, study) if record.ok]


def results_in(folder: Path) -> int:
    """How often any trial of the store has succeeded."""
    with closing(sqlite3.connect(folder / "traindyno.db")) as store:
        return int(store.execute("select count(*) from attempts where outcome = 'ok'").fetchone()[0])


def test_a_measured_study_goes_on_elsewhere_when_its_machine_is_lost(nodes: Nodes, tmp_path: Path) -> None:
    sizes = ["--batch-size", "8,16", "--repeats", "2", "--trial-seconds", "2s"]
    running = start(nodes, tmp_path, "throughput", "--model", "mlp:64", *sizes, "--device", "cpu", "--name", "it")
    wait_for("a trial", lambda: running.poll() is not None or done(tmp_path, "it") >= 1, seconds=200)
    first = records_of(tmp_path, "it")[0].conditions.machine
    assert first is not None
    nodes.lose(first)
    output, errors = running.communicate(timeout=200)
    assert running.returncode == 0, errors
    assert f"the machine {first} of the Ray cluster was lost in the middle of a trial; trying once more" in errors
    records = records_of(tmp_path, "it")
    assert [record.outcome for record in records] == [Outcome.OK] * 4
    assert max(Counter(record.spec.key for record in records).values()) == 1
    assert {record.conditions.machine for record in records} > {first}
    assert "examples/s" in output


def test_a_round_is_spread_over_the_machines_and_outlives_the_loss_of_one(nodes: Nodes, tmp_path: Path) -> None:
    (tmp_path / "killed.toml").write_text(ROUND.format(name="killed", trials=TRIALS_OF_AN_ARM))
    running = start(nodes, tmp_path, "round", "run", "killed.toml", "--runner", "simulated:sleep=0.8", "--json")
    wait_for("runs on all machines", lambda: set(machines_of(tmp_path, "killed")) == set(MACHINES))
    nodes.lose("two")
    output, errors = running.communicate(timeout=200)
    assert running.returncode == 0, errors
    document = json.loads(output)
    records = records_of(tmp_path, "killed")
    assert [record.outcome for record in records] == [Outcome.OK] * len(document["trials"])
    assert max(Counter(record.spec.key for record in records).values()) == 1
    drawn = [record.spec.draw for record in records if record.spec.draw is not None]
    assert Counter(draw.arm for draw in drawn if draw.phase == "search") == {
        "mlp:64": TRIALS_OF_AN_ARM,
        "mlp:64x64": TRIALS_OF_AN_ARM,
    }
    assert results_in(tmp_path) == len(records), "no run came to its end twice"
    assert set(machines_of(tmp_path, "killed")) == set(MACHINES)


def test_a_study_that_has_lost_its_last_machine_is_resumed_when_one_is_back(tmp_path: Path) -> None:
    with ray_nodes("one") as nodes:
        sizes = ["--batch-size", "8,16,32", "--repeats", "2", "--runner", "simulated:sleep=1"]
        running = start(nodes, tmp_path, "throughput", "--model", "mlp:64", *sizes, "--name", "it")
        wait_for("a trial", lambda: done(tmp_path, "it") >= 2)
        nodes.lose("one")
        _, errors = running.communicate(timeout=200)
        assert running.returncode == 1
        assert "the Ray cluster has no machine for trials now" in errors
        assert "hint: when there is one, go on with `traindyno resume it`" in errors
        kept = done(tmp_path, "it")
        nodes.add("two")
        resumed = subprocess.run(
            [sys.executable, "-m", "traindyno", "resume", "it", "--no-report"],
            cwd=tmp_path,
            env={**os.environ, **nodes.variables},
            capture_output=True,
            text=True,
            timeout=200,
        )
    assert resumed.returncode == 0, resumed.stderr
    machines = machines_of(tmp_path, "it")
    assert Counter(machines)["one"] == kept
    assert set(machines) == {"one", "two"}
    assert results_in(tmp_path) == len(machines)
