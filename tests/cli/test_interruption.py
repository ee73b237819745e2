"""Studies that are cut short: by Ctrl-C, by their budget, by kill -9; nothing finished is lost or repeated."""

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from cli.command_line import document, paused, run, start
from cli.pausing import interrupted_after

SIMULATED = ("--runner", "simulated", "--no-report", "--name", "it")
SLOW = ("--runner", "simulated:sleep=0.15", "--no-report", "--name", "it")
FEW = ("--batch-size", "8,16,32,64", "--repeats", "3")


def wait_for_trials(process: subprocess.Popen[str], count: int) -> None:
    assert process.stderr is not None
    seen = 0
    for line in process.stderr:
        seen += line.startswith("[")
        if seen >= count:
            return
    raise AssertionError("the study ended too early")


def finished_trials(folder: Path) -> list[tuple[int, int]]:
    """Batch size and repeat of every finished trial, in order."""
    trials = json.loads(run(folder, "show", "it", "--json").stdout)["trials"]
    return [(trial["settings"]["batch_size"], trial["repeat"]) for trial in trials]


def test_ctrl_c_keeps_everything_prints_the_answer_so_far_and_exits_with_130(tmp_path: Path) -> None:
    process = paused(tmp_path, 4, "throughput", *FEW, *SIMULATED)
    os.killpg(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Recommended: batch" in stdout
    assert "traindyno resume it" in stderr
    before = finished_trials(tmp_path)
    assert len(before) == 4
    resumed = run(tmp_path, "resume", "it", "--no-report")
    assert resumed.returncode == 0, resumed.stderr
    after = finished_trials(tmp_path)
    assert after[: len(before)] == before
    assert len(set(after)) == len(after)
    assert resumed.stderr.count("\n[") == len(after) - len(before)


def test_a_study_that_was_cut_ends_like_one_that_was_not(tmp_path: Path) -> None:
    process = paused(tmp_path, 3, "throughput", *FEW, *SIMULATED)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=120)
    run(tmp_path, "resume", "it", "--no-report")
    whole = tmp_path / "whole"
    whole.mkdir()
    run(whole, "throughput", *FEW, "--runner", "simulated", "--no-report", "--name", "it")
    assert finished_trials(tmp_path) == finished_trials(whole)


def test_kill_9_at_any_moment_loses_no_finished_trial(tmp_path: Path) -> None:
    chance = random.Random(1)
    process = start(tmp_path, "throughput", *SLOW)
    wait_for_trials(process, 1)
    done: list[tuple[int, int]] = []
    for _ in range(3):
        time.sleep(chance.uniform(0.1, 1.0))
        process.kill()
        process.communicate()
        done_before, done = done, ledger_trials(tmp_path)
        assert done[: len(done_before)] == done_before
        process = start(tmp_path, "resume", "it", "--no-report")
    process.communicate(timeout=120)
    assert process.returncode == 0
    final = ledger_trials(tmp_path)
    assert final[: len(done)] == done
    assert len(set(final)) == len(final)


def ledger_trials(folder: Path) -> list[tuple[int, int]]:
    """Straight from the ledger: a study without an answer has no document yet."""
    from traindyno.store.ledger import Ledger

    with Ledger.open(str(folder / "traindyno.db")) as ledger:
        return [(record.batch_size, record.spec.repeat) for record in ledger.trials(ledger.study("it").id)]


def test_a_budget_that_ends_early_gives_the_answer_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted_after(2, monkeypatch.setattr)
    completed = run(tmp_path, "throughput", *SIMULATED, "--time-budget", "3s", "--json")
    content = document(completed)
    assert completed.returncode == 0
    assert content["state"] == "interrupted"
    assert content["answer"]["curve"]
    assert any("budget" in warning for warning in content["warnings"])


def test_a_budget_that_ends_before_any_result_exits_with_124(tmp_path: Path) -> None:
    completed = run(tmp_path, "throughput", *SLOW, "--time-budget", "100ms")
    assert completed.returncode == 124
    assert "budget" in completed.stderr


def test_a_study_that_is_running_cannot_be_resumed_beside_itself(tmp_path: Path) -> None:
    process = paused(tmp_path, 1, "throughput", *SIMULATED)
    completed = run(tmp_path, "resume", "it", "--no-report")
    assert completed.returncode != 0
    assert "error:" in completed.stderr
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=120)


def test_code_from_a_file_must_be_named_again_and_be_the_same(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text("from torch import nn\ndef build():\n    return nn.Linear(4, 2)\n")
    command = ("throughput", "--model", "job.py:build", *SIMULATED)
    process = paused(tmp_path, 2, *command)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=120)
    assert "traindyno resume it --model job.py:build" in stderr
    assert "hint: traindyno resume it --model job.py:build\n" in run(tmp_path, "show", "it").stderr
    assert "`traindyno resume it --model job.py:build`" in run(tmp_path, *command).stderr
    unnamed = run(tmp_path, "resume", "it", "--no-report")
    assert unnamed.returncode == 2
    assert "--model job.py:build" in unnamed.stderr
    job.write_text(job.read_text() + "# changed\n")
    changed = run(tmp_path, "resume", "it", "--no-report", "--model", "job.py:build")
    assert changed.returncode == 2
    assert "changed" in changed.stderr


def state(folder: Path) -> str:
    (study,) = document(run(folder, "studies", "--json"))["answer"]["studies"]
    return str(study["state"])


def test_ctrl_c_before_any_result_exits_with_130_and_leaves_a_study_to_resume(tmp_path: Path) -> None:
    process = start(tmp_path, "throughput", "--runner", "simulated:sleep=20", "--no-report", "--name", "it", "--json")
    assert process.stderr is not None
    next(line for line in process.stderr if "study it" in line)
    os.killpg(process.pid, signal.SIGINT)
    stdout, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert json.loads(stdout)["error"]["hint"] == "traindyno resume it"
    assert state(tmp_path) == "interrupted"


def test_a_budget_that_ends_before_any_result_leaves_a_study_to_resume(tmp_path: Path) -> None:
    assert run(tmp_path, "max-batch", *SLOW, "--time-budget", "100ms").returncode == 124
    assert state(tmp_path) == "interrupted"


def test_what_is_shown_later_is_what_was_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted_after(2, monkeypatch.setattr)
    printed = document(run(tmp_path, "throughput", *SIMULATED, "--time-budget", "3s", "--json"))
    shown = document(run(tmp_path, "show", "it", "--json"))
    assert shown == printed
    assert shown["hint"] == "traindyno resume it"


def test_a_project_file_cannot_name_the_code_again(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text("from torch import nn\ndef build():\n    return nn.Linear(4, 2)\n")
    process = paused(tmp_path, 2, "throughput", "--model", "job.py:build", *FEW, *SIMULATED)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=120)
    (tmp_path / "traindyno.toml").write_text('model = "job.py:build"\n')
    assert run(tmp_path, "resume", "it", "--no-report").returncode == 2
    assert run(tmp_path, "resume", "it", "--no-report", "--model", "job.py:build").returncode == 0
