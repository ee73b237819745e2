"""`traindyno round adopt`, `ledger` and `first` as a user types them, on the simulated runner."""

import shutil
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import traindyno
from cli.command_line import document, run
from cli.round_files import depth_round
from traindyno.store import connection

ROUND = depth_round(
    trials=8, top="minimum_gain = 0.002\n", epochs=20, seeds="[seeds]\ngate = 3\nadopt = 6\n", rate=0.08
)
HELPS = "simulated:depth_gain=0.02,seed_spread=0.002"
HELPS_NOT = "simulated:depth_gain=0,seed_spread=0.004"


BATCH = """
name = "batch"
[goal]
kind = "effect"
[job]
model = "mlp:64x64"
data = "digits:"
epochs = 3
schedule = "constant"
[budget]
trials = 2
[target.batch_size]
values = [64, 16]
[fixed.learning_rate]
value = 0.02
[fixed.momentum]
value = 0.9
[fixed.label_smoothing]
value = 0.0
[fixed.weight_decay]
value = 0.0
[incumbent]
batch_size = 64
"""


def searched(folder: Path, runner: str, *changes: tuple[str, str], code: int = 0) -> Path:
    """A round that has been run."""
    text = ROUND
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    (folder / "depth.toml").write_text(text)
    ended = run(folder, "round", "run", "depth.toml", "--runner", runner, "--no-report", "-q")
    assert ended.returncode == code, ended.stderr
    return folder


