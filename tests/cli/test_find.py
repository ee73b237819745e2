"""`traindyno find` from the outside, on a simulated machine."""

import json
import os
import signal
import tomllib
from pathlib import Path

import pytest

from cli.command_line import document, paused, run
from cli.pausing import interrupted_after
from traindyno.core.keeping import KEEPABLE

WORKLOAD = ("--model", "torchvision:resnet50", "--data", "folder:/data", "--batch-size", "256", "--workers", "4")
FIND = ("find", *WORKLOAD, "--runner", "simulated", "--no-report")


def test_find_answers_in_the_documented_form(tmp_path: Path) -> None:
    content = document(run(tmp_path, *FIND, "--epochs", "90", "--json"))
    answer = content["answer"]
    fields = {
        "baseline", "recommended", "speedup", "speedup_ci95", "near_equal", "bound_before", "bound_after", "headroom",
        "trials", "seconds", "training_time", "report",
    }  # fmt: skip
    assert fields <= set(answer)
    assert answer["speedup"] > 2
    assert answer["simulated"] is True
    assert answer["recommended"]["batch_size"] == 256
    assert answer["training_time"]["epochs"] == 90
    assert len(content["trials"]) == answer["trials"]


def test_the_answer_names_its_report(tmp_path: Path) -> None:
    content = document(run(tmp_path, *FIND[:-1], "--name", "it", "--json"))
    assert content["answer"]["report"] == content["report"] == "traindyno-reports/it.html"
    assert (tmp_path / "traindyno-reports" / "it.html").exists()


def test_the_plan_comes_first_and_the_last_lines_say_how_to_verify(tmp_path: Path) -> None:
    done = run(tmp_path, *FIND, "--name", "it")
    lines = done.stderr.splitlines()
    assert lines[1].startswith("plan: about ")
    assert "times as fast" in done.stdout
    assert lines[-1] == "hint: traindyno report it it.toml && traindyno verify it.toml --runner simulated"
    assert run(tmp_path, "report", "it", "it.toml").returncode == 0
    assert run(tmp_path, "verify", "it.toml", "--runner", "simulated", "--no-report").returncode == 0


def test_the_settings_are_exported_from_here_and_later_the_same(tmp_path: Path) -> None:
    done = run(tmp_path, *FIND, "--name", "it", "--export-toml", "mine.toml")
    assert done.stderr.splitlines()[-1] == "hint: traindyno verify mine.toml --runner simulated"
    written = (tmp_path / "mine.toml").read_text()
    settings = tomllib.loads(written)
    assert settings["settings"]["num_workers"] > 4
    assert settings["workload"]["model"] == "torchvision:resnet50"
    assert settings["baseline"]["num_workers"] == 4
    run(tmp_path, "show", "it", "--export-toml", "again.toml")
    run(tmp_path, "report", "it", "third.toml")
    assert (tmp_path / "again.toml").read_text() == (tmp_path / "third.toml").read_text() == written


def test_exports_are_checked_before_the_work(tmp_path: Path) -> None:
    refused = run(tmp_path, *FIND, "--export-toml", "missing/a.toml")
    assert refused.returncode == 2
    assert "does not exist" in refused.stderr
    assert not (tmp_path / "traindyno.db").exists()


def test_data_that_no_settings_file_can_name_is_refused_before_the_work(tmp_path: Path) -> None:
    refused = run(tmp_path, *FIND, "--data", "folder:/data\udcff", "--export-toml", "mine.toml")
    assert refused.returncode == 2
    assert "bytes that are no text" in refused.stderr
    assert not (tmp_path / "traindyno.db").exists()


def test_without_a_gain_there_is_nothing_to_verify(tmp_path: Path) -> None:
    done = run(tmp_path, *FIND, "--keep", ",".join(KEEPABLE), "--export-toml", "mine.toml")
    assert done.returncode == 0
    assert "hint:" not in done.stderr
    again = run(tmp_path, "verify", "mine.toml", "--runner", "simulated", "--no-report")
    assert again.returncode == 0
    assert "Nothing was promised and nothing changes" in again.stdout
    assert "gain holds" not in again.stdout


