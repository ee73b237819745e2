"""`traindyno report`."""

from pathlib import Path

import click

from traindyno.cli.json_frame import print_answer
from traindyno.cli.options import store_options


@click.command("report")
@click.argument("study")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@store_options
def command(study: str, file: Path | None, store: str, as_json: bool) -> int:
    """Write the report of STUDY to FILE; its ending chooses the format (.html, .png, .svg, .md, .csv, .json;
    .toml for the settings of a `find` study).

    Without FILE, the HTML report is written beside the store.
    """
    from traindyno.app.library import report_folder, study_document
    from traindyno.cli.output import write_report
    from traindyno.report.exports import Exporter, form_of

    path = file or report_folder(store) / f"{study}.html"
    form = form_of(path)
    document = study_document(study, store)
    if file is None:
        write_report(document, path)
    else:
        Exporter.prepare({form: path}).write(document)
    if as_json:
        print_answer("report", {"report": str(path), "format": form}, study)
    else:
        click.echo(str(path))
    return 0
