"""kill -9 at any moment of a `find`: resumed until it is done, it has the same trials and the same answer."""

import random
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import document, run, start

WORKLOAD = ("--model", "torchvision:resnet50", "--data", "folder:/data", "--batch-size", "256", "--workers", "4")
FIND = ("find", *WORKLOAD, "--prepare", "prepared", "--no-report", "--name", "it", "--runner")
OF_THIS_RUN = ("seconds",)


def killed(process: subprocess.Popen[str], chance: random.Random, longest_seconds: float) -> bool:
    """Kill it at its start, or some time into its trials; whether it was still alive."""
    if chance.random() < 0.8:
        assert process.stderr is not None
        next((line for line in process.stderr if "(study it" in line), None)
    time.sleep(chance.uniform(0, longest_seconds))
    alive = process.poll() is None
    process.kill()
    process.communicate()
    return alive


def next_life(folder: Path, sleep: float) -> subprocess.Popen[str]:
    """Resume the study; one that was killed before it was written down begins anew."""
    begun = run(folder, "studies", "--json")
    there = begun.returncode == 0 and document(begun)["answer"]["studies"]
    return start(folder, *(("resume", "it", "--no-report") if there else (*FIND, f"simulated:sleep={sleep}")))


def kill_loop(folder: Path, kills: int, sleep: float, most_trials: float) -> dict[str, Any]:
    """The document of a study that was killed so often, each time after at most so many trials, and then left alone."""
    chance = random.Random(kills)
    for _ in range(kills):
        assert killed(next_life(folder, sleep), chance, most_trials * sleep)
    last = next_life(folder, sleep)
    last.communicate(timeout=240)
    assert last.returncode == 0
    return document(run(folder, "show", "it", "--json"))


def whole_study(folder: Path) -> dict[str, Any]:
    folder.mkdir()
    return document(run(folder, *FIND, "simulated", "--json"))


def told(content: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    answer = {name: value for name, value in content["answer"].items() if name not in OF_THIS_RUN}
    trials = [{name: trial[name] for name in trial if name != "conditions"} for trial in content["trials"]]
    return answer, trials


def test_three_kills_change_nothing(tmp_path: Path) -> None:
    assert told(kill_loop(tmp_path, kills=3, sleep=0.2, most_trials=8)) == told(whole_study(tmp_path / "whole"))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_fifty_kills_change_nothing(tmp_path: Path) -> None:
    assert told(kill_loop(tmp_path, kills=50, sleep=1.0, most_trials=1.6)) == told(whole_study(tmp_path / "whole"))
