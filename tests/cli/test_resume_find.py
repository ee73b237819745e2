"""`traindyno resume` of studies that had too little time, whose code has moved, or whose settings are exported."""

import shlex
from pathlib import Path
from typing import Any

from cli.command_line import document, run

WORKLOAD = ("--data", "folder:/data", "--batch-size", "256", "--workers", "4", "--no-report")
MODEL = ("--model", "torchvision:resnet50")
FIND = ("find", *MODEL, *WORKLOAD, "--runner", "simulated")
THROUGHPUT = ("throughput", *MODEL, "--runner", "simulated:sleep=0.01", "--no-report", "--name", "it")
FAST_DATA = "simulated:decode_seconds=0.00001,augment_seconds=0.00001"
REAL_JOB = (
    "import torch\nfrom torch import nn\nfrom traindyno import Workload\n\n\n"
    "def build():\n    return Workload(model=nn.Linear(4, 2), example_input=torch.randn(1, 4))\n"
)
JOB = "from torch import nn\ndef build():\n    return nn.Linear(4, 2)\ndef other():\n    return nn.Linear(4, 3)\n"


def follow(folder: Path, hint: str) -> dict[str, Any]:
    """Type what a hint says."""
    return document(run(folder, *shlex.split(hint)[1:], "--no-report", "--json"))


def test_a_search_that_had_too_little_time_goes_on_with_more(tmp_path: Path) -> None:
    short = document(run(tmp_path, *FIND, "--time-budget", "20s", "--name", "it", "--json"))
    assert short["answer"]["speedup"] == 1
    assert short["hint"] == "traindyno resume it --time-budget 1m"
    longer = document(run(tmp_path, "resume", "it", "--time-budget", "1h", "--no-report", "--json"))
    assert longer["answer"]["speedup"] > 2
    assert longer["trials"][: len(short["trials"])] == short["trials"]
    assert longer["request"]["bench"]["time_budget_seconds"] == 3600
    again = document(run(tmp_path, "resume", "it", "--no-report", "--json"))
    assert again["trials"] == longer["trials"], "the study remembers the time that it was given"
    assert again["answer"]["recommended"] == longer["answer"]["recommended"]


def test_a_search_in_a_hurry_compares_one_change_and_goes_on_with_more_time(tmp_path: Path) -> None:
    short = document(run(tmp_path, *FIND, "--time-budget", "30s", "--name", "it", "--json"))
    assert short["answer"]["speedup"] > 1.5
    assert not short["answer"]["recommended"]["confirmed"]
    assert "traindyno verify it.toml" in short["hint"]
    longer = document(run(tmp_path, "resume", "it", "--time-budget", "1h", "--no-report", "--json"))
    assert longer["answer"]["speedup"] > 2
    assert longer["answer"]["recommended"]["confirmed"]
    assert longer["trials"][: len(short["trials"])] == short["trials"]


def test_a_search_without_any_result_names_the_way_on(tmp_path: Path) -> None:
    sleepy = ("--runner", "simulated:sleep=0.2", "--time-budget", "100ms", "--name", "it")
    spent = run(tmp_path, "find", *MODEL, *WORKLOAD, *sleepy)
    assert spent.returncode == 124
    assert "hint: traindyno resume it --time-budget 1m" in spent.stderr


def test_other_studies_get_another_budget_for_their_rest_too(tmp_path: Path) -> None:
    assert run(tmp_path, *THROUGHPUT, "--time-budget", "1ms").returncode == 124
    again = document(run(tmp_path, "resume", "it", "--time-budget", "10m", "--no-report", "--json"))
    assert again["state"] == "done"
    assert again["request"]["bench"]["time_budget_seconds"] == 600


def test_the_project_s_time_budget_is_not_that_of_a_study_s_rest(tmp_path: Path) -> None:
    run(tmp_path, *FIND, "--time-budget", "30m", "--name", "it")
    (tmp_path / "traindyno.toml").write_text('time-budget = "1s"\n')
    again = document(run(tmp_path, "resume", "it", "--no-report", "--json"))
    assert again["request"]["bench"]["time_budget_seconds"] == 1800


