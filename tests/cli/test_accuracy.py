"""`traindyno accuracy` from the outside, on a simulated machine."""

import signal
from pathlib import Path

import pytest

from cli.command_line import document, paused, run

SIMULATED = ("--runner", "simulated:examples=20000,least_steps=60", "--no-report")
ACCURACY = ("accuracy", "--lr", "0.05@32", "--epochs", "2")


def test_accuracy_answers_in_the_documented_form(tmp_path: Path) -> None:
    completed = run(tmp_path, *ACCURACY, *SIMULATED, "--batch-size", "32,256", "--seeds", "3", "--json")
    assert completed.returncode == 0, completed.stderr
    printed = document(completed)
    answer = printed["answer"]
    assert (printed["command"], answer["rule"], answer["equal"]) == ("accuracy", "gain", "epochs")
    assert [row["batch_size"] for row in answer["rows"]] == [32, 256]
    assert all(len(row["accuracies"]) == row["seeds"] == 3 for row in answer["rows"])
    assert answer["noise_scale"] == pytest.approx(128, rel=0.3)
    assert answer["comparisons"][0]["verdict"].startswith("lower by")
    assert [trial["kind"] for trial in printed["trials"]] == ["learn", "noise", "noise", *["learn"] * 5]


def test_without_a_model_it_shows_the_embedded_example(tmp_path: Path) -> None:
    completed = run(tmp_path, "accuracy", *SIMULATED, "--seeds", "2")
    assert completed.returncode == 0, completed.stderr
    assert "no --model given: showing mlp:64 on digits:" in completed.stderr
    assert "Accuracy by batch size: mlp:64 on digits:" in completed.stdout


def test_a_rate_without_a_batch_is_that_of_the_smallest(tmp_path: Path) -> None:
    options = ("--lr", "0.1", "--lr-rule", "sqrt", "--batch-size", "128,32", "--seeds", "1", "--json")
    answer = document(run(tmp_path, "accuracy", "--epochs", "1", *options, *SIMULATED))["answer"]
    assert [(row["batch_size"], row["learning_rate"]) for row in answer["rows"]] == [(32, 0.1), (128, 0.2)]


def test_show_prints_the_answer_again_and_the_hint_can_be_typed(tmp_path: Path) -> None:
    first = run(tmp_path, *ACCURACY, *SIMULATED, "--name", "it")
    assert run(tmp_path, "show", "it").stdout == first.stdout
    hint = next(line for line in first.stderr.split("hint: ")[1:]).replace("\\\n", " ").split()
    assert hint[:2] == ["traindyno", "accuracy"]
    assert "tune" in hint
    fair = run(tmp_path, *hint[1:], "--no-report", "--dry-run")
    assert fair.returncode == 0, fair.stderr


def test_tuning_states_its_cost_before_and_after(tmp_path: Path) -> None:
    tune = (*ACCURACY, *SIMULATED, "--lr-rule", "tune", "--batch-size", "32,64", "--seeds", "2")
    planned = run(tmp_path, *tune, "--dry-run").stdout
    assert "search for rates: about 10 runs at each size, with seeds that do not count" in planned
    assert "about 24 runs" in planned
    content = document(run(tmp_path, *tune, "--json"))
    answer = content["answer"]
    tuning = [trial for trial in content["trials"] if trial["seed"] not in (0, 1)]
    assert sum(row["tuning_runs"] for row in answer["rows"]) == len(tuning) > 0
    assert answer["tuning_seconds"] == pytest.approx(sum(trial["seconds"] for trial in tuning))


def test_a_dry_run_says_how_many_runs_and_trains_none(tmp_path: Path) -> None:
    told = run(tmp_path, *ACCURACY, *SIMULATED, "--dry-run").stdout
    assert "batch sizes: 32, 64, 128, 256; 3 seeds each" in told
    assert "rates: by the gain rule from 0.05@32" in told
    assert "about 14 runs" in told
    assert not (tmp_path / "traindyno.db").exists()


def test_emulated_devices_are_called_so(tmp_path: Path) -> None:
    model = ("--model", "torchvision:mobilenet_v2", "--data", "digits:", "--emulate-devices", "4")
    printed = run(tmp_path, *ACCURACY, *model, *SIMULATED, "--lr-rule", "linear").stdout
    assert "4 emulated devices" in printed
    assert "8 at batch 32, emulated" in " ".join(printed.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--batch-size", "32,64,32"), "batch size 32 is named twice"),
        (("--batch-size", "max"), "accuracy is compared at sizes that are named"),
        (("--batch-size", "32,50", "--emulate-devices", "4"), "a batch of 50 cannot be shared by 4 emulated devices"),
        (("--seeds", "0"), "every size needs at least one seed"),
        (("--tuning-seeds", "0", "--lr-rule", "tune"), "every size needs at least one seed"),
        (("--tuning-seeds", "3"), "--tuning-seeds only matters with --lr-rule tune"),
        (("--noise-scale", "50", "--lr-rule", "sqrt"), "--noise-scale says nothing to --lr-rule sqrt"),
        (("--noise-scale", "-1"), "a noise scale of -1 cannot be"),
        (("--lr", "fast"), "'fast' is no rate at a batch size"),
        (("--lr", "0.1@"), "'0.1@' is no rate at a batch size"),
        (("--lr", "0@32"), "'0@32' is no rate at a batch size"),
        (("--lr", "0.1@0"), "'0.1@0' is no rate at a batch size"),
        (("--lr", "nan"), "'nan' is no rate at a batch size"),
        (("--epochs", "0"), "0 epochs are no training"),
        (("--set", "accumulation_steps=3"), "cannot be computed in 3 equal parts"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_runs(
    tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    refused = run(tmp_path, *ACCURACY, *SIMULATED, *options)
    assert refused.returncode == 2, refused.stderr
    assert message in " ".join(refused.stderr.split())
    assert not (tmp_path / "traindyno.db").exists()


def test_a_rate_at_another_batch_than_those_compared_is_allowed(tmp_path: Path) -> None:
    options = ("--lr", "0.05@32", "--batch-size", "64,128", "--seeds", "2", "--json", "--epochs", "1")
    answer = document(run(tmp_path, "accuracy", *options, *SIMULATED))["answer"]
    assert answer["reference_batch"] == 32
    assert answer["rows"][0]["learning_rate"] > 0.05
    assert answer["comparisons"][0]["first"] == "batch 64"


def test_interrupted_it_keeps_its_runs_and_goes_on_where_it_was(tmp_path: Path) -> None:
    simulated = ("--runner", "simulated:examples=20000,least_steps=60", "--no-report")
    command = (*ACCURACY, *simulated, "--name", "it", "--batch-size", "32,64", "--lr-rule", "linear", "--seeds", "4")
    process = paused(tmp_path, 3, *command)
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Accuracy by batch size" in printed
    finished = document(run(tmp_path, "resume", "it", "--json", "--no-report"))
    rows = finished["answer"]["rows"]
    assert [(row["seeds"], row["missing"]) for row in rows] == [(4, 0), (4, 0)]
    assert len(finished["trials"]) == 8
