"""`traindyno round next`."""

from pathlib import Path

import click

from traindyno.cli.json_frame import print_answer
from traindyno.cli.options import store_options
from traindyno.cli.rounds.drafted import tell


@click.command("next")
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@store_options
def command(name: str, file: Path | None, force: bool, store: str, as_json: bool) -> int:
    """Draft the round that follows from the findings of NAME, and write it to FILE.

    If the checks of NAME failed, the same is asked again with wider ranges or more trials; otherwise comes the next
    question of the campaign, with the configuration that holds now as the incumbent. Read it before you run it.
    """
    from traindyno.app.rounds.next import draft_next

    answer = draft_next(name, file, store, force=force)
    if as_json:
        print_answer("round next", answer, name)
        return 0
    tell(answer)
    return 0
