"""`traindyno round analyse` and `round next` as a user types them, on a simulated round."""

import shutil
from pathlib import Path

import pytest

import traindyno
from cli.command_line import document, run
from cli.round_files import depth_round
from traindyno.app.rounds.files import read_round
from traindyno.app.rounds.requests import request_of
from traindyno.core.requests import Bench
from traindyno.core.round_space import incumbent_of
from traindyno.store.ledger import Ledger

ROUND = depth_round(trials=12, top='campaign = "digits"\n', job='optimizer = "sgd"\n', low=0.003)
SIMULATED = ("--runner", "simulated", "--no-report", "-q")


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a round that was run."""
    folder = tmp_path_factory.mktemp("round")
    (folder / "depth.toml").write_text(ROUND)
    assert run(folder, "round", "run", "depth.toml", *SIMULATED).returncode == 0
    return folder


@pytest.fixture(scope="module")
def adopted(searched: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, after fresh seeds have decided."""
    folder = tmp_path_factory.mktemp("adopted")
    shutil.copytree(searched, folder, dirs_exist_ok=True)
    assert run(folder, "round", "adopt", "depth", "--no-report", "-q").returncode == 0
    return folder


@pytest.fixture
def folder(searched: Path, tmp_path: Path) -> Path:
    """A copy of the round that a test may change."""
    shutil.copytree(searched, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_checks_come_first_and_the_answer_last(searched: Path) -> None:
    shown = run(searched, "round", "analyse", "depth", "--no-report")
    assert shown.returncode == 0
    text = " ".join(shown.stdout.split())
    assert text.index("gate") < text.index("Arms, each with its own search")
    assert "Does a deeper network help? It looks so: mlp:64x64 is expected to gain" in text
    assert "hint: traindyno round adopt depth" in shown.stderr


def test_the_answer_has_all_that_was_promised(searched: Path) -> None:
    found = document(run(searched, "round", "analyse", "depth", "--json", "--no-report"))
    answer = found["answer"]
    assert (found["command"], found["study"]) == ("round analyse", "depth")
    assert {"checks", "arms", "isolation", "best_of_k", "importance", "proposals"} <= set(answer)
    assert answer["ready"]
    assert answer["simulated"]
    assert answer["planned_trials"] == len(found["trials"]) == 3 + 2 * 12
    assert [row["trials"] for row in answer["arms"]] == [12, 12]
    assert [len(curve["expected"]) for curve in answer["best_of_k"]] == [12, 12]
    assert [row["parameter"] for row in answer["importance"]] == ["learning_rate", "learning_rate"]
    assert all(row["is_important"] for row in answer["importance"])


def test_it_writes_files_like_every_command(folder: Path) -> None:
    assert run(folder, "round", "analyse", "depth", "--no-report", "--export-markdown", "depth.md").returncode == 0
    assert "mlp:64x64" in (folder / "depth.md").read_text()


def test_what_fresh_seeds_decided_is_told(adopted: Path) -> None:
    shown = run(adopted, "round", "analyse", "depth", "--no-report")
    assert "Fresh seeds have adopted a new configuration since" in " ".join(shown.stdout.split())
    assert "hint: traindyno round next depth" in shown.stderr


def test_another_study_is_no_round(adopted: Path) -> None:
    refused = run(adopted, "round", "analyse", "depth.adopt")
    assert refused.returncode == 2
    assert "is one of `round adopt` and no round" in refused.stderr
    assert "name the round that it proves: depth" in refused.stderr


def test_an_unknown_round_is_answered_with_those_there_are(searched: Path) -> None:
    refused = run(searched, "round", "analyse", "dept")
    assert refused.returncode == 2
    assert "depth" in refused.stderr


def test_the_next_round_is_drafted_from_what_was_adopted(adopted: Path) -> None:
    drafted = run(adopted, "round", "next", "depth")
    assert drafted.returncode == 0
    assert drafted.stdout.splitlines()[0] == "optimiser.toml: written"
    found = read_round(adopted / "optimiser.toml")
    assert (found.campaign, found.job.model) == ("digits", "mlp:64x64")
    assert found.target is not None
    assert found.target.field == "optimizer"
    assert incumbent_of(found)["learning_rate"] != 0.03
    assert "momentum: A nuisance now, for each value of optimizer may need its own" in drafted.stdout
    assert run(adopted, "round", "run", "optimiser.toml", "--dry-run", *SIMULATED[:2]).returncode == 0


def test_without_fresh_seeds_the_next_round_says_that_nothing_was_adopted(folder: Path) -> None:
    answer = document(run(folder, "round", "next", "depth", "another.toml", "--json"))["answer"]
    assert answer["path"] == "another.toml"
    assert any("`traindyno round adopt depth` has not run" in reason for reason in answer["reasons"])
    assert "`traindyno round adopt depth` has not run" in " ".join(answer["text"].replace("#", "").split())
    assert read_round(folder / "another.toml").job.model == "mlp:64"


def test_a_file_that_is_there_is_kept_unless_forced(folder: Path) -> None:
    refused = run(folder, "round", "next", "depth", "depth.toml")
    assert refused.returncode == 2
    assert (folder / "depth.toml").read_text() == ROUND
    assert run(folder, "round", "next", "depth", "depth.toml", "--force").returncode == 0
    assert (folder / "depth.toml").read_text() != ROUND


def test_a_round_at_its_boundary_is_drafted_again_with_a_wider_range(tmp_path: Path) -> None:
    (tmp_path / "depth.toml").write_text(ROUND.replace("high = 1.0", "high = 0.02").replace("0.003", "0.0005"))
    assert run(tmp_path, "round", "run", "depth.toml", *SIMULATED).returncode == 0
    analysed = document(run(tmp_path, "round", "analyse", "depth", "--json", "--no-report"))["answer"]
    assert not analysed["ready"]
    assert len(analysed["verdicts"]) == 1
    assert run(tmp_path, "round", "next", "depth").stdout.startswith("depth-2.toml: written")
    again = read_round(tmp_path / "depth-2.toml")
    rate = again.parameter("learning_rate").range
    assert rate is not None
    assert rate.high > 0.02
    assert again.target == read_round(tmp_path / "depth.toml").target


def test_scripts_have_the_same_answers(folder: Path) -> None:
    store = str(folder / "traindyno.db")
    answer = traindyno.analyse_round("depth", store=store)
    assert answer.ready
    drafted = traindyno.next_round("depth", folder / "after.toml", store=store)
    assert (folder / "after.toml").read_text() == drafted.text


def test_a_round_without_runs_says_so(tmp_path: Path) -> None:
    (tmp_path / "depth.toml").write_text(ROUND)
    request = request_of(read_round(tmp_path / "depth.toml"), Bench(runner="simulated"))
    with Ledger.open(str(tmp_path / "traindyno.db")) as ledger:
        ledger.create_study("depth", "round run", request, None)
    refused = run(tmp_path, "round", "analyse", "depth")
    assert refused.returncode == 1
    assert "round 'depth': no run of the round has come to an end yet" in refused.stderr
    assert "traindyno round run" in refused.stderr
