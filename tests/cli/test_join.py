"""`traindyno join` as a user types it, on the simulated runner."""

from pathlib import Path

import pytest

from cli.command_line import document, run, start
from cli.round_files import depth_round
from postgres import PASSWORD, Cluster

ROUND = depth_round(trials=3, seeds="[seeds]\ngate = 2\n")
PLANNED = 2 + 2 * 3


def test_a_round_is_run_by_its_own_process_and_one_that_joins_on_a_server(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "depth.toml").write_text(ROUND)
    store = ("--store", cluster.new_store())
    head = start(tmp_path, "round", "run", "depth.toml", "--runner", "simulated:sleep=0.8", "--no-report", *store)
    beside = run(tmp_path, "join", "depth", "--wait", "60s", "--json", *store)
    out, error = head.communicate(timeout=120)
    assert (head.returncode, beside.returncode) == (0, 0), (error, beside.stderr)
    told = document(beside)
    (part,) = told["answer"]["studies"]
    assert (told["command"], part["study"], part["state"]) == ("join", "depth", "done")
    assert 0 < part["ran"] < PLANNED
    assert sum(line.startswith("[") for line in beside.stderr.splitlines()) == part["ran"]
    shown = run(tmp_path, "show", "depth", "--json", *store)
    assert len(document(shown)["trials"]) == PLANNED
    assert PASSWORD not in "".join((out, error, beside.stdout, beside.stderr, shown.stdout, shown.stderr))
    assert not (tmp_path / "traindyno.db").exists()


def test_at_the_end_it_is_told_how_many_trials_ran_here(tmp_path: Path) -> None:
    (tmp_path / "depth.toml").write_text(ROUND)
    cut = run(
        tmp_path,
        "round",
        "run",
        "depth.toml",
        "--runner",
        "simulated:sleep=0.25",
        "--no-report",
        "--time-budget",
        "600ms",
    )
    assert cut.returncode in (0, 124, 130), cut.stderr
    joined = run(tmp_path, "join", "depth")
    assert joined.returncode == 0, joined.stderr
    last = joined.stdout.splitlines()[-1]
    assert last.startswith("ran ")
    assert last.endswith(" in all")
    assert "the study is done" in joined.stdout


def test_without_a_study_the_error_says_how_one_begins(tmp_path: Path) -> None:
    nothing = run(tmp_path, "join")
    assert nothing.returncode == 1
    assert "hint: begin one with `traindyno round run FILE`, or wait for one with --wait 10m" in nothing.stderr


@pytest.mark.parametrize("wait", [(), ("--wait", "1s")])
def test_a_store_that_is_not_there_is_not_made_by_looking_into_it(tmp_path: Path, wait: tuple[str, ...]) -> None:
    refused = run(tmp_path, "join", "--store", "mistyped.db", *wait)
    assert refused.returncode == 1
    assert "there is no store at mistyped.db" in refused.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("store", ["postgresql://ada:hunter2@127.0.0.1:9/runs", "mysql://ada:hunter2@db/runs"])
def test_an_error_of_the_store_shows_no_password(tmp_path: Path, store: str) -> None:
    for as_json in ((), ("--json",)):
        refused = run(tmp_path, "join", "--store", store, *as_json)
        assert refused.returncode in (1, 2)
        assert "hunter2" not in refused.stdout + refused.stderr
        assert "ada:***@" in refused.stderr
