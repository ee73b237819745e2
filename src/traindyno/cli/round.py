"""`traindyno round`: tuning in rounds, each with one question and evidence for what it changes."""

from importlib import import_module

import click

from traindyno.cli.groups import GroupWithDefaults

COMMANDS = {
    "first": "Find a configuration to begin with: constant rate, nothing extra, few epochs.",
    "new": "Write a round's file, with roles and ranges by rules of thumb.",
    "run": "Search, one arm for each value of the target, with equal budgets.",
    "analyse": "Check the round, then say what it has shown.",
    "adopt": "Prove the best against the incumbent with fresh seeds, and decide.",
    "next": "Draft the round that follows from the findings.",
    "ledger": "List what was adopted when, on which numbers.",
}


class RoundGroup(GroupWithDefaults):
    """Its commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def find(self, name: str) -> click.Command | None:
        return self.load(name) if name in COMMANDS else None

    def load(self, name: str) -> click.Command:
        command: click.Command = import_module(f"traindyno.cli.rounds.{name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group("round", cls=RoundGroup, invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Tune in rounds: one question each, hyperparameters by their roles, evidence before anything is adopted.

    \b
    traindyno round first --model mlp:64 --data digits:     what to begin with
    traindyno round new depth.toml --target model=...       a round's file
    traindyno round run depth.toml                          the search
    traindyno round analyse depth                           checks, then findings
    traindyno round adopt depth                             fresh seeds decide
    traindyno round next depth                              what to ask next
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
