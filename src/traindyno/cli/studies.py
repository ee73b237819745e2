"""`traindyno studies`, and `traindyno studies delete`."""

import sys
from typing import TYPE_CHECKING

import click

from traindyno.cli.groups import GroupWithDefaults
from traindyno.cli.json_frame import print_answer
from traindyno.cli.options import given_now, store_options
from traindyno.cli.output import EXIT_DONE, EXIT_FAILED
from traindyno.core.errors import UsageError
from traindyno.core.units import count_of

if TYPE_CHECKING:
    from traindyno.app.deleting import DeletedStudy, DeletionAnswer


@click.group("studies", cls=GroupWithDefaults, invoke_without_command=True)
@store_options
@click.pass_context
def command(context: click.Context, store: str, as_json: bool) -> int:
    """List the studies in the store, newest first."""
    if context.invoked_subcommand is None:
        return _list(store, as_json)
    if given_now("store") or given_now("as_json"):
        raise UsageError(
            f"options stand behind `studies {context.invoked_subcommand}`, so that they are not taken for another's",
            f"write `traindyno studies {context.invoked_subcommand} NAME --store URL`",
        )
    return EXIT_DONE


@command.command("delete", short_help="Remove studies for good.")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--yes", is_flag=True, help="Ask nothing. Without it, it is asked on a terminal and refused elsewhere.")
@store_options
def delete(names: tuple[str, ...], yes: bool, store: str, as_json: bool) -> int:
    """Remove each study NAME for good: its trials, and its log, checkpoints and report beside the store.

    One that runs now is refused. The lines of `round ledger` are kept: what a campaign has decided is deleted as a
    whole or not at all, and a round together with its proof.
    """
    from traindyno.app.deleting import delete_studies, studies_to_delete

    chosen = studies_to_delete(names, store)
    if not yes and not _is_meant(chosen, asks=not as_json and sys.stdin.isatty()):
        click.echo("nothing was deleted", err=True)
        return EXIT_FAILED
    answer = delete_studies(chosen, store)
    if as_json:
        print_answer("studies delete", answer)
    else:
        _tell_deleted(answer)
    return EXIT_FAILED if answer.left else EXIT_DONE


def _is_meant(chosen: "tuple[DeletedStudy, ...]", *, asks: bool) -> bool:
    """Whether the user says so, once it is told what will be gone."""
    if not asks:
        raise UsageError("nobody is here to be asked whether studies are to be deleted for good", "add --yes")
    for study in chosen:
        click.echo(f"{study.name}: {study.command}, {count_of(study.trials, 'trial')}", err=True)
        for path in study.files:
            click.echo(f"  {path}", err=True)
    these = "this study" if len(chosen) == 1 else f"these {len(chosen)} studies"
    return click.confirm(f"Delete {these} for good?", err=True)


def _tell_deleted(answer: "DeletionAnswer") -> None:
    for study in answer.deleted:
        click.echo(f"{study.name}: deleted with {count_of(study.trials, 'trial')}")
    for path in answer.left:
        click.secho(f"warning: {path} could not be removed", fg="yellow", err=True)


def _list(store: str, as_json: bool) -> int:
    from traindyno.app.library import list_studies
    from traindyno.core.requests import workloads_of

    rows = [
        {
            "name": row.name,
            "command": row.command,
            "model": ", ".join(workload.model or workload.data for workload in workloads_of(row.request)),
            "state": row.state,
            "trials": row.trials,
            "created": row.created,
        }
        for row in list_studies(store)
    ]
    if as_json:
        print_answer("studies", {"studies": rows})
    elif rows:
        _print_table(rows)
    else:
        click.echo("no studies yet")
        click.echo("hint: begin one with `traindyno throughput`", err=True)
    return 0


def _print_table(rows: list[dict[str, object]]) -> None:
    """Plain columns as wide as their text: a name or a time that is cut off finds no study."""
    shown = [{**row, "created": str(row["created"])[:16].replace("T", " ")} for row in rows]
    widths = {name: max(len(name), *(len(str(row[name])) for row in shown)) for name in shown[0]}
    header: dict[str, object] = {name: name for name in widths}
    for row in (header, *shown):
        click.echo("  ".join(str(row[name]).ljust(width) for name, width in widths.items()).rstrip())
