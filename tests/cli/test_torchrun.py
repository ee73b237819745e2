"""Commands in a process that torchrun started beside others: only training is done together."""

from pathlib import Path

import pytest

from cli.command_line import document, run
from traindyno.app.processes import is_companion, is_one_of_several

PLACE = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1"}
MODEL = ("--model", "torchvision:resnet18")
RECIPE = ("--model", "mlp:64", "--data", "digits:", "--lr", "0.05", "--epochs", "2")
MEASURING = {
    "accuracy": RECIPE,
    "anatomy": MODEL,
    "find": (*MODEL, "--data", "folder:/x", "--batch-size", "32"),
    "loader": (*MODEL, "--data", "folder:/x"),
    "max-batch": MODEL,
    "noise-scale": RECIPE,
    "soak": MODEL,
    "scale": MODEL,
    "stalls": (*MODEL, "--data", "folder:/x", "--workers", "2"),
    "switches": MODEL,
    "target": (*RECIPE, "--value", "0.9"),
    "throughput": MODEL,
}


@pytest.fixture
def first_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in PLACE.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("command", MEASURING)
def test_what_each_process_would_measure_for_itself_is_refused(
    command: str, tmp_path: Path, first_of_two: None
) -> None:
    refused = run(tmp_path, command, *MEASURING[command], "--runner", "simulated", "--no-report")
    assert refused.returncode == 2
    assert "only `train` runs under torchrun" in refused.stderr
    assert "hint: start this command without it" in refused.stderr
    assert document(run(tmp_path, "studies", "--json"))["answer"]["studies"] == []


def test_training_is_not_refused(tmp_path: Path, first_of_two: None) -> None:
    trained = run(tmp_path, "train", *RECIPE, "--runner", "simulated", "--no-report")
    assert trained.returncode == 0, trained.stderr


@pytest.mark.parametrize("missing", PLACE)
def test_a_variable_of_torchrun_alone_makes_no_process_one_of_several(missing: str) -> None:
    some = {name: value for name, value in PLACE.items() if name != missing}
    assert is_one_of_several(PLACE)
    assert not is_one_of_several(some)
    assert not is_one_of_several(PLACE | {"WORLD_SIZE": "1"})


def test_the_first_of_several_has_the_others_for_companions() -> None:
    assert not is_companion({})
    assert not is_companion(PLACE)
    assert is_companion(PLACE | {"RANK": "1"})
