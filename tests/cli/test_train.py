"""`traindyno train` from the outside: simulated, on real digits, killed, and in several processes."""

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import document, environment, run, start
from traindyno.cli.main import main
from traindyno.machine.descent import children_of

SIMULATED = ("--runner", "simulated", "--no-report")
ON_CPU = ("--device", "cpu", "--no-report")


def test_without_a_model_the_digits_are_learnt(tmp_path: Path) -> None:
    completed = run(tmp_path, "train", *SIMULATED)
    assert completed.returncode == 0, completed.stderr
    assert "no --model given: showing mlp:64 on digits:" in completed.stderr
    assert "Accuracy: " in completed.stdout
    assert "SIMULATED" in completed.stdout
    assert "traindyno accuracy --batch-size 32,128" in completed.stderr


def test_a_run_answers_in_the_documented_form(tmp_path: Path) -> None:
    completed = run(tmp_path, "train", *SIMULATED, "--epochs", "3", "--json", "-q")
    assert completed.returncode == 0, completed.stderr
    printed = document(completed)
    answer = printed["answer"]
    assert printed["command"] == "train"
    assert len(answer["evaluations"]) == 3
    assert answer["accuracy"] == answer["evaluations"][-1]["accuracy"]
    assert answer["accuracy_ci95"][0] < answer["accuracy"] < answer["accuracy_ci95"][1]
    assert printed["trials"][0]["recipe"]["learning_rate"] == 0.05


def test_a_run_that_diverges_is_still_a_result(tmp_path: Path) -> None:
    completed = run(tmp_path, "train", *SIMULATED, "--lr", "50", "--json", "-q")
    assert completed.returncode == 0, completed.stderr
    answer = document(completed)["answer"]
    assert answer["diverged"] is True
    assert answer["loss"] is None


def test_show_report_and_exports_tell_the_same_run(tmp_path: Path) -> None:
    exports = ("--export-csv", "run.csv", "--export-html", "run.html", "--export-markdown", "run.md")
    first = run(tmp_path, "train", *SIMULATED, "--name", "it", "--epochs", "5", *exports)
    assert first.returncode == 0, first.stderr
    assert run(tmp_path, "show", "it").stdout == first.stdout
    assert len(list(csv.DictReader((tmp_path / "run.csv").open()))) == 5
    assert "Training mlp:64 on digits:" in (tmp_path / "run.html").read_text()
    assert "Accuracy" in (tmp_path / "run.md").read_text()


