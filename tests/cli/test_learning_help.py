"""The help of the commands that train until something is learnt: it offers what they take, and nothing else."""

import re
from pathlib import Path

import pytest

from cli.command_line import run


def help_of(folder: Path, command: str) -> str:
    """In one line, for lines are broken wherever the terminal ends."""
    return re.sub(r"\s+", " ", run(folder, command, "--help").stdout)


@pytest.mark.parametrize("command", ["train", "accuracy", "noise-scale", "target"])
def test_data_that_teaches_nothing_and_a_forward_pass_are_not_offered(tmp_path: Path, command: str) -> None:
    text = help_of(tmp_path, command)
    assert "synthetic:" not in text
    assert "digits: without --model" in text
    assert "--mode " not in text
    refused = run(tmp_path, command, "--mode", "infer")
    assert refused.returncode == 2
    assert "No such option" in refused.stderr


def test_each_command_tells_its_own_default_for_evaluations(tmp_path: Path) -> None:
    assert "[default: an epoch]" in help_of(tmp_path, "train")
    assert "[default: what a first run finds to be needed]" in help_of(tmp_path, "target")


def test_a_target_is_bounded_in_epochs_alone(tmp_path: Path) -> None:
    assert "--steps" not in help_of(tmp_path, "target")
    assert "--steps" in help_of(tmp_path, "train")
    refused = run(tmp_path, "target", "--steps", "100")
    assert refused.returncode == 2
    assert "No such option '--steps'" in refused.stderr
