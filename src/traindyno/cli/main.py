"""The `traindyno` command: finds the sub-command, and turns every error into words and an exit code."""

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path

import click

from traindyno import __version__
from traindyno.cli.errors import report_bug, report_error
from traindyno.cli.project_file import PROJECT_FILE, default_map, unknown_keys
from traindyno.core.errors import TraindynoError, UsageError

COMMANDS = {
    "find": ("traindyno.cli.find", "Find the fastest settings for your model and data, proved against the baseline."),
    "verify": ("traindyno.cli.verify", "Measure settings that `find` recommended against their baseline again."),
    "max-batch": ("traindyno.cli.max_batch", "Find the largest batch that fits."),
    "throughput": ("traindyno.cli.throughput", "Measure examples per second against batch size."),
    "plan": ("traindyno.cli.plan", "Predict how long training takes, and what it costs."),
    "loader": ("traindyno.cli.loader", "Find how many loader workers, with which settings, feed the training."),
    "stalls": ("traindyno.cli.stalls", "Say what training waits for, and the cheapest remedy."),
    "anatomy": ("traindyno.cli.anatomy", "Take the training step apart: what each phase costs, and what limits it."),
    "switches": ("traindyno.cli.switches", "Find which switches make training faster, alone and together."),
    "soak": ("traindyno.cli.soak", "Train for minutes: does it stay as fast, and what does it take?"),
    "scale": (
        "traindyno.cli.scale",
        "Say what more devices gain: efficiency, communication, from which batch they pay.",
    ),
    "agent": ("traindyno.cli.agent", "Lend this machine to a study of several machines that another one heads."),
    "train": ("traindyno.cli.train", "Train by a recipe, with checkpoints: what is learnt, and how fast."),
    "accuracy": ("traindyno.cli.accuracy", "Say what a larger batch costs in accuracy, over several seeds."),
    "noise-scale": (
        "traindyno.cli.noise_scale",
        "Measure how noisy gradients are, and which batch reaches a loss soonest.",
    ),
    "target": ("traindyno.cli.target", "Say which way to train reaches a target first, over several seeds."),
    "round": ("traindyno.cli.round", "Tune in rounds: one question each, and evidence before anything is adopted."),
    "join": ("traindyno.cli.join", "Take part in studies that others have begun, here or on other machines."),
    "compare": ("traindyno.cli.compare", "Set two studies or exported files side by side."),
    "data": ("traindyno.cli.data", "Make sets of images, and prepare sets for fast loading."),
    "doctor": ("traindyno.cli.doctor", "Examine this machine and say what would spoil a measurement."),
    "studies": ("traindyno.cli.studies", "List the studies in the store, or delete some."),
    "show": ("traindyno.cli.show", "Print a study's answer again."),
    "report": ("traindyno.cli.report", "Write a study's report: HTML, PNG, CSV, Markdown or JSON."),
    "resume": ("traindyno.cli.resume", "Finish a study that was cut off."),
}


class LazyGroup(click.Group):
    """A group that imports a sub-command only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = _load(cmd_name)
        command.context_settings = {**command.context_settings, "default_map": project_defaults(command, cmd_name)}
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            raise click.UsageError(f"There is no command '{args[0]}'.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


def _load(name: str) -> click.Command:
    command: click.Command = import_module(COMMANDS[name][0]).command
    return command


def project_defaults(command: click.Command, name: str) -> dict[str, object]:
    """What `traindyno.toml` says about this command; a key that no command knows is refused."""
    if not Path(PROJECT_FILE).is_file():
        return {}
    commands = _all_commands()
    everywhere = {
        option.lstrip("-") for each in commands.values() for parameter in each.params for option in parameter.opts
    }
    if unknown := unknown_keys(everywhere):
        near = get_close_matches(unknown[0], everywhere, n=1)
        raise UsageError(
            f"{PROJECT_FILE}: no command has an option {unknown[0]!r}",
            f"did you mean {near[0]!r}?" if near else "see `traindyno throughput --help`",
        )
    return default_map(command, name, commands)


def _all_commands() -> dict[str, click.Command]:
    """Every command by its name, those within a group by both words: `data make`."""
    commands = {name: _load(name) for name in COMMANDS}
    groups = {name: each for name, each in commands.items() if isinstance(each, click.Group)}
    return commands | {f"{name} {word}": each for name in groups for word, each in _within(groups[name]).items()}


def _within(group: click.Group) -> dict[str, click.Command]:
    """The commands of a group by their own word, also of one that loads them when they are called."""
    from traindyno.cli.round import COMMANDS as WORDS
    from traindyno.cli.round import RoundGroup

    return {word: group.load(word) for word in WORDS} if isinstance(group, RoundGroup) else dict(group.commands)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="traindyno", message="%(prog)s %(version)s")
def cli() -> None:
    """A dynamometer for model training: measures what your hardware does with your model.

    The fastest settings for it, how large a batch fits, what training waits for, how long it will take.
    Try `traindyno find`, which needs no arguments.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command line and exit with its code."""
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        code = cli.main(given, prog_name="traindyno", standalone_mode=False)
    except (TraindynoError, click.ClickException, click.Abort, KeyboardInterrupt, BrokenPipeError) as error:
        code = report_error(error, given)
    except Exception as error:
        report_bug(error, given)
        raise
    sys.exit(code if isinstance(code, int) else 0)