def test_code_that_has_moved_is_run_from_where_it_lies_now(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(REAL_JOB)
    fit = ("--device", "cpu", "--limit", "8", "--no-report", "--name", "it")
    assert run(tmp_path, "max-batch", "--model", "job.py:build", *fit, "--time-budget", "1ms").returncode == 124
    (tmp_path / "job.py").rename(tmp_path / "moved.py")
    resume = ("resume", "it", "--time-budget", "10m", "--no-report", "--json")
    again = document(run(tmp_path, *resume, "--model", "moved.py:build"))
    assert again["state"] == "done"
    assert {trial["outcome"] for trial in again["trials"]} == {"ok"}


def test_code_of_a_search_that_has_moved_goes_on_from_where_it_lies_now(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(JOB)
    command = ("find", "--model", "job.py:build", *WORKLOAD, "--runner", "simulated", "--time-budget", "40s")
    short = document(run(tmp_path, *command, "--name", "it", "--json"))
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    (tmp_path / "job.py").rename(elsewhere / "job.py")
    resume = ("resume", "it", "--time-budget", "1h", "--no-report", "--json")
    unnamed = run(tmp_path, *resume)
    assert unnamed.returncode == 2
    assert "which must be named again" in unnamed.stderr
    other = run(tmp_path, *resume, "--model", "else where/job.py:other")
    assert other.returncode == 2
    again = document(run(tmp_path, *resume, "--model", "else where/job.py:build"))
    assert again["trials"][: len(short["trials"])] == short["trials"]
    assert again["answer"]["model"] == "job.py:build"
    assert "verify it.toml --model 'else where/job.py:build' --runner simulated" in again["hint"]


def test_names_in_hints_can_be_typed(tmp_path: Path) -> None:
    (tmp_path / "my job.py").write_text(JOB)
    run(tmp_path, "find", "--model", "my job.py:build", *WORKLOAD, "--runner", "simulated", "--name", "it")
    assert "hint: add --model 'my job.py:build'" in run(tmp_path, "resume", "it").stderr


def test_an_export_while_resuming_is_what_the_hint_names(tmp_path: Path) -> None:
    run(tmp_path, *FIND, "--name", "it", "--time-budget", "40s")
    resume = ("resume", "it", "--time-budget", "1h", "--export-toml", "r.toml", "--no-report", "--json")
    again = document(run(tmp_path, *resume))
    assert again["hint"] == "traindyno verify r.toml --runner simulated"
    assert follow(tmp_path, again["hint"])["command"] == "verify"


def test_a_study_without_settings_to_export_is_refused_before_the_work(tmp_path: Path) -> None:
    run(tmp_path, *THROUGHPUT, "--time-budget", "1ms")
    refused = run(tmp_path, "resume", "it", "--time-budget", "10m", "--export-toml", "r.toml")
    assert refused.returncode == 2
    assert "is one of `throughput` and recommends no settings" in refused.stderr
    assert "batch" not in refused.stderr


def test_a_batch_that_alone_is_faster_is_hinted_at_with_the_range_that_allows_it(tmp_path: Path) -> None:
    kept = "precision,compile,memory_format,tf32,cudnn_benchmark,optimizer_kernel,expandable_segments,determinism,data"
    loader = "decoder,workers,prefetch_factor,pin_memory,persistent_workers"
    own = ("--batch-size", "16", "--workers", "8", "--runner", FAST_DATA, "--keep", f"{kept},{loader}")
    found = document(run(tmp_path, "find", *MODEL, *WORKLOAD, *own, "--json"))
    assert not found["answer"]["recommended"]["changes"]
    best = found["answer"]["with_free_batch"]["batch_size"]
    assert f"--batch-range 16..{best}" in found["hint"]
    allowed = follow(tmp_path, found["hint"])
    assert allowed["answer"]["recommended"]["batch_size"] == best