def test_a_study_of_another_command_has_no_settings_file(tmp_path: Path) -> None:
    run(tmp_path, "throughput", "--runner", "simulated", "--no-report", "--name", "it")
    refused = run(tmp_path, "report", "it", "it.toml")
    assert refused.returncode == 1
    assert "the answer of throughput is no settings file" in refused.stderr


def test_a_dry_run_tells_the_plan_and_writes_nothing(tmp_path: Path) -> None:
    told = run(
        tmp_path, *FIND, "--keep", "precision,data", "--batch-range", "64..512", "--margin", "0.1", "--dry-run"
    ).stdout
    assert "baseline: fp32 --batch-size 256 --workers 4, from folder:/data" in told
    assert "batch: 256, may change between 64 and 512" in told
    assert "kept: precision, data" in told
    assert "within the time budget of 10 min" in told
    assert "at most" not in told
    assert "nothing was measured" in told
    assert not any(tmp_path.iterdir())


def test_without_arguments_an_embedded_example_is_shown(tmp_path: Path) -> None:
    content = document(run(tmp_path, "find", "--runner", "simulated", "--no-report", "--json"))
    assert content["answer"]["batch_size"] == 32
    assert content["request"]["bench"]["time_budget_seconds"] == 100
    assert content["answer"]["baseline"]["settings"]["num_workers"] == 0
    assert content["answer"]["data"].startswith("folder:")
    assert not list(tmp_path.glob("**/*.JPEG"))


def test_the_embedded_example_makes_its_images_once_and_says_where(tmp_path: Path) -> None:
    first, second = (run(tmp_path, "find", "--device", "cpu", "--time-budget", "1ms", "--no-report") for _ in range(2))
    assert first.returncode == second.returncode == 124
    assert "512 generated JPEGs in .traindyno/sample-512-10" in first.stderr
    assert "512 of 512 images" in first.stderr
    assert "of 512 images" not in second.stderr
    assert len(list((tmp_path / ".traindyno" / "sample-512-10").glob("**/*.JPEG"))) == 512


def test_the_budget_is_ten_minutes_unless_another_is_given(tmp_path: Path) -> None:
    assert document(run(tmp_path, *FIND, "--json"))["request"]["bench"]["time_budget_seconds"] == 600
    short = document(run(tmp_path, *FIND, "--time-budget", "5m", "--json"))
    assert short["request"]["bench"]["time_budget_seconds"] == 300


def test_the_project_file_gives_defaults_that_options_win_over(tmp_path: Path) -> None:
    (tmp_path / "traindyno.toml").write_text(
        'model = "torchvision:resnet50"\ndata = "folder:/data"\n[find]\nbatch-size = 128\nkeep = ["precision"]\n'
        'memory-margin = "10%"\n'
    )
    content = document(run(tmp_path, "find", "--runner", "simulated", "--no-report", "--json"))
    request = content["request"]
    assert (request["settings"]["batch_size"], request["keep"], request["margin"]) == (128, ["precision", "tf32"], 0.1)
    other = document(
        run(tmp_path, "find", "--runner", "simulated", "--no-report", "--batch-size", "64", "--margin", "0.2", "--json")
    )
    assert (other["request"]["settings"]["batch_size"], other["request"]["margin"]) == (64, 0.2)


