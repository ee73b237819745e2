"""Studies that failed by a mistake of the user's own: told where they can go on, and measured once it is mended."""

from pathlib import Path

import pytest

from cli.command_line import run
from traindyno.core.outcomes import Outcome
from traindyno.store.ledger import Ledger
from worker.data.tiny_sets import write_folder

NAMES = [f"class{label}/{number}.jpg" for label in range(2) for number in range(4)]
REAL = ("--model", "torchvision:squeezenet1_0", "--image-size", "32", "--device", "cpu", "--no-report")
BRIEF = ("--trial-seconds", "0.2s")


def test_a_study_without_its_data_is_measured_when_the_data_is_there(tmp_path: Path) -> None:
    asked = (
        "throughput",
        *REAL,
        "--data",
        "folder:later",
        "--batch-size",
        "2",
        "--repeats",
        "1",
        "--name",
        "it",
        *BRIEF,
    )
    failed = run(tmp_path, *asked)
    assert failed.returncode == 2
    assert "there is no later" in failed.stderr
    write_folder(tmp_path / "later", NAMES)
    resumed = run(tmp_path, "resume", "it", "--no-report")
    assert resumed.returncode == 0, resumed.stderr
    assert "Recommended: batch 2" in resumed.stdout
    with Ledger.open(f"{tmp_path}/traindyno.db") as ledger:
        assert [each.outcome for each in ledger.attempts(1)] == [Outcome.USER_ERROR, Outcome.OK]


def test_a_name_is_not_lost_to_a_slip(tmp_path: Path) -> None:
    asked = ("throughput", *REAL[2:], *BRIEF, "--batch-size", "2", "--repeats", "1", "--name", "it")
    slip = run(tmp_path, *asked, "--model", "torchvision:squeezenet1_7")
    assert slip.returncode == 2
    assert "torchvision has no model named" in slip.stderr
    meant = run(tmp_path, *asked, "--model", "torchvision:squeezenet1_0")
    assert meant.returncode == 0, meant.stderr
    again = run(tmp_path, *asked, "--model", "torchvision:squeezenet1_1")
    assert "there is already a study named 'it'" in again.stderr


def test_a_corrupt_image_is_named_without_a_traceback_and_the_study_goes_on_when_it_is_mended(tmp_path: Path) -> None:
    write_folder(tmp_path / "images", NAMES)
    image = tmp_path / "images" / "class0" / "1.jpg"
    whole = image.read_bytes()
    image.write_bytes(b"no image")
    asked = (
        "throughput",
        *REAL,
        "--data",
        "folder:images",
        "--batch-size",
        "8",
        "--repeats",
        "1",
        "--name",
        "it",
        *BRIEF,
    )
    failed = run(tmp_path, *asked)
    assert failed.returncode == 1
    assert "images/class0/1.jpg cannot be used" in failed.stderr
    assert "Traceback" not in failed.stderr
    image.write_bytes(whole)
    resumed = run(tmp_path, "resume", "it", "--no-report")
    assert resumed.returncode == 0, resumed.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("show", "throughput-2"),
        ("report", "throughput-2"),
        ("resume", "throughput-2"),
        ("compare", "throughput-1", "throughput-2"),
        ("plan", "--from", "throughput-2", "--examples", "100", "--epochs", "1"),
        ("studies", "delete", "throughput-2"),
        ("round", "analyse", "throughput-2"),
        ("round", "adopt", "throughput-2"),
        ("round", "next", "throughput-2"),
    ],
    ids=" ".join,
)
def test_a_study_that_is_not_there_is_a_wrong_name_with_the_nearest_beside_it(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    few = ("--batch-size", "8", "--repeats", "1", "--runner", "simulated", "--no-report")
    assert run(tmp_path, "throughput", *few, "--name", "throughput-1").returncode == 0
    refused = run(tmp_path, *command)
    assert refused.returncode == 2
    assert "there is no study named 'throughput-2'" in refused.stderr
    assert "did you mean throughput-1?" in refused.stderr


def test_a_campaign_that_is_not_there_is_a_wrong_name_even_where_there_is_none(tmp_path: Path) -> None:
    few = ("--batch-size", "8", "--repeats", "1", "--runner", "simulated", "--no-report")
    assert run(tmp_path, "throughput", *few).returncode == 0
    refused = run(tmp_path, "round", "ledger", "--campaign", "nope")
    assert refused.returncode == 2
    assert "there is no campaign 'nope'" in refused.stderr
    assert "no tuning rounds yet" in refused.stderr
