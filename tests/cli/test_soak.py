"""`traindyno soak` from the outside, on a simulated machine."""

from pathlib import Path

from cli.command_line import document, run

SOAK = ("soak", "--model", "torchvision:resnet50", "--minutes", "4", "--batch-size", "64")
SIMULATED = ("--runner", "simulated:drift_percent=-1", "--no-report")


def test_a_soak_answers_in_the_documented_form(tmp_path: Path) -> None:
    completed = run(tmp_path, *SOAK, *SIMULATED, "--json")
    assert completed.returncode == 0, completed.stderr
    printed = document(completed)
    answer = printed["answer"]
    assert printed["command"] == "soak"
    assert answer["drift_percent_per_minute"] < 0
    assert answer["ci95"][0] < answer["drift_percent_per_minute"] < answer["ci95"][1]
    assert {"throttle", "energy_joules_per_example", "verdicts"} <= set(answer)
    assert len(printed["trials"][0]["series"]["readings"]) > 200


def test_show_prints_the_answer_again(tmp_path: Path) -> None:
    first = run(tmp_path, *SOAK, *SIMULATED, "--name", "it")
    assert run(tmp_path, "show", "it").stdout == first.stdout


def test_a_dry_run_says_how_long_it_would_take(tmp_path: Path) -> None:
    completed = run(tmp_path, *SOAK, "--dry-run", "--device", "cpu")
    assert completed.returncode == 0, completed.stderr
    assert "one run of 4 min 00 s, the machine read once a second" in completed.stdout
    assert "one resident batch" in completed.stdout
    assert "about 1 trial, at most" in completed.stdout


def test_a_run_without_an_end_is_refused(tmp_path: Path) -> None:
    refused = run(tmp_path, "soak", "--model", "torchvision:resnet50", "--minutes", "inf", *SIMULATED)
    assert refused.returncode == 2
    assert "a run needs some time, and an end" in refused.stderr


def test_without_data_a_loader_cannot_be_soaked(tmp_path: Path) -> None:
    refused = run(tmp_path, *SOAK, *SIMULATED, "--from-loader")
    assert refused.returncode == 2
    assert "name it with --data" in refused.stderr