def test_the_baseline_comes_from_a_file_and_options_win_over_it(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('batch_size = 128\nprecision = "bf16"\nnum_workers = 2\npin_memory = true\n')
    command = (
        "find", "--model", "torchvision:resnet50", "--data", "folder:/d", "--baseline", "mine.toml", "--workers", "6",
        "--set", "memory_format=channels_last", "--runner", "simulated", "--no-report", "--json",
    )  # fmt: skip
    settings = document(run(tmp_path, *command))["answer"]["baseline"]["settings"]
    given = {"batch_size": 128, "precision": "bf16", "num_workers": 6, "pin_memory": True}
    assert given.items() <= settings.items()
    assert settings["memory_format"] == "channels_last"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--keep", "precison"), "did you mean precision?"),
        (("--keep", "precision=fp8"), "precision cannot be 'fp8'"),
        (("--keep", "precision=fp32", "--precision", "bf16"), "precision is to be kept at fp32"),
        (("--baseline", "missing.toml"), "missing.toml cannot be read"),
        (("--baseline", "broken.toml"), "broken.toml is not valid TOML"),
        (("--baseline", "wrong.toml"), "did you mean num_workers?"),
        (("--batch-range", "16..128"), "batch of 256 lies outside of 16..128"),
        (("--batch-range", "16-512"), "'16-512' is not a range of batch sizes (option --batch-range)"),
        (("--prepare", "p", "--keep", "augmentation"), "changes the augmentation, which is to be kept"),
        (("--memory-margin", "200%"), "not a share"),
        (("--epochs", "0"), "epochs of 0"),
        (("--epochs", "3", "--data", "synthetic:"), "give --epoch-examples"),
        (("--also", "prepard:/q"), "did you mean prepared:/q? sources are named folder:"),
        (("--also", "m"), "did you mean folder:m?"),
        (("--data", "fodler:/data"), "did you mean folder:/data?"),
    ],
)
def test_bad_input_is_answered_with_the_way_out(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    (tmp_path / "broken.toml").write_text("num_workers = \n")
    (tmp_path / "wrong.toml").write_text("[settings]\nnum_worker = 4\n")
    refused = run(tmp_path, *FIND, *options, "--json")
    assert refused.returncode == 2
    assert message in refused.stderr
    assert document(refused)["error"]["message"]
    assert not (tmp_path / "traindyno.db").exists()


def test_data_without_a_model_is_not_taken_for_the_embedded_example(tmp_path: Path) -> None:
    refused = run(tmp_path, "find", "--data", "folder:/data", "--runner", "simulated")
    assert refused.returncode == 2
    assert "no --model is named for folder:/data" in refused.stderr


def test_ctrl_c_ends_with_the_best_so_far_and_resuming_repeats_nothing(tmp_path: Path) -> None:
    process = paused(tmp_path, 10, *FIND, "--name", "it", "--json")
    os.killpg(process.pid, signal.SIGINT)
    stdout, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    cut = json.loads(stdout)
    assert cut["answer"]["speedup"] >= 1
    assert cut["hint"] == "traindyno resume it"
    resumed = document(run(tmp_path, "resume", "it", "--no-report", "--json"))
    assert resumed["state"] == "done"
    assert resumed["trials"][: len(cut["trials"])] == cut["trials"]
    whole = document(run(tmp_path, *FIND, "--name", "whole", "--json"))
    assert resumed["answer"]["recommended"] == whole["answer"]["recommended"]


def test_a_budget_that_ends_early_gives_the_best_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted_after(10, monkeypatch.setattr)
    completed = run(tmp_path, *FIND, "--time-budget", "5s", "--json")
    content = document(completed)
    assert completed.returncode == 0
    assert content["answer"]["baseline"]["examples_per_second"] > 0
    assert content["answer"]["recommended"]["speedup"] >= 1


def test_a_file_without_data_is_searched_without_a_loader_and_its_epoch_is_not_guessed(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(
        "import torch\nfrom torch import nn\nfrom traindyno import Workload\n\n\n"
        "def build():\n    return Workload(model=nn.Linear(4, 2), example_input=torch.randn(1, 4))\n"
    )
    kept = ("--keep", ",".join(name for name in KEEPABLE if name != "augmentation"))
    command = (
        "find",
        "--model",
        "job.py:build",
        "--device",
        "cpu",
        *kept,
        "--trial-seconds",
        "100ms",
        "--repeats",
        "1",
    )
    content = document(run(tmp_path, *command, "--epochs", "3", "--no-report", "--json"))
    assert content["trials"][0]["failure"]["details"]["code"] == "nothing_to_load"
    assert {trial["outcome"] for trial in content["trials"][1:]} == {"ok"}
    assert content["answer"]["speedup"] == 1
    assert content["hint"] is None
    assert content["answer"]["training_time"] is None
    assert any("Give --epoch-examples" in warning for warning in content["warnings"])


def test_a_wrong_option_is_refused_before_the_embedded_example_makes_its_images(tmp_path: Path) -> None:
    for wrong in (("--keep", "nonsense"), ("--keep", "batch_size", "--batch-range", "64..512")):
        done = run(tmp_path, "find", "--device", "cpu", *wrong)
        assert done.returncode == 2
        assert "of 512 images" not in done.stderr
    assert not (tmp_path / ".traindyno").exists()
