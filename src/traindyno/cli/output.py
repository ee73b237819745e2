"""Where a command's result goes: stdout, exported files, the report. Files are checked before the work starts."""

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from traindyno.cli.errors import tell_error
from traindyno.cli.json_frame import print_answer
from traindyno.cli.options import store_options
from traindyno.core.answers import Document, FindAnswer, Rehearsal
from traindyno.core.errors import TraindynoError, UsageError

if TYPE_CHECKING:
    from traindyno.report.exports import Exporter

F = TypeVar("F", bound=Callable[..., Any])
FORMATS = ("json", "csv", "markdown", "html", "png")
EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED = 0, 1, 130


def output_options(function: F) -> F:
    """`--json`, `--store`, `-q`, `-v` and an `--export-…` option per format."""
    for name in reversed(FORMATS):
        function = click.option(
            f"--export-{name}", type=click.Path(path_type=Path), metavar="FILE", help=f"Write the result as {name}."
        )(function)
    function = click.option("-v", "--verbose", is_flag=True, help="Tell every phase of every trial.")(function)
    function = click.option("-q", "--quiet", is_flag=True, help="No progress, warnings only.")(function)
    return store_options(function)


def toml_option(function: F) -> F:
    """For commands that may have the settings that `find` recommends."""
    return click.option(
        "--export-toml", type=click.Path(path_type=Path), metavar="FILE",
        help="Write the settings that `find` recommends, for `verify`, --baseline and traindyno.apply.",
    )(function)  # fmt: skip


def report_option(function: F) -> F:
    return click.option("--no-report", is_flag=True, help="Do not write the HTML report beside the store.")(function)


@dataclass(frozen=True)
class Output:
    """The output options of one call."""

    as_json: bool
    quiet: bool
    verbose: bool
    exporter: "Exporter"
    report_folder: Path | None = None
    store_option: str = ""

    @classmethod
    def take(cls, values: dict[str, Any], store: str, *, only_reads: bool = False) -> "Output":
        """Remove the output options from the parsed values; check that every file can be written."""
        from traindyno.app.context import store_option
        from traindyno.app.library import report_folder
        from traindyno.report.exports import Exporter

        offered = [name for name in (*FORMATS, "toml") if f"export_{name}" in values]
        exporter = Exporter.prepare({name: values.pop(f"export_{name}") for name in offered})
        folder = None if values.pop("no_report", True) or _is_rehearsal() else report_folder(store)
        if folder is not None:
            _check_reports(folder, store, only_reads=only_reads)
        shown = (values.pop("as_json"), values.pop("quiet"), values.pop("verbose"))
        return cls(*shown, exporter, folder, store_option(store))

    def deliver(self, document: Document) -> int:
        """Export, print, and return the exit code. What the loss of a machine left unmeasured was asked for."""
        document = self._with_report(document)
        self._print(document)
        if not self._exported(document) or document.machine_lost:
            return EXIT_FAILED
        return EXIT_INTERRUPTED if document.interrupted else EXIT_DONE

    def _exported(self, document: Document) -> bool:
        """Whether every file was written. The result is printed already, so a failure is told on stderr alone."""
        try:
            self.exporter.write(document)
        except TraindynoError as error:
            tell_error(error.message, error.hint)
            return False
        return True

    def deliver_rehearsal(self, rehearsal: Rehearsal) -> int:
        """Print what would be done."""
        if self.as_json:
            print_answer(rehearsal.command, rehearsal)
        else:
            click.echo("\n".join(rehearsal.lines))
        return EXIT_DONE

    def _with_report(self, document: Document) -> Document:
        """Write the page for people beside the store; a full disk costs the page, not the answer."""
        import msgspec

        if self.report_folder is None or document.study is None:
            return document
        path = self.report_folder / f"{document.study}.html"
        with_report = msgspec.structs.replace(document, report=str(path), answer=_naming(document.answer, path))
        try:
            write_report(with_report, path)
        except TraindynoError as error:
            return msgspec.structs.replace(
                document, warnings=(*document.warnings, self._without_report(error, document))
            )
        return with_report

    def _without_report(self, error: TraindynoError, document: Document) -> str:
        again = f"traindyno report {document.study}{self.store_option}"
        return f"The report could not be written: {error.message}. When that is mended, `{again}` writes it."

    def _print(self, document: Document) -> None:
        from traindyno.report.renderers.console import render_console, render_console_notes
        from traindyno.report.renderers.json_text import render_json

        if self.as_json:
            click.echo(render_json(document), nl=False)
            return
        width = terminal_width()
        click.echo(render_console(document, width, wants_color(sys.stdout), notes=False), nl=False)
        click.echo(render_console_notes(document, width, wants_color(sys.stderr)), nl=False, err=True)


def _check_reports(folder: Path, store: str, *, only_reads: bool) -> None:
    """Where the store cannot be written either, that is what to say: with --no-report it would only be said next."""
    from traindyno.app.library import check_store
    from traindyno.report.exports import check_report_folder

    try:
        check_report_folder(folder)
    except UsageError:
        if not only_reads:
            check_store(store)
        raise


def _is_rehearsal() -> bool:
    """Whether nothing is to be measured, and so nothing to be reported."""
    return bool(click.get_current_context().params.get("dry_run", False))


def _naming(answer: Any, report: Path) -> Any:
    """The answer of `find` says itself where its report is."""
    import msgspec

    return msgspec.structs.replace(answer, report=str(report)) if isinstance(answer, FindAnswer) else answer


def write_report(document: Document, path: Path) -> None:
    from traindyno.report.exports import Exporter

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TraindynoError(
            f"the folder {path.parent} cannot be made: {error.strerror}",
            "move away what stands in its place, or name a file for the report",
        ) from error
    try:
        exporter = Exporter.prepare({"html": path})
    except UsageError as error:
        raise UsageError(error.message, "name a file for the report where you may write") from error
    exporter.write(document)


def terminal_width() -> int:
    """The terminal's own width, within what a table can use; 100 columns where there is none."""
    return max(60, min(120, shutil.get_terminal_size((100, 24)).columns))


def wants_color(stream: TextIO) -> bool:
    return stream.isatty() and "NO_COLOR" not in os.environ
