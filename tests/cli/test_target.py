"""`traindyno target` as typed, on a simulated machine."""

import signal
from pathlib import Path

import pytest

from cli.command_line import document, paused, run

TARGET = ("target", "--model", "mlp:64", "--data", "digits:", "--value", "0.9", "--epochs", "30")
RATE = ("--lr", "0.05@32")
SIMULATED = ("--runner", "simulated", "--no-report")


def test_a_race_answers_in_the_documented_form(tmp_path: Path) -> None:
    completed = run(tmp_path, *TARGET, *RATE, *SIMULATED, "--price-per-hour", "3", "--json")
    assert completed.returncode == 0, completed.stderr
    answer = document(completed)["answer"]
    assert [row["label"] for row in answer["rows"]] == ["batch 16", "batch 64", "batch 256"]
    assert answer["winner"] == answer["least_cost"] == "batch 64"
    assert answer["least_examples"] == "batch 16"
    first = answer["rows"][0]
    assert {"settings", "reached", "median_seconds", "ci95", "examples"} <= set(first)
    assert first["cost"] == pytest.approx(first["median_seconds"] / 3600 * 3)
    assert answer["simulated"] is True


def test_the_last_line_names_the_winner_and_show_prints_it_again(tmp_path: Path) -> None:
    first = run(tmp_path, *TARGET, *RATE, *SIMULATED, "--name", "race")
    assert "batch 64 reaches accuracy 0.9 first, in" in first.stdout.splitlines()[-2]
    assert run(tmp_path, "show", "race").stdout == first.stdout


def test_misses_are_shown_again_as_they_were(tmp_path: Path) -> None:
    first = run(tmp_path, *TARGET, *RATE, "--runner", "simulated:seed_spread=0.1", "--no-report", "--name", "luck")
    assert "never" in first.stdout
    assert "which count as infinite" in first.stdout
    assert run(tmp_path, "show", "luck").stdout == first.stdout


def test_ways_to_train_may_differ_in_any_setting(tmp_path: Path) -> None:
    ways = ("--contender", "plain: batch_size=64", "--contender", "quick: batch_size=64,precision=bf16,lr=0.1")
    completed = run(tmp_path, *TARGET, *RATE, *SIMULATED, *ways, "--json")
    assert completed.returncode == 0, completed.stderr
    rows = document(completed)["answer"]["rows"]
    assert [(row["label"], row["settings"]["precision"]) for row in rows] == [("plain", "fp32"), ("quick", "bf16")]
    assert rows[1]["learning_rate"] == 0.1
    assert 0.05 < rows[0]["learning_rate"] < 0.1


def test_verifying_lays_the_prediction_beside_what_was_measured(tmp_path: Path) -> None:
    completed = run(tmp_path, *TARGET, *RATE, *SIMULATED, "--verify")
    assert completed.returncode == 0, completed.stderr
    assert "Predicted by a noise scale of 1" in completed.stdout
    assert "batch 8 3.37× predicted" in completed.stdout
    assert "The prediction stands: it was batch 32" in completed.stdout


def test_a_noise_scale_that_is_wrong_does_not_stand(tmp_path: Path) -> None:
    wrong = ("--verify", "--noise-scale", "20000", "--lr-rule", "sqrt", "--json")
    runner = ("--runner", "simulated:examples=20000,noise_scale=20", "--no-report")
    completed = run(tmp_path, *TARGET, "--lr", "0.1@32", *runner, *wrong)
    assert completed.returncode == 0, completed.stderr
    answer = document(completed)["answer"]
    assert answer["fit"]["noise_scale"] < 2000
    assert answer["fit"]["predicted_batch"] > 4 * answer["fit"]["refitted_batch"]
    assert any("The prediction does not stand" in verdict for verdict in answer["verdicts"])


def test_the_embedded_example_needs_no_arguments(tmp_path: Path) -> None:
    completed = run(tmp_path, "target", *SIMULATED, "--value", "0.9")
    assert completed.returncode == 0, completed.stderr
    assert "no --model given: showing mlp:64 on digits:" in completed.stderr


def test_a_dry_run_says_what_would_be_run(tmp_path: Path) -> None:
    completed = run(tmp_path, *TARGET, *RATE, "--dry-run", "--device", "cpu")
    assert completed.returncode == 0, completed.stderr
    assert "ways to train: batch 16, batch 64, batch 256" in completed.stdout
    assert "each with 6 seeds until accuracy 0.9, for 30 epochs at most" in completed.stdout
    assert "first the noise scale of the gradients is measured" in completed.stdout
    assert "about 21 trials" in completed.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--value", "97"), "write 97 % as --value 0.97"),
        (("--seeds", "0"), "at least one seed"),
        (("--eval-examples", "100"), "give --eval-examples 256 or more"),
        (("--noise-scale", "0"), "a noise scale of 0 cannot be"),
        (("--noise-scale", "50", "--lr-rule", "linear"), "no rate here follows from a noise scale"),
        (("--contender", "large:"), "NAME: batch_size=256"),
        (("--contender", "batch=64,devices=3"), "a batch of 64 cannot be shared equally by 3 devices"),
        (("--set", "devices=2"), "target --contender devices=2"),
        (("--contender", "a: batch_size=64", "--contender", "a: batch_size=32"), "two ways to train are called a"),
        (("--contender", "a: batch_size=64", "--contender", "b: batch_size=64"), "b trains like a"),
        (("--contender", "a: batch_size=32", "--contender", "b: batch_size=32,lr=0.05"), "b trains like a, at a rate"),
        (
            ("--lr-rule", "linear", "--contender", "a: batch_size=64", "--contender", "b: batch_size=64,lr=0.1"),
            "b trains like a, at a rate of 0.1",
        ),
        (("--verify", "--batch-size", "16,32"), "--verify chooses the batches itself"),
        (("--metric", "loss", "--value", "-1"), "a loss of -1 cannot be reached"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_runs(
    tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    refused = run(
        tmp_path,
        "target",
        "--model",
        "mlp:64",
        "--data",
        "digits:",
        "--value",
        "0.9",
        "--epochs",
        "30",
        *RATE,
        *SIMULATED,
        *options,
    )
    assert refused.returncode == 2, refused.stderr
    assert words in refused.stderr
    assert not (tmp_path / "traindyno.db").exists()


def test_a_target_must_be_named_for_a_model(tmp_path: Path) -> None:
    refused = run(tmp_path, "target", "--model", "mlp:64", "--data", "digits:", *RATE, *SIMULATED)
    assert refused.returncode == 2
    assert "no target is given" in refused.stderr


def test_verifying_needs_the_batch_of_the_rate(tmp_path: Path) -> None:
    refused = run(tmp_path, *TARGET, "--lr", "0.05", "--verify", *SIMULATED)
    assert refused.returncode == 2
    assert "write --lr as 0.1@32" in refused.stderr


def test_a_run_that_no_contender_ends_is_no_result(tmp_path: Path) -> None:
    failing = run(tmp_path, *TARGET, *RATE, "--batch-size", "32", "--runner", "simulated:fail=32:crash", "--no-report")
    assert failing.returncode == 1
    assert "no run came to its end: simulated failure at batch size 32" in failing.stderr


def test_ctrl_c_keeps_what_was_run_and_answers_with_it(tmp_path: Path) -> None:
    simulated = ("--runner", "simulated", "--no-report", "--name", "stopped")
    process = paused(tmp_path, 8, *TARGET, *RATE, "--lr-rule", "none", *simulated)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "of 2" in output
    assert "batch 64" in run(tmp_path, "show", "stopped").stdout
