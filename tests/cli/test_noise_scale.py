"""`traindyno noise-scale` from the outside, on a simulated machine and on real digits."""

from pathlib import Path

import pytest

from cli.command_line import document, run

SIMULATED = ("--runner", "simulated:noise_scale=64", "--no-report")


def test_the_answer_has_the_documented_form(tmp_path: Path) -> None:
    completed = run(tmp_path, "noise-scale", *SIMULATED, "--json")
    assert completed.returncode == 0, completed.stderr
    printed = document(completed)
    answer = printed["answer"]
    assert printed["command"] == "noise-scale"
    assert answer["noise_scale"] == pytest.approx(64, rel=0.2)
    assert answer["ci95"][0] < answer["noise_scale"] < answer["ci95"][1]
    assert answer["batch_range"][0] <= answer["best_batch"] <= answer["batch_range"][1]
    assert answer["alpha_seconds"] > 0
    assert answer["beta_seconds"] > 0
    assert len(answer["windows"]) == 4
    assert answer["simulated"] is True
    kinds = [trial["kind"] for trial in printed["trials"]]
    assert kinds.count("noise") == 3
    assert kinds.count("speed") >= 10


def test_the_console_tells_scale_best_batch_and_the_next_command(tmp_path: Path) -> None:
    completed = run(tmp_path, "noise-scale", *SIMULATED, "--batch-size", "8")
    assert "Noise scale: 6" in completed.stdout
    assert "Best batch: 32" in completed.stdout
    assert "Batch 8, which was asked about, takes" in completed.stdout
    assert "traindyno accuracy --data digits: --model mlp:64" in completed.stderr


def test_show_and_resume_give_the_same_answer_again(tmp_path: Path) -> None:
    first = run(tmp_path, "noise-scale", *SIMULATED, "--name", "it")
    assert run(tmp_path, "show", "it").stdout == first.stdout
    again = run(tmp_path, "resume", "it", "--no-report")
    assert again.returncode == 0, again.stderr


def test_a_dry_run_says_what_would_be_read_and_timed(tmp_path: Path) -> None:
    asked = ("--seeds", "2", "--readings", "30", "--curve-sizes", "16..64", "--device", "cpu")
    completed = run(tmp_path, "noise-scale", "--dry-run", *asked)
    assert completed.returncode == 0, completed.stderr
    assert "2 runs of 5 epochs at batch 32, rate 0.05" in completed.stdout
    assert "30 readings in each, of 16 micro-batches" in completed.stdout
    assert "batch sizes: 16, 32, 64, each in 3 fresh processes" in completed.stdout
    assert "about 11 trials" in completed.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--micro-batches", "1"), "nothing to differ from"),
        (("--seeds", "0"), "nothing would be read"),
        (("--curve-sizes", "16,32", "--largest", "64"), "--largest is for sizes that are not named"),
        (("--curve-sizes", "16,33", "--set", "accumulation_steps=2"), "multiples of 2"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    refused = run(tmp_path, "noise-scale", *SIMULATED, *options)
    assert refused.returncode == 2
    assert words in refused.stderr


def test_a_budget_that_ends_early_still_tells_the_noise(tmp_path: Path) -> None:
    completed = run(tmp_path, "noise-scale", "--runner", "simulated:sleep=0.3", "--no-report", "--time-budget", "1.5s")
    assert "Noise scale:" in completed.stdout
    assert "traindyno resume" in completed.stderr


@pytest.mark.slow
def test_real_digits_have_a_noise_scale_of_tens(tmp_path: Path) -> None:
    asked = ("--curve-sizes", "16,64", "--repeats", "1", "--trial-seconds", "0.3s", "--seeds", "2", "--epochs", "3")
    completed = run(tmp_path, "noise-scale", *asked, "--device", "cpu", "--no-report", "--json")
    assert completed.returncode == 0, completed.stderr
    answer = document(completed)["answer"]
    assert 15 < answer["noise_scale"] < 250
    assert answer["runs"] == 2
    assert answer["micro_batch"] == 8
    assert [row["batch_size"] for row in answer["rows"]] == [16, 64]


@pytest.mark.gpu
def test_on_a_gpu_in_half_precision_the_noise_scale_is_the_same(tmp_path: Path) -> None:
    timing = ("--curve-sizes", "64", "--repeats", "1", "--trial-seconds", "0.3s")
    asked = (*timing, "--epochs", "3", "--no-report", "--json")
    exact = run(tmp_path, "noise-scale", *asked, "--device", "cpu")
    rough = run(tmp_path, "noise-scale", *asked, "--device", "cuda", "--precision", "fp16")
    assert rough.returncode == 0, rough.stderr
    found, truth = (document(completed)["answer"]["noise_scale"] for completed in (rough, exact))
    assert truth / 1.5 < found < truth * 1.5
