"""Mistakes at the command line: what happened, what to type next, and the exit code."""

import json
from pathlib import Path

import pytest

from cli.command_line import document, run

SIMULATED = ("--runner", "simulated", "--no-report")


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["throughputt"], "There is no command 'throughputt'. Did you mean 'throughput'?", "traindyno --help"),
        (["throughput", "--batch-size", "64..16"], "'64..16' ends before it begins", "16..64"),
        (["throughput", "--batch-size", "a,b"], "'a,b' is not a list of batch sizes", "16,32,64"),
        (["throughput", "--batch-size", "0"], "a batch size of 0 cannot be measured", "start at 1"),
        (["throughput", "--batch-size", "4294967296"], "a batch size of 4294967296 cannot", "end at 2147483648"),
        (["throughput", "--memory-limit", "lots"], "'lots' is not an amount of memory", "8GiB"),
        (["throughput", "--time-budget", "soon"], "'soon' is not a duration", "10m"),
        (["max-batch", "--margin", "150%"], "'150%' is not a share", "5%"),
        (["max-batch", "--runner", "cloud"], "there is no runner 'cloud'", "fork, spawn or simulated"),
        (["max-batch", "--runner", "simulated:speed=9"], "'speed=9' does not describe", "limit"),
        (["max-batch", *SIMULATED, "--name", "../x"], "../x", "letters"),
        (["throughput", "--precision", "fp64"], "'fp64' is not one of", "traindyno throughput --help"),
        (["plan", "--price-per-hour", "nan"], "'nan' is not a price (option --price-per-hour)", "such as 3.5"),
        (["soak", "--price-per-hour", "-1"], "'-1.0' is not a price (option --price-per-hour)", "from 0 on"),
        (["soak", "--price-per-kwh", "inf"], "'inf' is not a price (option --price-per-kwh)", "such as 3.5"),
        (["plan", "--epochs", "3"], "Missing option '--examples'", "traindyno plan --help"),
        (["compare", "a.json", "b.json"], "cannot read a.json", "exported JSON file"),
        (["max-batch", "--model", "missing.py:build"], "missing.py", ""),
    ],
)
def test_a_mistake_is_named_with_its_remedy_and_exits_with_2(
    tmp_path: Path, arguments: list[str], message: str, hint: str
) -> None:
    completed = run(tmp_path, *arguments)
    assert completed.returncode == 2, completed.stderr
    assert completed.stdout == ""
    assert message in completed.stderr
    assert hint in completed.stderr
    assert "Traceback" not in completed.stderr


@pytest.mark.parametrize(
    "command",
    ["throughput", "plan", "loader", "stalls", "anatomy", "switches", "scale", "noise-scale", "find", "verify"],
)
def test_a_trial_of_no_length_is_refused_by_every_command_that_has_the_option(tmp_path: Path, command: str) -> None:
    model = ["--model", "mlp:64"]
    needed = {
        "plan": ["--examples", "9", "--epochs", "1"],
        "verify": ["best.toml"],
        "stalls": [*model, "--data", "digits:", "--workers", "1"],
        "anatomy": model,
        "switches": model,
    }
    given = needed.get(command, [])
    typed = run(tmp_path, command, *given, "--trial-seconds", "0")
    (tmp_path / "traindyno.toml").write_text("trial-seconds = 0\n")
    written = run(tmp_path, command, *given)
    for refused in (typed, written):
        assert refused.returncode == 2, refused.stderr
        assert "nothing can be measured (option --trial-seconds)" in refused.stderr
        assert "write a time above 0, such as 5s" in refused.stderr


@pytest.mark.parametrize("option", ["--step-timeout", "--trial-timeout", "--validate-for"])
def test_a_limit_that_leaves_no_time_is_refused(tmp_path: Path, option: str) -> None:
    completed = run(tmp_path, "plan", "--examples", "9", "--epochs", "1", option, "0s")
    assert completed.returncode == 2
    assert f"nothing can be measured (option {option})" in completed.stderr


def test_with_json_an_error_is_exactly_one_document(tmp_path: Path) -> None:
    completed = run(tmp_path, "throughput", "--batch-size", "x", "--json")
    content = document(completed)
    assert content["schema"] == "traindyno/1"
    assert content["command"] == "throughput"
    assert "not a list of batch sizes" in content["error"]["message"]
    assert content["error"]["hint"]


@pytest.mark.parametrize(
    ("option", "file", "hint"),
    [
        ("--export-png", "x.jpg", "end the name in .png"),
        ("--export-html", "x.txt", "end the name in .html"),
        ("--export-markdown", "x.png", "use --export-png, or end the name in .md"),
        ("--export-json", "traindyno.db", "end the name in .json"),
    ],
)
def test_an_export_whose_ending_says_otherwise_is_refused_before_anything_is_measured(
    tmp_path: Path, option: str, file: str, hint: str
) -> None:
    completed = run(tmp_path, "throughput", *SIMULATED, option, file)
    assert completed.returncode == 2
    assert f"{file} ends in" in completed.stderr
    assert f"hint: {hint}\n" in completed.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_export_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    completed = run(tmp_path, "throughput", *SIMULATED, "--export-csv", "no/such/folder/x.csv")
    assert completed.returncode == 2
    assert not (tmp_path / "traindyno.db").exists()


def test_a_report_that_has_no_place_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "traindyno-reports").write_text("a file of another's")
    refused = run(tmp_path, "throughput", "--runner", "simulated")
    assert refused.returncode == 2
    assert "reports go to traindyno-reports, which is no folder" in refused.stderr
    assert "--no-report" in refused.stderr
    assert not (tmp_path / "traindyno.db").exists()
    assert run(tmp_path, "throughput", "--runner", "simulated", "--no-report").returncode == 0


