"""`traindyno studies`."""

import click

from traindyno.cli.json_frame import print_answer
from traindyno.cli.options import store_options


@click.command("studies")
@store_options
def command(store: str, as_json: bool) -> int:
    """List the studies in the store, newest first."""
    from traindyno.app.library import list_studies

    rows = [
        {"name": row.name, "command": row.command, "state": row.state, "trials": row.trials, "created": row.created}
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
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for column in rows[0]:
        table.add_column(column, justify="right" if column == "trials" else "left", no_wrap=column == "name")
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    Console().print(table)
