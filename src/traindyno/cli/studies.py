"""`traindyno studies`."""

import click

from traindyno.cli.json_frame import print_answer
from traindyno.cli.options import store_options


@click.command("studies")
@store_options
def command(store: str, as_json: bool) -> int:
    """List the studies in the store, newest first."""
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
