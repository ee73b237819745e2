"""Numbers that mean nothing: every command refuses them before anything is measured."""

import math
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from cli.command_line import run
from traindyno.cli.main import cli
from traindyno.cli.parameters import ABOVE_ZERO, Finite
from traindyno.core.errors import UsageError

NONSENSE = ("-1", "nan", "inf", "", "9" * 400)
SOME_TIME = ("--time-budget", "--trial-seconds", "--step-timeout", "--trial-timeout", "--validate-for")


def commands(group: click.Command, name: str = "") -> Iterator[tuple[str, click.Command]]:
    if isinstance(group, click.Group):
        context = click.Context(group)
        for each in group.list_commands(context):
            command = group.get_command(context, each)
            assert command is not None
            yield from commands(command, f"{name} {each}".strip())
    else:
        yield name, group


OPTIONS = {
    (name, option.opts[-1]): option
    for name, command in commands(cli)
    for option in command.params
    if isinstance(option, click.Option)
}


def refused(option: click.Option, value: str) -> str:
    with pytest.raises((UsageError, click.BadParameter)) as caught:
        option.type.convert(value, option, None)
    return str(caught.value)


@pytest.mark.parametrize(("command", "name"), [each for each in OPTIONS if each[1] in (*SOME_TIME, "--memory-limit")])
def test_no_time_and_no_memory_are_refused_by_every_command(command: str, name: str) -> None:
    option = OPTIONS[command, name]
    for nothing in ("0", "0.0"):
        assert refused(option, nothing) == f"in '{nothing}' nothing can be measured (option {name})"
    for value in NONSENSE:
        assert name in refused(option, value)


@pytest.mark.parametrize("command", [command for command, name in OPTIONS if name == "--wait"])
def test_to_wait_no_time_is_allowed_and_for_ever_is_not(command: str) -> None:
    option = OPTIONS[command, "--wait"]
    assert option.type.convert("0", option, None) == 0
    for value in NONSENSE:
        refused(option, value)


@pytest.mark.parametrize("command", [command for command, name in OPTIONS if name == "--seed"])
def test_a_seed_is_one_that_all_generators_take(command: str) -> None:
    option = OPTIONS[command, "--seed"]
    assert option.type.convert("0", option, None) == 0
    for value in ("-1", "nan", ""):
        refused(option, value)
    if command != "data make":
        refused(option, "99999999999999999999")


@pytest.mark.parametrize(
    ("command", "name"),
    [("plan", "--epochs"), ("plan", "--eval-every"), ("scale", "--epochs"), ("round adopt", "--minimum-gain")],
)
@pytest.mark.parametrize("value", NONSENSE)
def test_a_length_or_a_gain_has_an_end(command: str, name: str, value: str) -> None:
    refused(OPTIONS[command, name], value)


def test_a_finite_number_is_taken_as_it_is() -> None:
    assert ABOVE_ZERO.convert("0.5", None, None) == 0.5
    assert Finite(0).convert("0", None, None) == 0.0
    assert math.isclose(ABOVE_ZERO.convert("1e12", None, None), 1e12)


@pytest.mark.parametrize("command", ["find", "resume"])
def test_a_budget_of_no_time_begins_nothing_and_names_what_to_write(tmp_path: Path, command: str) -> None:
    given = {"find": ["--runner", "simulated"], "resume": ["it"]}[command]
    (tmp_path / "traindyno.toml").write_text("[find]\ntime-budget = 0\n")
    for asked in ([*given, "--time-budget", "0s"], *([given] if command == "find" else [])):
        completed = run(tmp_path, command, *asked)
        assert completed.returncode == 2, completed.stderr
        assert "nothing can be measured (option --time-budget)" in completed.stderr
        assert "write a time above 0, such as 10m" in completed.stderr
        assert not (tmp_path / "traindyno.db").exists()
