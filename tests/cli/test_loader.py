"""`traindyno loader` and `traindyno stalls` from the outside, on a simulated machine."""

import json
import os
import signal
from pathlib import Path

import pytest

from cli.command_line import document, paused, run

DATA = ("--data", "folder:/data/train", "--runner", "simulated", "--no-report")
FED = ("--model", "torchvision:resnet50", *DATA)
STALLS = ("stalls", *FED, "--batch-size", "256", "--workers", "4", "--repeats", "1", "--no-cold")


def typed_again(stderr: str) -> list[str]:
    """The words of the hint, as somebody would type them."""
    return stderr.rpartition("hint: ")[2].replace("\\\n", " ").split()[1:]


def test_a_loader_answers_in_the_documented_form(tmp_path: Path) -> None:
    content = document(run(tmp_path, "loader", *FED, "--json"))
    answer = content["answer"]
    knobs = {"num_workers", "prefetch_factor", "pin_memory", "persistent_workers", "decoder"}
    assert set(answer["recommended"]) == knobs
    assert {"examples_per_second", "start_up_seconds", "stages", "grid", "trials"} <= set(answer)
    assert [stage["stage"] for stage in answer["stages"]] == ["fetch", "decode", "augment", "collate"]
    assert answer["simulated"] is True
    assert {trial["kind"] for trial in content["trials"]} >= {"probe", "feed"}
    assert content["trials"][0]["data"] == "folder:/data/train"


def test_stalls_answers_in_the_documented_form(tmp_path: Path) -> None:
    answer = document(run(tmp_path, *STALLS, "--json"))["answer"]
    assert {"resident", "host_cached", "warm", "bytes_only", "decode_only"} <= set(answer["runs"])
    assert {"stall_share", "predicted", "bound", "remedies"} <= set(answer)


def test_the_last_lines_hold_the_line_to_copy_and_the_next_command(tmp_path: Path) -> None:
    completed = run(tmp_path, "loader", *FED)
    assert "loader = DataLoader(dataset, batch_size=64, shuffle=True, drop_last=True, num_workers=" in completed.stdout
    again = run(tmp_path, *typed_again(completed.stderr), "--runner", "simulated", "--dry-run")
    assert again.returncode == 0, again.stderr
    assert "each run in 3 fresh processes" in again.stdout


def test_the_verdict_is_the_last_thing_printed_and_its_remedy_can_be_typed(tmp_path: Path) -> None:
    completed = run(tmp_path, *STALLS)
    last = completed.stdout.splitlines()[-2:]
    assert last[0].startswith("Data-bound (decode): ")
    assert last[1].startswith("Cheapest remedy: ")
    again = run(tmp_path, *typed_again(completed.stderr), "--runner", "simulated", "--dry-run")
    assert again.returncode == 0, again.stderr


def test_every_rendering_of_a_loader_study_is_written(tmp_path: Path) -> None:
    grid = ("--grid", "--workers", "0,2", "--batch-size", "16,64")
    exports = [word for end in ("json", "csv", "html", "png") for word in (f"--export-{end}", f"out.{end}")]
    completed = run(tmp_path, "loader", *DATA, *grid, *exports, "--export-markdown", "out.md", "--name", "it")
    assert completed.returncode == 0, completed.stderr
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((tmp_path / "out.json").read_text())["answer"]["grid"]
    assert "| data  | CPU workers | batch size |" in (tmp_path / "out.md").read_text()
    assert run(tmp_path, "report", "it", "chart.svg").returncode == 0


def test_two_loader_studies_are_compared_by_worker_count_and_two_of_stalls_are_not(tmp_path: Path) -> None:
    counts = ("--grid", "--workers", "2,4", "--batch-size", "64")
    run(tmp_path, "loader", *DATA, *counts, "--name", "a")
    run(tmp_path, "loader", *DATA, "--runner", "simulated:decode_seconds=0.0075", *counts, "--name", "b")
    answer = document(run(tmp_path, "compare", "a", "b", "--json"))["answer"]
    row = next(row for row in answer["rows"] if row["key"] == "4 workers, batch 64")
    assert 0.4 < row["ratio"] < 0.6
    run(tmp_path, *STALLS, "--name", "s")
    refused = run(tmp_path, "compare", "s", "s")
    assert refused.returncode == 2
    assert "two stalls studies cannot be set side by side" in refused.stderr


@pytest.mark.parametrize("command", [("loader", *FED, "--decoder", "pil", "--cpus", "2,4,8"), STALLS])
def test_a_study_that_was_cut_goes_on_without_repeating_a_trial(tmp_path: Path, command: tuple[str, ...]) -> None:
    process = paused(tmp_path, 2, *command, "--runner", "simulated", "--name", "it")
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 130
    resumed = run(tmp_path, "resume", "it", "--no-report", "--json")
    assert resumed.returncode == 0, resumed.stderr
    content = document(resumed)
    told = [json.dumps([trial[name] for name in ("kind", "settings", "feed", "repeat")]) for trial in content["trials"]]
    assert len(told) == len(set(told)) > 3
    assert content["state"] == "done"


@pytest.mark.parametrize("command", [("loader",), ("stalls", "--model", "torchvision:resnet50", "--workers", "2")])
def test_without_data_the_way_to_some_is_shown(tmp_path: Path, command: tuple[str, ...]) -> None:
    completed = run(tmp_path, *command, "--runner", "simulated")
    assert completed.returncode == 2
    assert "nothing to load" in completed.stderr
    assert "traindyno data make" in completed.stderr


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (("loader", *DATA, "--batch-size", "16,32"), "add --grid"),
        (("loader", *DATA, "--workers", "0-4"), "write them as 0,1,2,4"),
        (("loader", "--data", "job.py:workload", "--model", "ir:50"), "can only feed its own model"),
        (("stalls", "--model", "job.py:workload", "--workers", "1", "--also", "memory:"), "cannot be held in memory"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_way_out(tmp_path: Path, wrong: tuple[str, ...], words: str) -> None:
    (tmp_path / "job.py").write_text("def workload(): ...\n")
    completed = run(tmp_path, *wrong)
    assert completed.returncode == 2
    assert words in completed.stderr


def test_a_dataset_of_one_s_own_is_measured_alone(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("def workload(): ...\n")
    answer = document(run(tmp_path, "loader", "--data", "job.py:workload", *DATA[2:], "--json"))["answer"]
    assert answer["data"] == "job.py:workload"
    assert answer["end_to_end"] is False


def test_local_ranks_share_the_cpus_and_are_counted_by_the_launcher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = document(run(tmp_path, "loader", *FED, "--json"))["answer"]
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    shared = document(run(tmp_path, "loader", *FED, "--json"))
    assert (alone["usable_cpus"], shared["answer"]["usable_cpus"]) == (8, 2)
    assert shared["answer"]["recommended"]["num_workers"] < alone["recommended"]["num_workers"]
    assert "--local-ranks 4" in shared["hint"]
    told = run(tmp_path, "loader", *FED, "--local-ranks", "2", "--dry-run")
    assert "what 4 CPUs for each of 2 local ranks allow" in told.stdout
    remedied = document(run(tmp_path, *STALLS, "--local-ranks", "2", "--json"))
    assert remedied["request"]["local_ranks"] == 2


def test_a_dry_run_of_a_loader_study_says_what_it_would_do(tmp_path: Path) -> None:
    completed = run(tmp_path, "loader", *DATA, "--grid", "--workers", "0,2", "--dry-run")
    assert "workers: 0, 2" in completed.stdout
    assert "about 7 trials" in completed.stdout
    assert not (tmp_path / "traindyno.db").exists()