def test_a_report_whose_folder_cannot_be_written_to_is_refused_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("traindyno.report.exports.tempfile.TemporaryFile", refuse)
    refused = run(tmp_path, "throughput", "--runner", "simulated")
    assert refused.returncode == 2
    assert "Permission denied" in refused.stderr
    assert "--no-report" in refused.stderr


def test_a_report_that_fails_at_the_end_is_told_in_the_document_with_what_to_type(tmp_path: Path) -> None:
    (tmp_path / "traindyno-reports" / "it.html").mkdir(parents=True)
    completed = run(tmp_path, "throughput", "--runner", "simulated", "--json", "--name", "it", "--store", "own.db")
    assert completed.returncode == 0, completed.stderr
    content = document(completed)
    assert content["report"] is None
    (warning,) = [each for each in content["warnings"] if "The report could not be written" in each]
    assert "it.html is a directory" in warning
    assert "`traindyno report it --store own.db` writes it" in warning


def test_a_report_asked_for_again_whose_place_is_taken_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    assert run(tmp_path, "throughput", *SIMULATED, "--name", "it").returncode == 0
    (tmp_path / "traindyno-reports").write_text("a file of another's")
    refused = run(tmp_path, "report", "it")
    assert refused.returncode == 1
    assert "the folder traindyno-reports cannot be made" in refused.stderr
    assert "name a file for the report" in refused.stderr


def test_a_study_that_does_not_exist_is_answered_with_the_nearest_name(tmp_path: Path) -> None:
    assert run(tmp_path, "max-batch", *SIMULATED, "--name", "first-look").returncode == 0
    completed = run(tmp_path, "show", "first-lok")
    assert completed.returncode != 0
    assert "first-look" in completed.stderr


def test_a_wrong_model_name_lists_the_nearest_right_ones(tmp_path: Path) -> None:
    completed = run(tmp_path, "max-batch", "--model", "torchvision:resnet5O", "--device", "cpu", "--no-report")
    assert completed.returncode == 2
    assert "resnet50" in completed.stderr
    assert "Traceback" not in completed.stderr


def test_a_bug_in_the_users_model_shows_the_users_traceback_and_keeps_the_trial(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(
        "from torch import nn\n"
        "class Broken(nn.Linear):\n"
        "    def forward(self, x):\n"
        "        raise ZeroDivisionError('my own bug')\n"
        "def build():\n"
        "    return Broken(2, 2)\n"
    )
    completed = run(tmp_path, "max-batch", "--model", "job.py:build", "--device", "cpu", "--no-report")
    assert completed.returncode == 1
    assert "my own bug" in completed.stderr
    assert 'job.py", line 4, in forward' in completed.stderr
    assert "job.py:4 in forward" in completed.stderr
    assert "traindyno/worker" not in completed.stderr
    studies = json.loads(run(tmp_path, "studies", "--json").stdout)["answer"]["studies"]
    assert [(study["state"], study["trials"]) for study in studies] == [("failed", 1)]


def test_a_device_that_is_not_there_is_refused_with_what_is(tmp_path: Path) -> None:
    completed = run(tmp_path, "max-batch", "--device", "cuda:99", "--no-report")
    assert completed.returncode == 2
    assert "cuda:99" in completed.stderr
    assert "cpu" in completed.stderr


def test_an_export_that_fails_at_the_end_leaves_exactly_one_document(tmp_path: Path) -> None:
    completed = run(tmp_path, "throughput", *SIMULATED, "--json", "--export-csv", "/dev/full")
    assert completed.returncode == 1
    assert document(completed)["answer"]["curve"]
    assert "/dev/full could not be written" in completed.stderr


@pytest.mark.parametrize(
    "option", [("--precision", "bf16"), ("--batch-size", "8"), ("--model", "ir:50"), ("--time-budget", "1m")]
)
def test_a_plan_refuses_options_that_a_measured_curve_cannot_take(tmp_path: Path, option: tuple[str, str]) -> None:
    completed = run(tmp_path, "plan", "--from", "curve", "--examples", "10", "--epochs", "1", *option)
    assert completed.returncode == 2
    assert f"{option[0]} cannot change a curve" in completed.stderr


def test_epochs_without_end_are_refused(tmp_path: Path) -> None:
    run(tmp_path, "throughput", *SIMULATED, "--batch-size", "8", "--name", "curve")
    completed = run(tmp_path, "plan", "--from", "curve", "--examples", "10", "--epochs", "inf")
    assert completed.returncode == 2
    assert "'inf' is not a number to count with (option --epochs)" in completed.stderr
    assert "such as 0.5 or 90" in completed.stderr


def test_a_yes_in_the_project_file_is_no_price(tmp_path: Path) -> None:
    (tmp_path / "traindyno.toml").write_text("price-per-hour = true\n")
    completed = run(tmp_path, "plan", "--from", "curve", "--examples", "10", "--epochs", "1")
    assert completed.returncode == 2
    assert "'True' is not a price (option --price-per-hour)" in completed.stderr


def test_a_plan_runs_no_code_that_only_a_record_names(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text("raise SystemExit('it ran')\n")
    model = ("--model", "job.py:build")
    run(tmp_path, "throughput", *SIMULATED, *model, "--batch-size", "8", "--name", "curve")
    validate = ("plan", "--from", "curve", "--examples", "80", "--epochs", "1", "--validate", "--no-report")
    completed = run(tmp_path, *validate)
    assert completed.returncode == 2
    assert "--model job.py:build" in completed.stderr
    assert run(tmp_path, *validate, *model).returncode == 0
    job.write_text("# changed\n")
    assert "has changed" in run(tmp_path, *validate, *model).stderr