def adopt(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return run(folder, "round", "adopt", "depth", "--no-report", "-q", "--despite-checks", *options)


def answer(ended: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = document(ended)["answer"]
    return found


@pytest.fixture(scope="module")
def adopted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A round whose deeper network helps, and was adopted."""
    folder = searched(tmp_path_factory.mktemp("adopted"), HELPS)
    assert answer(adopt(folder, "--json"))["verdict"] == "adopt"
    return folder


def test_a_dry_run_says_who_is_proved_against_whom_with_how_many_seeds_and_how_long_and_runs_nothing(
    tmp_path: Path,
) -> None:
    searched(tmp_path, HELPS)
    told = adopt(tmp_path, "--dry-run", "--seeds", "5", "--time-budget", "10m").stdout
    assert "proof of depth: 2 candidates against the incumbent" in told
    assert "incumbent: model=mlp:64, " in told
    assert "candidate mlp:64x64: model=mlp:64x64, learning_rate=" in told
    assert "fresh seeds: 5 of each" in told
    assert "runs: 15\n" in told
    assert "one after the other, as the round's own runs took" in told
    assert "at most 10 min 00 s of that" in told
    planned = answer(adopt(tmp_path, "--dry-run", "--json"))
    took = [trial["seconds"] for trial in document(run(tmp_path, "show", "depth", "--json"))["trials"]]
    assert (planned["seeds"], planned["expected_trials"]) == (6, 18)
    assert 18 * min(took) <= planned["expected_seconds"] <= 18 * max(took)
    assert [row["label"] for row in planned["candidates"]] == ["mlp:64x64", "mlp:64"]
    known = document(run(tmp_path, "studies", "--json"))["answer"]["studies"]
    assert [each["name"] for each in known] == ["depth"]
    assert answer(adopt(tmp_path, "--json"))["verdict"] == "adopt"
    assert "runs: 0; 18 are there already" in adopt(tmp_path, "--dry-run").stdout


def test_what_helps_is_adopted_on_fresh_seeds_of_its_own_study(adopted: Path) -> None:
    found = document(run(adopted, "show", "depth.adopt", "--json"))
    told = found["answer"]
    assert (told["winner"], told["seeds"], told["simulated"]) == ("mlp:64x64", 6, True)
    assert told["gain"] > 0.01
    assert 0 < told["p_value"] < told["level"] == 0.025
    assert told["configuration"]["model"] == "mlp:64x64"
    seeds = {(trial["draw"]["phase"], trial["seed"]) for trial in found["trials"]}
    first = found["request"]["first_seed"]
    assert seeds == {("confirm", first + index) for index in range(6)}
    assert first >= 1_000_000, "the search does not come there"


def test_asking_again_runs_nothing_and_says_the_same(adopted: Path) -> None:
    before = document(run(adopted, "show", "depth.adopt", "--json"))
    again = document(adopt(adopted, "--json"))
    assert len(again["trials"]) == len(before["trials"])
    assert again["answer"]["p_value"] == before["answer"]["p_value"]


def test_the_ledger_has_the_decision_with_the_command_to_repeat_it(adopted: Path) -> None:
    told = answer(run(adopted, "round", "ledger", "--json"))
    (entry,) = told["entries"]
    assert (entry["round"], entry["verdict"], entry["seeds"], entry["stale"]) == ("depth", "adopt", 6, None)
    assert entry["changes"]["model"] == "mlp:64x64"
    assert entry["command"] == "traindyno round adopt depth --seeds 6"
    assert (told["configuration"]["model"], told["configuration"]["batch_size"]) == ("mlp:64x64", 64)
    shown = run(adopted, "round", "ledger")
    assert "what holds now: model=mlp:64x64" in " ".join(shown.stdout.split())


def test_python_adopts_and_lists_the_same(adopted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(adopted)
    decided = traindyno.adopt_round("depth", despite_checks=True)
    assert (decided.verdict, decided.winner) == ("adopt", "mlp:64x64")
    assert [entry.round for entry in traindyno.round_ledger().entries] == ["depth"]
    with pytest.raises(traindyno.TraindynoError, match="nobody picks them"):
        traindyno.adopt_round("depth", despite_checks=True, seed=3)


def test_more_seeds_are_a_further_look_at_the_same_question(tmp_path: Path) -> None:
    searched(tmp_path, HELPS_NOT)
    first = answer(adopt(tmp_path, "--json", "--arm", "mlp:64x64"))
    second = document(adopt(tmp_path, "--json", "--seeds", "8"))
    assert (first["seeds"], first["level"], first["spent"]) == (6, 0.025, 0.0)
    assert second["request"]["looks"] == [6, 8]
    assert (second["answer"]["seeds"], second["answer"]["level"], second["answer"]["spent"]) == (8, 0.0125, 0.025)
    assert [row["label"] for row in second["answer"]["rows"]] == ["incumbent", "mlp:64x64"]
    assert len(second["trials"]) == 16
    assert not any("other best ones" in warning for warning in second["warnings"])
    fewer = adopt(tmp_path, "--seeds", "7")
    assert fewer.returncode == 2
    assert "what was seen cannot be unseen" in fewer.stderr


def test_a_look_that_was_cut_short_has_decided_nothing(tmp_path: Path) -> None:
    searched(tmp_path, HELPS)
    slow = f"{HELPS},sleep=0.3"
    cut = adopt(tmp_path, "--runner", slow, "--time-budget", "1s", "--json")
    told = document(cut)["answer"]
    assert (told["verdict"], told["p_value"]) == ("undecided", None)
    assert answer(run(tmp_path, "round", "ledger", "--json"))["entries"] == []
    few = adopt(tmp_path, "--seeds", "3")
    assert few.returncode == 2
    assert "with 3 seeds of each not even the clearest gain" in few.stderr
    done = document(adopt(tmp_path, "--seeds", "5", "--json"))
    assert done["request"]["looks"] == [5], "nothing was seen at the first look, so fewer may do"


def test_a_further_look_that_is_cut_short_leaves_the_first_as_it_was(tmp_path: Path) -> None:
    searched(tmp_path, HELPS_NOT)
    first = answer(adopt(tmp_path, "--json"))
    (before,) = answer(run(tmp_path, "round", "ledger", "--json"))["entries"]
    slow = ("--runner", f"{HELPS_NOT},sleep=0.3", "--time-budget", "1s")
    cut = document(adopt(tmp_path, "--seeds", "40", *slow, "--json"))["answer"]
    assert (cut["verdict"], cut["p_value"], cut["seeds"]) == (first["verdict"], first["p_value"], 6)
    assert answer(run(tmp_path, "round", "ledger", "--json"))["entries"] == [before]
    fewer = document(adopt(tmp_path, "--seeds", "9", "--json"))
    assert fewer["request"]["looks"] == [6, 9]


def test_a_run_that_outlived_its_limit_is_made_again_before_anything_is_decided(adopted: Path, tmp_path: Path) -> None:
    shutil.copytree(adopted, tmp_path, dirs_exist_ok=True)
    (store,) = tmp_path.glob("*.db")
    with closing(sqlite3.connect(store)) as database, database:
        ended = "outcome = 'timeout', record = json_set(record, '$.outcome', 'timeout', '$.measurement', NULL)"
        database.execute(f"UPDATE attempts SET {ended} WHERE trial_id = (SELECT MAX(id) FROM trials)")
    assert answer(run(tmp_path, "round", "ledger", "--json"))["entries"] == []
    again = answer(adopt(tmp_path, "--json"))
    assert (again["verdict"], again["seeds"]) == ("adopt", 6)


@pytest.mark.slow
def test_two_processes_share_the_fresh_seeds(tmp_path: Path) -> None:
    searched(tmp_path, HELPS)
    slow = ("--runner", f"{HELPS},sleep=0.5", "--processes", "2", "--json")
    found = document(adopt(tmp_path, *slow))
    slots = [(trial["draw"]["arm"], trial["draw"]["index"]) for trial in found["trials"]]
    assert len(slots) == len(set(slots)) == 6 * len(found["answer"]["rows"])


def test_a_round_whose_checks_failed_is_not_proved_by_accident(tmp_path: Path) -> None:
    searched(tmp_path, HELPS, ("trials = 8", "trials = 2"))
    refused = run(tmp_path, "round", "adopt", "depth")
    assert refused.returncode == 2
    assert "round 'depth' is not ready" in refused.stderr
    assert "--despite-checks" in refused.stderr


def test_a_round_that_did_not_pass_its_gate_is_never_proved(tmp_path: Path) -> None:
    searched(tmp_path, HELPS, ("learning_rate = 0.08", "learning_rate = 50.0"), code=1)
    refused = adopt(tmp_path)
    assert refused.returncode == 2
    assert "has not passed its gate" in refused.stderr


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (("--arm", "mlp:1"), "the round has no arm 'mlp:1'", "it has mlp:64, mlp:64x64"),
        (("--seeds", "8"), "was adopted in depth on 6 seeds of each, and that stands", "traindyno round next depth"),
        (("--arm", "mlp:64"), "was begun with other candidates", "in a round of their own"),
        (
            ("--runner", "fork", "--device", "cpu"),
            "was begun with runs on simulated; here it is cpu",
            "as it was begun",
        ),
    ],
)
def test_mistakes_are_answered_with_what_to_type(
    adopted: Path, options: tuple[str, ...], message: str, hint: str
) -> None:
    refused = adopt(adopted, *options)
    assert refused.returncode == 2
    assert message in refused.stderr
    assert hint in refused.stderr


def test_a_study_that_is_no_round_cannot_be_proved(adopted: Path) -> None:
    refused = run(adopted, "round", "adopt", "depth.adopt")
    assert refused.returncode == 2
    assert "no round" in refused.stderr


def test_an_adopted_rate_is_stale_once_the_batch_is_another(adopted: Path, tmp_path: Path) -> None:
    shutil.copytree(adopted, tmp_path, dirs_exist_ok=True)
    (tmp_path / "batch.toml").write_text(BATCH)
    ended = run(tmp_path, "round", "run", "batch.toml", "--runner", HELPS, "--no-report", "-q")
    assert ended.returncode == 0, ended.stderr
    decided = run(tmp_path, "round", "adopt", "batch", "--despite-checks", "--no-report", "-q", "--json")
    assert answer(decided)["verdict"] == "adopt"
    told = answer(run(tmp_path, "round", "ledger", "--json"))
    first, second = told["entries"]
    assert first["stale"] == "learning_rate tuned with batch_size 64, which is 16 now"
    assert second["stale"] is None
    assert (told["configuration"]["batch_size"], second["changes"]) == (16, {"batch_size": 16})


def test_a_campaign_begins_with_a_rate_that_learns(tmp_path: Path) -> None:
    simulated = ("--runner", "simulated", "--no-report", "-q", "--json")
    found = document(run(tmp_path, "round", "first", "--campaign", "mine", *simulated))
    assert (found["study"], len(found["trials"])) == ("mine.first", 8)
    assert {trial["recipe"]["schedule"] for trial in found["trials"]} == {"constant"}
    assert len({trial["recipe"]["learning_rate"] for trial in found["trials"]}) == 8
    assert found["hint"] == "traindyno round next mine.first"
    told = answer(run(tmp_path, "round", "ledger", "--json"))
    (entry,) = told["entries"]
    assert (told["campaign"], entry["verdict"]) == ("mine", "adopt")
    assert told["configuration"]["learning_rate"] == found["answer"]["best"]["configuration"]["learning_rate"]
    assert entry["command"].startswith("traindyno round first --model mlp:64 --data digits: --rates 8")
    again = run(tmp_path, *entry["command"].split()[1:], *simulated)
    assert document(again)["answer"]["best"] == found["answer"]["best"]


def set_clock_ahead(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """The ledger keeps whole seconds: what follows must not fall into the one of what was before."""
    ahead = SimpleNamespace(time=lambda: time.time() + seconds, monotonic=time.monotonic, sleep=time.sleep)
    monkeypatch.setattr(connection, "time", ahead)


def test_asking_again_what_to_begin_with_does_not_undo_what_was_adopted_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = ("round", "first", "--runner", "simulated", "--no-report", "-q")
    assert run(tmp_path, *begin).returncode == 0
    set_clock_ahead(monkeypatch, 2)
    searched(tmp_path, HELPS)
    assert answer(adopt(tmp_path, "--json"))["verdict"] == "adopt"
    before = answer(run(tmp_path, "round", "ledger", "--json"))
    set_clock_ahead(monkeypatch, 4)
    assert run(tmp_path, *begin).returncode == 0
    assert answer(run(tmp_path, "round", "ledger", "--json")) == before
    assert [entry["round"] for entry in before["entries"]] == ["first", "depth"]


def test_more_to_begin_with_does_not_undo_what_was_adopted_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = ("round", "first", "--runner", "simulated", "--no-report", "-q")
    assert run(tmp_path, *begin, "--rates", "4").returncode == 0
    set_clock_ahead(monkeypatch, 2)
    searched(tmp_path, HELPS)
    assert answer(adopt(tmp_path, "--json"))["verdict"] == "adopt"
    before = answer(run(tmp_path, "round", "ledger", "--json"))
    set_clock_ahead(monkeypatch, 4)
    for more in (("--rates", "6"), ("--name", "anew", "--rates", "4")):
        told = document(run(tmp_path, *begin, *more, "--json"))
        assert "has adopted depth since it began" in told["warnings"][0]
        assert "--campaign NAME" in told["warnings"][0]
        assert told["hint"] == "traindyno round next depth"
        after = answer(run(tmp_path, "round", "ledger", "--json"))
        assert after["configuration"] == before["configuration"]
        assert [entry["round"] for entry in after["entries"]] == ["first", "depth"]


def test_where_nothing_learns_nothing_is_begun(tmp_path: Path) -> None:
    runner = "simulated:best_accuracy=0.1,seed_spread=0.001"
    ended = run(tmp_path, "round", "first", "--runner", runner, "--no-report", "-q")
    assert ended.returncode == 1
    assert "there is nothing to begin with yet" in ended.stderr
    assert "traindyno round analyse first" in ended.stderr
    assert "--name NAME" in ended.stderr
    assert answer(run(tmp_path, "round", "ledger", "--json"))["entries"] == []


def test_a_beginning_with_something_else_is_told_the_option_that_keeps_both_apart(tmp_path: Path) -> None:
    begin = ("round", "first", "--runner", "simulated", "--rates", "2", "--no-report", "-q")
    assert run(tmp_path, *begin).returncode == 0
    refused = run(tmp_path, *begin, "--batch-size", "128")
    assert refused.returncode == 2
    assert "batch_size fixed at 64; here it is 128" in refused.stderr
    assert "add --name NAME to `round first`" in refused.stderr
    assert run(tmp_path, *begin, "--batch-size", "128", "--name", "first-2").returncode == 0


def test_data_without_a_model_is_refused(tmp_path: Path) -> None:
    refused = run(tmp_path, "round", "first", "--data", "digits:")
    assert refused.returncode == 2
    assert "no --model is named for digits:" in refused.stderr


def test_an_empty_store_has_an_empty_ledger(tmp_path: Path) -> None:
    shown = run(tmp_path, "round", "ledger")
    assert shown.returncode == 0
    assert "traindyno round first" in shown.stderr


def test_a_campaign_that_is_not_there_is_answered_with_those_that_are(adopted: Path) -> None:
    refused = run(adopted, "round", "ledger", "--campaign", "dafault")
    assert refused.returncode == 2
    assert "there is default" in refused.stderr


OWN = """
name = "own"
[goal]
kind = "maximise"
[job]
function = "job.py:train"
[metric]
name = "score"
higher_is_better = true
[budget]
trials = 3
[nuisance.width]
low = 8
high = 256
scale = "log"
integer = true
[incumbent]
width = 16
"""


def test_a_job_of_the_user_s_own_must_be_named_again(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(
        "def train(width, seed):\n    raise AssertionError('a simulated run calls nothing')\n"
    )
    (tmp_path / "own.toml").write_text(OWN)
    ended = run(tmp_path, "round", "run", "own.toml", "--runner", "simulated", "--no-report", "-q")
    assert ended.returncode == 0, ended.stderr
    proof = ("round", "adopt", "own", "--despite-checks", "--no-report", "-q", "--json")
    unnamed = run(tmp_path, *proof)
    assert unnamed.returncode == 2
    assert "which must be named again" in unnamed.stdout
    named = answer(run(tmp_path, *proof, "--model", "job.py:train"))
    assert (named["metric"], [row["label"] for row in named["rows"]]) == ("score", ["incumbent", "tuned"])


def test_commands_that_prove_a_job_of_the_user_s_own_name_it(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("def train(width, seed):\n    raise AssertionError('not called')\n")
    (tmp_path / "own.toml").write_text(OWN.replace("trials = 3", "trials = 24").replace("low = 8", "low = 1"))
    told = document(run(tmp_path, "round", "run", "own.toml", "--runner", "simulated", "--no-report", "-q", "--json"))
    proof = "traindyno round adopt own --model job.py:train"
    assert told["hint"] == proof
    assert f"`{proof}`" in " ".join(told["answer"]["verdicts"])
    assert f"hint: {proof}" in run(tmp_path, "round", "analyse", "own").stderr
