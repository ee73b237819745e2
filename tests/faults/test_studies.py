"""A study with bad batch sizes still finishes, and shows the bad ones beside the good ones."""

from pathlib import Path

import pytest

from cli.command_line import document, run
from faults.hanging import hanging_job

JOB = Path(__file__).with_name("crashing_job.py")
ON_CPU = ("--device", "cpu", "--memory-limit", "8GiB", "--no-report")
"""Else the limit is half of what others leave free at that moment."""

pytestmark = pytest.mark.usefixtures("lent_keeper")


def test_a_study_finishes_with_every_failure_beside_the_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = hanging_job(JOB, tmp_path, monkeypatch)
    completed = run(
        tmp_path,
        *("throughput", "--model", f"{job}:fragile", *ON_CPU, "--batch-size", "2,4,8,16,32,64,128"),
        *("--repeats", "1", "--trial-seconds", "150ms", "--json"),
    )
    content = document(completed)
    assert completed.returncode == 0, completed.stderr
    assert [point["batch_size"] for point in content["answer"]["curve"]] == [2, 32, 64]
    failed = {trial["settings"]["batch_size"]: trial for trial in content["trials"] if trial["outcome"] != "ok"}
    outcomes = {size: trial["outcome"] for size, trial in failed.items()}
    assert outcomes == {4: "crash", 8: "crash", 16: "nonfinite", 128: "hang"}
    assert all(trial["failure"]["remedy"] for trial in failed.values())
    assert all(any(f"Batch {size}" in warning for warning in content["warnings"]) for size in failed)


def test_a_process_that_ended_without_a_word_is_not_told_to_have_a_log(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(
        "import os\n"
        "def silent():\n    os._exit(3)\n"
        "def talking():\n    print('here I end', flush=True)\n    os._exit(3)\n"
    )
    options = (*ON_CPU, "--batch-size", "4", "--repeats", "1")
    silent = run(tmp_path, "throughput", "--model", "job.py:silent", *options).stderr
    assert "exited with code 3" in silent
    assert "the log" not in silent
    assert "in a script of its own, and look for os._exit" in silent
    talking = run(tmp_path, "throughput", "--model", "job.py:talking", *options).stderr
    assert "read the end of the log" in talking
    (log,) = tmp_path.rglob("*.log")
    assert str(log.relative_to(tmp_path)) in talking


def test_real_trials_answer_end_to_end_on_the_cpu(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(
        "import torch\nfrom torch import nn\nfrom traindyno import Workload\n"
        "def workload():\n"
        "    return Workload(model=nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)),\n"
        "                    example_input=torch.randn(64))\n"
    )
    common = ("--model", "job.py:workload", *ON_CPU, "--json")
    largest = document(run(tmp_path, "max-batch", *common, "--limit", "32"))["answer"]
    assert (largest["max_batch"], largest["safe_batch"], largest["limited_by"]) == (32, 32, "limit")
    assert largest["no_retry_batch"] is None
    sizes = ("--batch-size", "8,64", "--repeats", "2", "--trial-seconds", "100ms", "--name", "c")
    curve = document(run(tmp_path, "throughput", *common, *sizes))["answer"]["curve"]
    assert [point["batch_size"] for point in curve] == [8, 64]
    assert all(point["processes"] == 2 and point["examples_per_second"] > 0 for point in curve)
    plan = ("plan", "--from", "c", "--examples", "640", "--epochs", "2", "--validate", "--validate-for", "300ms")
    assert run(tmp_path, *plan, "--no-report").returncode == 2
    completed = run(tmp_path, *plan, "--model", "job.py:workload", "--no-report", "--json")
    validation = document(completed)["answer"]["validation"]
    assert validation["measured_seconds"] > 0
