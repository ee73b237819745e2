"""`traindyno find` on the real runner, killed at random points and resumed: one answer, nothing repeated or lost."""

import os
import random
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from cli.command_line import document, run, start
from traindyno.core.records import TrialRecord
from traindyno.store.ledger import Ledger
from worker.data.tiny_sets import write_folder

KILLS = 5
MODEL = "job.py:model"
JOB = """
from torch import nn


def model():
    return nn.Sequential(
        nn.Conv2d(3, 4, kernel_size=3, stride=4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)
    )
"""
FIND = (
    *("find", "--model", MODEL, "--data", "folder:images", "--image-size", "16", "--batch-size", "8"),
    *("--device", "cpu", "--time-budget", "80s", "--trial-seconds", "300ms", "--no-report", "--name", "it"),
)
RESUME = ("resume", "it", "--model", MODEL, "--no-report")


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_find_killed_five_times_ends_with_one_answer_and_repeats_and_loses_no_trial(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(JOB)
    write_folder(tmp_path / "images", [f"class{number % 2}/{number}.jpg" for number in range(96)])
    chance = random.Random(5)
    process = start(tmp_path, *FIND)
    committed: dict[str, TrialRecord] = {}
    for _ in range(KILLS):
        kill(process, after_trials=chance.randint(0, 2), then_seconds=chance.uniform(0.0, 1.0))
        nobody_is_left(tmp_path)
        now = trials(tmp_path)
        assert now.items() >= committed.items()
        committed = now
        process = start(tmp_path, *RESUME)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 0, told
    content = document(run(tmp_path, "show", "it", "--json"))
    assert content["answer"]["trials"] == len(content["trials"])
    assert trials(tmp_path).items() >= committed.items()
    assert len(document(run(tmp_path, "studies", "--json"))["answer"]["studies"]) == 1
    nobody_is_left(tmp_path)


def kill(process: "subprocess.Popen[str]", after_trials: int, then_seconds: float) -> None:
    """Let so many trials of this process be told, then some time pass, then end it without a warning."""
    assert process.stderr is not None
    seen, told = 0, ""
    for line in process.stderr:
        seen, told = seen + line.startswith("["), told + line
        if seen >= after_trials and (seen or "study it" in line):
            break
    else:
        raise AssertionError(f"the search ended before it could be killed: {told}")
    time.sleep(then_seconds)
    process.kill()
    process.communicate()


def trials(folder: Path) -> dict[str, TrialRecord]:
    """What the ledger holds, by key: none is there twice."""
    with Ledger.open(str(folder / "traindyno.db")) as ledger:
        records = ledger.trials(ledger.study("it").id)
    found = {record.spec.key: record for record in records}
    assert len(found) == len(records)
    return found


def nobody_is_left(folder: Path) -> None:
    """Keeper, trials and loader workers all work in the study's folder, and end soon after their study was killed."""
    deadline = time.monotonic() + 120
    while (left := working_in(folder)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left == []


def working_in(folder: Path) -> list[str]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and Path(process.cwd()) == folder:
                found.append(f"{process.pid} {' '.join(process.cmdline())}")
        except psutil.Error:
            continue  # it ended meanwhile, or is somebody else's
    return found
