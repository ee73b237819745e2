"""Errors name what a script can write, not what a terminal takes."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import traindyno
from traindyno.api.spoken import OTHER_NAMES, arguments_of, in_python, speaks_python
from traindyno.cli.main import cli
from traindyno.core.errors import TraindynoError, UsageError

MEASURING = (
    "accuracy", "anatomy", "compare", "find", "loader", "max_batch", "noise_scale", "plan", "scale", "soak", "stalls",
    "switches", "target", "throughput", "train", "verify",
)  # fmt: skip
OF_A_TERMINAL = {
    "--dry-run", "--export-csv", "--export-html", "--export-json", "--export-markdown", "--export-png", "--export-toml",
    "--json", "--no-report", "--quiet", "--verbose",
}  # fmt: skip
NAMED_OTHERWISE = {"--set", "--from"}
"""Settings are arguments themselves, and a study is one by its place."""


def options_of(function: str) -> Iterator[str]:
    command = cli.get_command(click.Context(cli), function.replace("_", "-"))
    assert command is not None
    for each in command.params:
        if isinstance(each, click.Option):
            yield from (name for name in (*each.opts, *each.secondary_opts) if name.startswith("--"))


@pytest.mark.parametrize("function", MEASURING)
def test_every_option_that_an_error_may_name_has_an_argument(function: str) -> None:
    arguments = arguments_of(getattr(traindyno, function))
    unspoken = {option for option in options_of(function) if in_python(option, arguments) == option}
    assert unspoken <= OF_A_TERMINAL | NAMED_OTHERWISE


def test_every_other_name_is_one_that_some_option_needs() -> None:
    options = {option.removeprefix("--").replace("-", "_") for each in MEASURING for option in options_of(each)}
    assert set(OTHER_NAMES) <= options


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("give --epochs above 0", "give `epochs` above 0"),
        ("write --lr as 3e-4@32", "write `learning_rate` as 3e-4@32"),
        ("add --no-cold, or --cold", "add `cold=False`, or `cold`"),
        ("export one with --export-json FILE", "export one with --export-json FILE"),
        ("see `traindyno show a --epochs 3`, then --epochs", "see `traindyno show a --epochs 3`, then `epochs`"),
        ("a rate of 1e--3", "a rate of 1e--3"),
        ("traindyno resume a --epochs 3", "traindyno resume a --epochs 3"),
    ],
)
def test_options_become_arguments_and_commands_stay(text: str, said: str) -> None:
    assert in_python(text, {"epochs", "learning_rate", "cold"}) == said


def test_an_error_is_the_same_one_in_other_words() -> None:
    raised = UsageError("--epochs 0 is no training", "give --epochs above 0")
    raised.add_note("while it was tried")

    @speaks_python
    def train(epochs: int) -> None:
        raise raised from ValueError("why")

    with pytest.raises(TraindynoError) as caught:
        train(0)
    assert caught.value is raised
    assert isinstance(caught.value.__cause__, ValueError)
    assert (str(raised), raised.message, raised.hint) == ("`epochs` 0 is no training",) * 2 + ("give `epochs` above 0",)
    assert raised.__notes__ == ["hint: give `epochs` above 0", "while it was tried"]


def test_a_script_is_told_its_own_argument(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'traindyno.db'}"
    with pytest.raises(UsageError) as caught:
        traindyno.train("mlp:8", data="digits:", learning_rate=0.1, clip_norm=-1.0, device="cpu", store=store)
    assert caught.value.hint == "give `clip_norm` a length above 0"
