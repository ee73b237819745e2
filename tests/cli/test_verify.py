"""`traindyno verify` from the outside, on a simulated machine."""

from pathlib import Path

import pytest

from cli.command_line import document, run

WORKLOAD = ("--data", "folder:/data", "--batch-size", "256", "--workers", "4", "--runner", "simulated", "--no-report")
VERIFY = ("verify", "mine.toml", "--runner", "simulated", "--no-report")
FASTER_ALREADY = ("--runner", "simulated:decode_seconds=0.00001,augment_seconds=0.00001,beta_seconds=0.00000001")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    model = ("--model", "torchvision:resnet50")
    assert run(tmp_path, "find", *model, *WORKLOAD, "--export-toml", "mine.toml").returncode == 0
    return tmp_path


def test_a_gain_that_holds_is_a_success(folder: Path) -> None:
    completed = run(folder, *VERIFY, "--json")
    answer = document(completed)["answer"]
    assert completed.returncode == 0
    assert answer["holds"] is True
    assert answer["promised_speedup"] > 2
    assert answer["trials"] == 10


def test_a_promise_that_was_not_measured_is_named(folder: Path) -> None:
    assert "The promise was simulated" in run(folder, *VERIFY).stdout
    file = folder / "mine.toml"
    file.write_text(file.read_text().replace("confirmed = true", "confirmed = false"))
    assert "The promise was not confirmed" in run(folder, *VERIFY).stdout


def test_a_gain_that_does_not_hold_is_a_failure(folder: Path) -> None:
    completed = run(folder, *VERIFY, *FASTER_ALREADY, "--name", "it", "--json")
    assert completed.returncode == 1
    assert document(completed)["answer"]["holds"] is False
    assert run(folder, "show", "it").returncode == 0


def test_a_dry_run_names_the_changes(folder: Path) -> None:
    told = run(folder, *VERIFY, "--dry-run").stdout
    assert "pin_memory=on" in told
    assert told.startswith("verify on simulated, fp32 and bf16\n")
    assert "precision=bf16" in told
    assert "both in 5 rounds of fresh processes" in told


def test_a_file_that_does_not_say_what_it_is_for_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("num_workers = 4\n")
    refused = run(tmp_path, *VERIFY)
    assert refused.returncode == 2
    assert "does not say what its settings were found for" in refused.stderr
    assert "--export-toml" in refused.stderr


def test_a_file_that_is_missing_is_refused(tmp_path: Path) -> None:
    assert run(tmp_path, *VERIFY).returncode == 2


def test_another_model_than_the_file_s_is_refused(folder: Path) -> None:
    refused = run(folder, *VERIFY, "--model", "torchvision:resnet18")
    assert refused.returncode == 2
    assert "found for torchvision:resnet50, not for torchvision:resnet18" in refused.stderr


def test_code_of_the_user_s_own_runs_only_if_it_is_named_now_and_the_same(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text("from torch import nn\ndef build():\n    return nn.Linear(4, 2)\n")
    found = run(tmp_path, "find", "--model", "job.py:build", *WORKLOAD, "--export-toml", "mine.toml")
    assert found.stderr.splitlines()[-1] == "hint: traindyno verify mine.toml --model job.py:build --runner simulated"
    unnamed = run(tmp_path, *VERIFY)
    assert unnamed.returncode == 2
    assert "add --model job.py:build" in unnamed.stderr
    (tmp_path / "traindyno.toml").write_text('model = "job.py:build"\n')
    assert run(tmp_path, *VERIFY).returncode == 2
    moved = tmp_path / "moved.py"
    moved.write_text(job.read_text())
    assert run(tmp_path, *VERIFY, "--model", "moved.py:build").returncode == 0
    moved.write_text(job.read_text() + "# changed\n")
    changed = run(tmp_path, *VERIFY, "--model", "moved.py:build")
    assert changed.returncode == 2
    assert "moved.py:build is not the code that these settings were found for" in changed.stderr
    job.write_text(moved.read_text())
    changed = run(tmp_path, *VERIFY, "--model", "job.py:build")
    assert changed.returncode == 2
    assert "job.py:build has changed since these settings were found" in changed.stderr


def test_another_function_of_the_same_file_is_not_the_same_code(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("from torch import nn\ndef build():\n    return nn.Linear(4, 2)\nother = build\n")
    run(tmp_path, "find", "--model", "job.py:build", *WORKLOAD, "--export-toml", "mine.toml")
    assert run(tmp_path, *VERIFY, "--model", "job.py:other").returncode == 2


def test_data_that_lies_elsewhere_here_is_named(folder: Path) -> None:
    content = document(run(folder, *VERIFY, "--data", "folder:/here", "--export-html", "it.html", "--json"))
    answer = content["answer"]
    assert answer["baseline"]["data"] == answer["recommended"]["data"] == "folder:/here"
    assert answer["holds"] is True
    assert "verify mine.toml --data folder:/here" in (folder / "it.html").read_text()


def test_the_project_s_data_is_not_that_of_a_settings_file(folder: Path) -> None:
    (folder / "traindyno.toml").write_text('data = "folder:/another"\n')
    assert document(run(folder, *VERIFY, "--json"))["answer"]["baseline"]["data"] == "folder:/data"


def test_data_that_is_not_here_is_answered_with_the_option_for_it(folder: Path) -> None:
    file = folder / "mine.toml"
    settings = file.read_text().split("[source]")
    file.write_text(
        settings[0].replace("cudnn_benchmark = true", "") + "[source]" + settings[1].replace("/data", "/no/such")
    )
    refused = run(folder, "verify", "mine.toml", "--device", "cpu", "--no-report")
    assert refused.returncode == 2
    assert "mine.toml names folder:/no/such, and there is no /no/such" in refused.stderr
    assert "--data folder:/no/such=SOURCE" in refused.stderr


def test_a_place_that_is_not_there_is_not_laid_at_the_file_s_door(folder: Path) -> None:
    """The hint names what the file has, so that following it leads on."""
    refused = run(folder, "verify", "mine.toml", "--data", "folder:nowhere", "--device", "cpu", "--no-report")
    assert refused.returncode == 2
    assert "--data names folder:nowhere, and there is no nowhere" in refused.stderr
    assert "mine.toml reads from folder:/data; say where that lies here: --data folder:/data=SOURCE" in refused.stderr


def test_settings_of_a_gpu_are_not_verified_on_a_cpu_and_the_other_way_round(folder: Path) -> None:
    file = folder / "mine.toml"
    found = file.read_text()
    file.write_text(found.replace("cudnn_benchmark = false", "cudnn_benchmark = true"))
    refused = run(folder, "verify", "mine.toml", "--device", "cpu", "--no-report")
    assert refused.returncode == 2
    assert "the settings in mine.toml were found for a GPU" in refused.stderr
    file.write_text(found.replace("[settings]\n", "[settings]\nthreads = 4\n"))
    other = run(folder, *VERIFY)
    assert other.returncode == 2
    assert "the settings in mine.toml were found for a CPU" in other.stderr
