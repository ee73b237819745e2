"""What a proof of a round may not hide: checks that were passed over, a price, and what was shown before."""

import shlex
import shutil
from pathlib import Path

import pytest

from cli.command_line import document, run
from cli.test_round_adopt import HELPS, adopt, answer, searched

FEW = ("trials = 8", "trials = 2")


@pytest.fixture(scope="module")
def unready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A round with too few runs, of which one arm was proved all the same."""
    folder = searched(tmp_path_factory.mktemp("unready"), HELPS, FEW)
    assert adopt(folder, "--arm", "mlp:64x64").returncode == 0
    return folder


def test_what_was_proved_despite_its_checks_says_so_for_good(unready: Path) -> None:
    shown = document(run(unready, "show", "depth.adopt", "--json"))
    (failed, *_) = shown["answer"]["failed_checks"]
    assert any(
        text.startswith("This was proved although checks") and failed in text for text in shown["answer"]["verdicts"]
    )
    told = answer(run(unready, "round", "ledger", "--json"))
    assert failed in told["entries"][0]["failed_checks"]
    assert any("depth was decided although its checks had failed" in text for text in told["verdicts"])


def test_the_command_that_repeats_a_proof_names_its_arm_and_passes_over_the_same_checks(
    unready: Path, tmp_path: Path
) -> None:
    (entry,) = answer(run(unready, "round", "ledger", "--json"))["entries"]
    assert entry["command"] == "traindyno round adopt depth --seeds 6 --arm mlp:64x64 --despite-checks"
    repeat = (*shlex.split(entry["command"])[1:], "--json", "-q", "--no-report")
    same = answer(run(unready, *repeat))
    elsewhere = answer(run(searched(tmp_path, HELPS, FEW), *repeat))
    assert [row["scores"] for row in elsewhere["rows"]] == [row["scores"] for row in same["rows"]]


def test_a_round_that_passed_its_checks_has_none_to_tell_of(tmp_path: Path) -> None:
    searched(tmp_path, HELPS)
    assert answer(adopt(tmp_path, "--json"))["failed_checks"] == []
    told = answer(run(tmp_path, "round", "ledger", "--json"))
    assert not any("checks" in text for text in told["verdicts"])


def test_a_price_that_is_said_once_the_result_is_known_is_refused(unready: Path) -> None:
    before = answer(run(unready, "round", "ledger", "--json"))
    refused = adopt(unready, "--minimum-gain", "0.5")
    assert refused.returncode == 2
    assert "said before its runs are seen" in " ".join(refused.stderr.split())
    assert "another round can have another price" in " ".join(refused.stderr.split())
    assert answer(run(unready, "round", "ledger", "--json")) == before
    assert adopt(unready, "--minimum-gain", "0.002").returncode == 0, "the price that it was judged by is no other"


def test_a_finished_proof_can_be_shown_again_although_the_round_is_not_ready(unready: Path, tmp_path: Path) -> None:
    shutil.copytree(unready, tmp_path, dirs_exist_ok=True)
    before = document(run(tmp_path, "show", "depth.adopt", "--json"))
    again = document(run(tmp_path, "round", "adopt", "depth", "--no-report", "-q", "--json"))
    assert again["answer"]["verdicts"] == before["answer"]["verdicts"]
    assert len(again["trials"]) == len(before["trials"])


def test_what_a_campaign_begins_with_is_the_best_of_its_search_and_repeats_on_the_same_runner(tmp_path: Path) -> None:
    assert run(tmp_path, "round", "first", "--runner", "simulated", "--no-report", "-q").returncode == 0
    (entry,) = answer(run(tmp_path, "round", "ledger", "--json"))["entries"]
    assert (entry["best_of"], entry["seeds"], entry["p_value"]) == (8, 1, None)
    assert entry["command"].endswith("--runner simulated")
