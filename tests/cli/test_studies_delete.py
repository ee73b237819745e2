"""`traindyno studies delete` as a user types it, on the simulated runner."""

import io
import sys
from pathlib import Path

import pytest

from cli.command_line import document, run, start
from cli.round_files import depth_round

ROUND = depth_round(trials=8, epochs=20, seeds="[seeds]\ngate = 3\nadopt = 6\n", rate=0.08)
HELPS = ("--runner", "simulated:depth_gain=0.02,seed_spread=0.002")


class Typed(io.StringIO):
    """A terminal at which somebody has typed something."""

    def isatty(self) -> bool:
        return True


def measured(folder: Path, name: str) -> None:
    ended = run(folder, "throughput", "--batch-size", "8,16", "--runner", "simulated", "--name", name, "-q")
    assert ended.returncode == 0, ended.stderr


def names(folder: Path) -> list[str]:
    return [each["name"] for each in document(run(folder, "studies", "--json"))["answer"]["studies"]]


def campaign(folder: Path) -> None:
    """A campaign that has begun, and has adopted something since."""
    (folder / "depth.toml").write_text(ROUND)
    simulated = (*HELPS, "--no-report", "-q")
    assert run(folder, "round", "first", *simulated).returncode == 0
    assert run(folder, "round", "run", "depth.toml", *simulated).returncode == 0
    assert run(folder, "round", "adopt", "depth", "--despite-checks", "--no-report", "-q").returncode == 0


def test_a_study_is_gone_with_its_log_checkpoints_and_report_and_others_stay(tmp_path: Path) -> None:
    measured(tmp_path, "gone")
    measured(tmp_path, "kept")
    logs, checkpoints = (tmp_path / ".traindyno" / each for each in ("logs", "checkpoints"))
    for folder in (logs, checkpoints):
        for name in ("gone", "kept"):
            (folder / name).mkdir(parents=True, exist_ok=True)
            (folder / name / "a.file").write_text("something")
    deleted = document(run(tmp_path, "studies", "delete", "gone", "--yes", "--json"))
    (study,) = deleted["answer"]["deleted"]
    assert (deleted["command"], study["name"], len(study["files"])) == ("studies delete", "gone", 3)
    assert names(tmp_path) == ["kept"]
    assert [path.name for path in (tmp_path / "traindyno-reports").iterdir()] == ["kept.html"]
    assert [path.name for folder in (logs, checkpoints) for path in folder.iterdir()] == ["kept", "kept"]
    assert run(tmp_path, "show", "gone").returncode == 2
    measured(tmp_path, "gone")


def test_without_a_terminal_nothing_is_deleted_unless_yes_is_said(tmp_path: Path) -> None:
    measured(tmp_path, "it")
    (tmp_path / "traindyno.toml").write_text("yes = true\n")
    refused = run(tmp_path, "studies", "delete", "it")
    assert (refused.returncode, names(tmp_path)) == (2, ["it"])
    assert "hint: add --yes" in refused.stderr
    told = run(tmp_path, "studies", "delete", "it", "--yes")
    assert (told.returncode, told.stdout) == (0, "it: deleted with 6 trials\n")
    assert names(tmp_path) == []


@pytest.mark.parametrize(("typed", "code", "left"), [("n\n", 1, ["it"]), ("\n", 1, ["it"]), ("y\n", 0, [])])
def test_on_a_terminal_it_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, code: int, left: list[str]
) -> None:
    measured(tmp_path, "it")
    monkeypatch.setattr(sys, "stdin", Typed(typed))
    asked = run(tmp_path, "studies", "delete", "it")
    assert asked.returncode == code, asked.stderr
    assert "it: throughput, 6 trials" in asked.stderr
    assert "traindyno-reports/it.html" in asked.stderr
    assert names(tmp_path) == left


def test_one_that_runs_now_is_refused_with_who_runs_it(tmp_path: Path) -> None:
    sizes = ("--batch-size", "8,16,32", "--runner", "simulated:sleep=30", "--name", "busy", "--no-report")
    running = start(tmp_path, "throughput", *sizes)
    try:
        assert running.stderr is not None
        assert any("busy" in line for line in running.stderr)
        refused = run(tmp_path, "studies", "delete", "busy", "--yes")
        assert refused.returncode == 1
        assert f"is being run by process {running.pid}" in refused.stderr
        assert names(tmp_path) == ["busy"]
    finally:
        running.kill()
        running.communicate()
    assert run(tmp_path, "studies", "delete", "busy", "--yes").returncode == 0


def test_a_mistake_deletes_nothing(tmp_path: Path) -> None:
    measured(tmp_path, "it")
    unknown = run(tmp_path, "studies", "delete", "it", "its", "--yes")
    assert unknown.returncode == 2
    assert "no study named 'its'" in unknown.stderr
    elsewhere = run(tmp_path, "studies", "--store", "other.db", "delete", "it", "--yes")
    assert elsewhere.returncode == 2
    assert "traindyno studies delete NAME --store URL" in elsewhere.stderr
    assert names(tmp_path) == ["it"]
    missing = run(tmp_path, "studies", "delete", "it", "--yes", "--store", "other.db")
    assert "there is no store at other.db" in missing.stderr


def test_lines_of_a_ledger_are_kept_unless_the_campaign_goes_as_a_whole(tmp_path: Path) -> None:
    campaign(tmp_path)
    measured(tmp_path, "other")
    before = document(run(tmp_path, "round", "ledger", "--json"))["answer"]
    assert [each["study"] for each in before["entries"]] == ["first", "depth.adopt"]
    for named in ("first", "depth.adopt", "depth"):
        refused = run(tmp_path, "studies", "delete", named, "--yes")
        assert refused.returncode == 2
        assert "goes as a whole or not at all" in refused.stderr
    assert "traindyno studies delete depth depth.adopt first" in refused.stderr
    assert run(tmp_path, "studies", "delete", "other", "--yes").returncode == 0
    assert document(run(tmp_path, "round", "ledger", "--json"))["answer"] == before
    assert run(tmp_path, "studies", "delete", "depth", "depth.adopt", "first", "--yes").returncode == 0
    assert document(run(tmp_path, "round", "ledger", "--json"))["answer"]["entries"] == []