def in_process(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command that starts nothing, without a process of its own."""
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit) as ending:
        main(arguments)
    printed = capsys.readouterr()
    return int(ending.value.code or 0), printed.out, printed.err


def test_a_dry_run_tells_the_recipe_and_makes_no_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("train", "--dry-run", "--device", "cpu", "--steps", "500", "--checkpoints", "kept")
    code, told, _ = in_process(tmp_path, monkeypatch, capsys, *arguments)
    assert code == 0
    assert "500 steps of batch size 32, sgd, learning rate 0.05, cosine schedule" in told
    assert "1 trial, as long as it takes" in told
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_of_a_job_does_not_claim_to_know_its_optimiser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "job.py").write_text("def workload(): ...")
    arguments = ("train", "--dry-run", "--device", "cpu", "--model", "job.py:workload", "--lr", "0.1")
    code, told, _ = in_process(tmp_path, monkeypatch, capsys, *arguments)
    assert code == 0
    assert "of batch size 64, sgd unless it brings its own, learning rate 0.1" in told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--lr", "0"), "a learning rate of 0 teaches nothing"),
        (("--lr", "nan"), "a learning rate of nan teaches nothing"),
        (("--epochs", "0"), "0 epochs are no training"),
        (("--epochs", "2", "--steps", "100"), "a run has one length"),
        (("--model", "mlp:64", "--data", "digits:"), "no learning rate is given"),
        (("--model", "torchvision:resnet18", "--lr", "0.1"), "there is nothing to learn from synthetic:"),
        (("--data", "cifar10:/data"), "no --model is named for cifar10:/data"),
        (("--weights", "nowhere.pt"), "there is no file"),
        (("--optimizer", "adam", "--momentum", "0.5"), "--momentum only matters with --optimizer sgd"),
        (("--step-at", "0.5"), "--step-at only matters with --schedule step"),
        (("--schedule", "step", "--step-at", "half"), "'half' is not a list of shares"),
        (("--checkpoints", "/dev/null/here"), "--checkpoints names /dev/null/here, which is no folder"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_way_out(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    words: str,
) -> None:
    code, _, told = in_process(tmp_path, monkeypatch, capsys, "train", *SIMULATED, *arguments)
    assert code == 2
    assert words in told
    assert "hint: " in told
    assert not (tmp_path / "traindyno.db").exists()


def test_the_project_file_may_hold_a_length_that_the_command_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "traindyno.toml").write_text("[train]\nsteps = 7\nmomentum = 0.5\n")
    dry = (tmp_path, monkeypatch, capsys, "train", "--dry-run", "--device", "cpu")
    assert "7 steps of batch size 32" in in_process(*dry)[1]
    assert "3 epochs of batch size 32, adam" in in_process(*dry, "--epochs", "3", "--optimizer", "adam")[1]


def test_real_digits_are_learnt_and_the_weights_kept(tmp_path: Path) -> None:
    completed = run(tmp_path, "train", *ON_CPU, "--epochs", "10", "--name", "it", "--json", "-q")
    assert completed.returncode == 0, completed.stderr
    answer = document(completed)["answer"]
    assert answer["accuracy"] > 0.9
    assert Path(tmp_path / answer["checkpoint"]).name == "last.pt"
    kept = {path.name for path in (tmp_path / ".traindyno" / "checkpoints" / "it").iterdir()}
    assert {"last.pt", "best.pt"} <= kept


@pytest.mark.slow
def test_the_best_weights_can_be_begun_with(tmp_path: Path) -> None:
    first = document(run(tmp_path, "train", *ON_CPU, "--epochs", "10", "--name", "it", "--json", "-q"))["answer"]
    best = str(tmp_path / ".traindyno" / "checkpoints" / "it" / "best.pt")
    again = run(tmp_path, "train", *ON_CPU, "--weights", best, "--steps", "1", "--lr", "1e-9", "--json", "-q")
    assert document(again)["answer"]["accuracy"] == pytest.approx(first["best_accuracy"])


LONG = ("train", *ON_CPU, "--epochs", "400", "--set", "determinism=all", "--name", "it")


def training(process: subprocess.Popen[str]) -> subprocess.Popen[str]:
    """The command, once its trial trains."""
    assert process.stderr is not None
    next(line for line in process.stderr if "    training" in line)
    return process


def evaluations(completed: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    """What was learnt, but for the time that it took."""
    told = document(completed)["answer"]["evaluations"]
    return [{name: value for name, value in each.items() if name != "seconds"} for each in told]


@pytest.mark.slow
def test_a_run_stopped_and_then_killed_learns_what_a_whole_one_does(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    wanted = run(whole, *LONG, "--json", "-q")
    stopped = training(start(tmp_path, *LONG, "-v"))
    stopped.send_signal(signal.SIGINT)
    printed, _ = stopped.communicate(timeout=120)
    assert stopped.returncode == 130
    assert "Stopped after" in printed
    killed = training(start(tmp_path, "resume", "it", "--no-report", "-v"))
    killed.kill()
    killed.communicate(timeout=120)
    resumed = run(tmp_path, "resume", "it", "--no-report", "--json", "-q")
    assert resumed.returncode == 0, resumed.stderr
    assert len(document(resumed)["answer"]["resumed_from"]) == 1
    assert evaluations(resumed) == evaluations(wanted)


def torchrun(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "-m", "traindyno", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        start_new_session=True,
    )


@pytest.mark.slow
def test_two_processes_learn_together_what_one_does_alone(tmp_path: Path) -> None:
    alone = document(run(tmp_path, "train", *ON_CPU, "--epochs", "5", "--json", "-q"))["answer"]
    process = torchrun(tmp_path, "train", *ON_CPU, "--epochs", "5", "--name", "two", "--json", "-q")
    printed, complaints = process.communicate(timeout=180)
    assert process.returncode == 0, complaints
    together = json.loads(printed)["answer"]
    assert together["processes"] == 2
    assert together["accuracy"] == pytest.approx(alone["accuracy"], abs=0.01)
    assert together["loss"] == pytest.approx(alone["loss"], rel=0.01)
    assert len(document(run(tmp_path, "studies", "--json"))["answer"]["studies"]) == 2


@pytest.mark.slow
def test_when_one_of_two_processes_is_killed_the_other_ends_and_the_run_can_go_on(tmp_path: Path) -> None:
    process = torchrun(tmp_path, *LONG, "-v")
    training(process)
    first, second = sorted(children_of(process.pid))
    os.kill(second, signal.SIGKILL)
    process.communicate(timeout=120)
    assert process.returncode != 0
    assert not children_of(first)
    resumed = run(tmp_path, "resume", "it", "--no-report", "--json", "-q")
    assert resumed.returncode == 0, resumed.stderr
    assert document(resumed)["answer"]["accuracy"] > 0.9
