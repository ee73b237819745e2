"""`traindyno round run` as a user types it, on the simulated runner."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

import traindyno
from cli.command_line import document, helped, paused, run, start
from cli.pausing import interrupted_after
from cli.round_files import depth_round

ROUND = depth_round(trials=3, seeds="[seeds]\ngate = 2\n")
PLANNED = 2 + 2 * 3
SIMULATED = ("--runner", "simulated", "--no-report")
RUN = ("round", "run", "depth.toml", *SIMULATED)
Slot = tuple[str, str, int]


def write(folder: Path, *changes: tuple[str, str]) -> Path:
    text = ROUND
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    file = folder / "depth.toml"
    file.write_text(text)
    return file


def run_round(folder: Path, *further: str) -> subprocess.CompletedProcess[str]:
    return run(folder, *RUN, *further)


def slow(seconds: float) -> tuple[str, ...]:
    return ("round", "run", "depth.toml", "--runner", f"simulated:sleep={seconds}", "--no-report")


def trials(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = document(run(folder, "show", "depth", "--json"))["trials"]
    return found


def slots(folder: Path) -> list[Slot]:
    return [(draw["phase"], draw["arm"], draw["index"]) for draw in (trial["draw"] for trial in trials(folder))]


def wait_until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.1)


def has_study(folder: Path) -> bool:
    listed = run(folder, "studies", "--json")
    return listed.returncode == 0 and bool(document(listed)["answer"]["studies"])


ALL = sorted(
    [("gate", "mlp:64", index) for index in range(2)]
    + [("search", arm, index) for arm in ("mlp:64", "mlp:64x64") for index in range(3)]
)


def test_a_round_runs_its_gate_and_every_arm_and_says_what_to_type_next(tmp_path: Path) -> None:
    write(tmp_path)
    ran = run_round(tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert sorted(slots(tmp_path)) == ALL
    assert [slot[0] for slot in slots(tmp_path)[:2]] == ["gate", "gate"]
    assert "[8/8] mlp:64x64, learning_rate" in ran.stderr
    assert "best so far: accuracy 9" in ran.stderr
    assert re.search(r"hint: (traindyno round adopt depth|Set )", ran.stderr)
    assert "Round depth: Does a deeper network help?" in ran.stdout


def test_its_document_is_that_of_the_round(tmp_path: Path) -> None:
    write(tmp_path)
    told = document(run_round(tmp_path, "--json"))
    assert (told["command"], told["study"], told["answer"]["round"]) == ("round run", "depth", "depth")
    assert told["answer"]["simulated"] is True
    assert told["answer"]["planned_trials"] == PLANNED
    assert len(told["trials"]) == PLANNED
    assert document(run(tmp_path, "show", "depth", "--json"))["answer"]["best"] == told["answer"]["best"]


def test_the_same_command_again_runs_nothing(tmp_path: Path) -> None:
    write(tmp_path)
    run_round(tmp_path)
    before = trials(tmp_path)
    again = run_round(tmp_path)
    assert again.returncode == 0
    assert f"{PLANNED} trials kept" in again.stderr
    assert trials(tmp_path) == before


def test_widening_a_range_and_adding_trials_keeps_the_old_runs(tmp_path: Path) -> None:
    write(tmp_path)
    run_round(tmp_path)
    before = trials(tmp_path)
    write(tmp_path, ("trials = 3", "trials = 5"), ("low = 0.01", "low = 0.001"))
    assert run_round(tmp_path).returncode == 0
    after = trials(tmp_path)
    assert after[:PLANNED] == before
    assert len(after) == 2 + 2 * 5
    assert len({*slots(tmp_path)}) == len(after)


def test_widening_a_range_alone_says_that_trials_are_spent_and_how_many_go_on(tmp_path: Path) -> None:
    narrow, wide = ((("low = 0.01", "low = 0.0003"), ("high = 1.0", f"high = {high}")) for high in (0.03, 10.0))
    write(tmp_path, ("trials = 3", "trials = 12"), *narrow)
    step = document(run_round(tmp_path, "--json"))["hint"]
    assert re.search(r"high = .* under \[nuisance.learning_rate\], and trials = \d+ under \[budget\]", step)
    before = trials(tmp_path)
    write(tmp_path, ("trials = 3", "trials = 12"), *wide)
    told = document(run_round(tmp_path, "--json"))
    assert trials(tmp_path) == before
    assert any(
        "its range goes on to 10, but no run lies there yet" in check["text"] for check in told["answer"]["checks"]
    )
    wanted = re.search(r"Set (trials = \d+) under \[budget\]", told["hint"])
    assert wanted is not None
    write(tmp_path, ("trials = 3", wanted[1]), *wide)
    run_round(tmp_path)
    after = trials(tmp_path)
    assert after[: len(before)] == before
    new = [each["draw"] for each in after[len(before) :]]
    beyond = [draw["arm"] for draw in new if draw["values"]["learning_rate"] > 0.03]
    assert beyond.count("mlp:64") == beyond.count("mlp:64x64") >= 2


def test_a_wider_range_without_runs_is_told_also_where_the_optimum_lies_inside(tmp_path: Path) -> None:
    write(tmp_path, ("trials = 3", "trials = 12"), ("low = 0.01", "low = 0.0003"))
    assert not any("goes on to" in warning for warning in document(run_round(tmp_path, "--json"))["warnings"])
    write(tmp_path, ("trials = 3", "trials = 12"), ("low = 0.01", "low = 0.0003"), ("high = 1.0", "high = 50.0"))
    warnings = document(run_round(tmp_path, "--json"))["warnings"]
    assert any("learning_rate goes on to 50, but no run lies above" in warning for warning in warnings)


def test_an_arm_can_be_added(tmp_path: Path) -> None:
    write(tmp_path)
    run_round(tmp_path)
    write(tmp_path, ('"mlp:64x64"]', '"mlp:64x64", "mlp:128"]'))
    assert run_round(tmp_path).returncode == 0
    assert slots(tmp_path)[PLANNED:] == [("search", "mlp:128", index) for index in range(3)]


OTHER_QUESTIONS = (
    ("epochs = 10", "epochs = 20", "epochs fixed at 10.0"),
    ('data = "digits:"', 'data = "folder:/x"', "the data digits:"),
    ('kind = "helps"', 'kind = "effect"', "the goal helps"),
    ("gate = 2", "gate = 1", "so many runs of the gate: 2"),
    ("learning_rate = 0.03", "learning_rate = 0.05", "the incumbent's learning_rate 0.03"),
    ("[fixed.momentum]\nvalue = 0.9", "[fixed.momentum]\nvalue = 0.8", "momentum fixed at 0.9"),
)


def test_another_question_under_the_same_name_is_refused(tmp_path: Path) -> None:
    write(tmp_path)
    run_round(tmp_path)
    for before, after, named in OTHER_QUESTIONS:
        write(tmp_path, (before, after))
        refused = run_round(tmp_path)
        assert refused.returncode == 2
        assert f"the round 'depth' was begun with {named}" in refused.stderr
        assert "another `name`" in refused.stderr
    assert len(trials(tmp_path)) == PLANNED


def test_a_name_that_another_study_has_is_refused(tmp_path: Path) -> None:
    write(tmp_path)
    run(tmp_path, "throughput", "--batch-size", "8", "--runner", "simulated", "--name", "depth", "--no-report")
    refused = run_round(tmp_path)
    assert refused.returncode == 2
    assert "one of `throughput`" in refused.stderr


def test_a_round_that_does_not_pass_its_gate_is_not_tuned(tmp_path: Path) -> None:
    write(tmp_path, ("learning_rate = 0.03", "learning_rate = 0.0000001"))
    ran = run_round(tmp_path)
    assert ran.returncode == 1
    assert "Nothing was tuned" in ran.stderr
    hint = " ".join(ran.stderr.partition("hint: ")[2].split())
    assert "try another rate" in hint
    assert "give the round another `name` in its file" in hint
    assert slots(tmp_path) == [("gate", "mlp:64", 0), ("gate", "mlp:64", 1)]
    write(tmp_path, ('"depth"', '"depth-2"'))
    assert run_round(tmp_path).returncode == 0


def test_the_hint_is_what_a_failed_check_wants(tmp_path: Path) -> None:
    write(tmp_path, ("trials = 3", "trials = 2"))
    told = document(run_round(tmp_path, "--json"))
    failed = [check for check in told["answer"]["checks"] if check["state"] == "failed"]
    assert told["hint"] == failed[0]["next_step"]
    assert "in the round's file" in told["hint"]


def test_a_first_round_has_one_next_command_and_advice_that_its_options_can_follow(tmp_path: Path) -> None:
    first = ("round", "first", *SIMULATED, "--json")
    few = document(run(tmp_path, *first, "--rates", "2"))
    assert few["answer"]["ready"] is False
    assert "the same command with --rates 6" in few["hint"]
    assert "`traindyno round next first` writes a file" in few["hint"]
    enough = document(run(tmp_path, *first, "--rates", "6"))
    again = document(run(tmp_path, "resume", "first", "--no-report", "--json"))
    assert enough["hint"] == again["hint"] == "traindyno round next first"
    assert len(enough["trials"]) == 6


def test_a_dry_run_tells_roles_arms_and_runs(tmp_path: Path) -> None:
    write(tmp_path)
    told = run_round(tmp_path, "--dry-run")
    assert told.returncode == 0, told.stderr
    for line in (
        "target: model mlp:64, mlp:64x64",
        "nuisance: learning_rate 0.01 to 1, log",
        "arm mlp:64x64: learning_rate",
        "runs: 2 of the incumbent + 3 in each of 2 arms",
        "about 8 runs, as long as they take",
    ):
        assert line in told.stdout.splitlines()
    assert not (tmp_path / "traindyno.db").exists()


def test_a_mistake_in_the_file_is_told_with_its_place(tmp_path: Path) -> None:
    write(tmp_path, ("batch_size = 64", 'batch_size = 64\ncompile = "reduce-overhead"'))
    refused = run(tmp_path, "round", "run", "depth.toml", "--device", "cpu", "--dry-run")
    assert refused.returncode == 2
    assert "the incumbent: compile=reduce-overhead only matters on a GPU" in refused.stderr
    assert run(tmp_path, "round", "run", "none.toml").returncode == 2


def test_a_budget_of_hours_ends_the_search_and_the_round_is_done(tmp_path: Path) -> None:
    write(tmp_path, ("trials = 3", "hours = 0.5"))
    told = document(run_round(tmp_path, "--json"))
    searched = [trial for trial in told["trials"] if trial["draw"]["phase"] == "search"]
    assert 1800 <= sum(trial["seconds"] for trial in searched) < 1800 + max(trial["seconds"] for trial in searched)
    counts = [sum(trial["draw"]["arm"] == arm for trial in searched) for arm in ("mlp:64", "mlp:64x64")]
    assert abs(counts[0] - counts[1]) <= 1
    assert told["state"] == "done"
    assert len(document(run_round(tmp_path, "--json"))["trials"]) == len(told["trials"])


def test_ctrl_c_keeps_everything_and_resume_ends_the_round(tmp_path: Path) -> None:
    write(tmp_path)
    process = paused(tmp_path, 4, *RUN)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "traindyno resume depth" in stderr
    before = trials(tmp_path)
    assert len(before) == 4 < PLANNED
    resumed = run(tmp_path, "resume", "depth", "--no-report")
    assert resumed.returncode == 0, resumed.stderr
    assert trials(tmp_path)[: len(before)] == before
    assert sorted(slots(tmp_path)) == ALL


def test_a_time_budget_ends_it_with_what_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path)
    nothing = run(tmp_path, *slow(5), "--time-budget", "0.2s")
    assert nothing.returncode == 124
    assert "before any run came to its end" in nothing.stderr
    interrupted_after(3, monkeypatch.setattr)
    some = run_round(tmp_path, "--time-budget", "3s")
    assert some.returncode == 0
    assert "The time budget ended after" in some.stderr
    assert len(trials(tmp_path)) == 3 < PLANNED


def test_the_same_command_in_another_terminal_takes_part(tmp_path: Path) -> None:
    write(tmp_path, ("trials = 3", "trials = 5"))
    together = [helped(tmp_path, 1, *RUN), start(tmp_path, *RUN)]
    ended = [process.communicate(timeout=120) for process in together]
    assert [process.returncode for process in together] == [0, 0], ended
    assert len(slots(tmp_path)) == len({*slots(tmp_path)}) == 2 + 2 * 5
    ran = [stderr.count("\n[") for _, stderr in ended]
    assert sum(ran) == 2 + 2 * 5
    assert min(ran) > 0
    assert run(tmp_path, "studies").stdout.count("done") == 1


def test_a_wider_file_waits_until_the_round_is_not_run_as_it_was(tmp_path: Path) -> None:
    write(tmp_path)
    process = start(tmp_path, *slow(1))
    wait_until(lambda: has_study(tmp_path))
    write(tmp_path, ("trials = 3", "trials = 5"))
    refused = run_round(tmp_path)
    assert refused.returncode == 1
    assert "is being run by process" in refused.stderr
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=120)
    assert run_round(tmp_path).returncode == 0
    assert len(slots(tmp_path)) == 2 + 2 * 5


def test_further_processes_share_the_runs_quietly(tmp_path: Path) -> None:
    write(tmp_path, ("trials = 3", "trials = 6"))
    ran = helped(tmp_path, 1, *RUN, "--processes", "3")
    stdout, stderr = ran.communicate(timeout=120)
    assert ran.returncode == 0, stderr
    assert stdout.count("Round depth") == 1
    assert len(slots(tmp_path)) == len({*slots(tmp_path)}) == 2 + 2 * 6
    assert stderr.count("\n[") < 2 + 2 * 6
    logs = tmp_path / ".traindyno" / "logs" / "depth"
    assert [path.read_text() for path in sorted(logs.glob("process-*.log"))] == ["", ""]


def test_further_processes_end_with_the_one_that_started_them(tmp_path: Path) -> None:
    write(tmp_path)
    process = start(tmp_path, *slow(2), "--processes", "3")
    logs = tmp_path / ".traindyno" / "logs" / "depth"
    wait_until(lambda: len(list(logs.glob("process-*.log"))) == 2)
    helpers = psutil.Process(process.pid).children()
    assert len(helpers) == 2
    process.kill()
    process.communicate()
    assert psutil.wait_procs(helpers, timeout=60)[1] == []
    assert run_round(tmp_path).returncode == 0
    assert sorted(slots(tmp_path)) == ALL


def test_a_proof_that_was_cut_is_resumed_by_its_name(tmp_path: Path) -> None:
    write(tmp_path)
    run_round(tmp_path)
    cut = run(tmp_path, "round", "adopt", "depth", "--despite-checks", "--no-report", "--time-budget", "0.1s")
    assert "traindyno resume depth.adopt" in cut.stderr
    resumed = run(tmp_path, "resume", "depth.adopt", "--time-budget", "1m", "--no-report", "--json")
    assert resumed.returncode == 0, resumed.stderr
    told = document(resumed)
    assert (told["command"], told["state"]) == ("round adopt", "done")
    assert {trial["draw"]["phase"] for trial in told["trials"]} == {"confirm"}


def test_a_round_runs_from_python_too(tmp_path: Path) -> None:
    store = str(tmp_path / "traindyno.db")
    answer = traindyno.run_round(ROUND, store=store, runner="simulated")
    again = traindyno.run_round(write(tmp_path), store=store, runner="simulated")
    assert len(answer.runs) == len(again.runs) == PLANNED
    assert answer.best == again.best
