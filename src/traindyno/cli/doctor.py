"""`traindyno doctor`."""

import click

from traindyno.cli.json_frame import print_answer
from traindyno.cli.options import store_options

_MARKS = {"ok": ("✓", "green"), "note": ("·", "cyan"), "problem": ("✗", "red")}


@click.command("doctor")
@store_options
def command(store: str, as_json: bool) -> int:
    """Examine driver, GPUs, CPUs, memory, limits and disks; each problem comes with its remedy."""
    from traindyno.app.doctor import examine_machine
    from traindyno.app.library import store_folder

    answer = examine_machine(store_folder(store))
    if as_json:
        print_answer("doctor", answer)
        return 0
    for finding in answer.findings:
        mark, color = _MARKS[finding.level]
        click.echo(f"{click.style(mark, fg=color)} {click.style(finding.subject, bold=True)}: {finding.text}")
        if finding.remedy:
            click.echo(f"    {click.style('remedy:', fg='cyan')} {finding.remedy}")
    problems = sum(finding.level == "problem" for finding in answer.findings)
    click.echo("This machine is fit for measuring." if not problems else f"{problems} problem(s) found.")
    return 0
