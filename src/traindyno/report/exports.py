"""Files an answer is exported to: checked before the work starts, written whole or not at all."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from traindyno.core.answers import Document
from traindyno.core.base import Record
from traindyno.core.errors import TraindynoError, UsageError
from traindyno.report.renderers import RENDERERS, rendered

STREAM_FOLDERS = (Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd"))
OTHER_CONTENT = (
    *(".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".pdf", ".eps", ".ps"),
    *(".tsv", ".xls", ".xlsx", ".ods", ".parquet", ".jsonl", ".xml", ".yaml", ".yml", ".ini"),
    *(".rst", ".tex", ".doc", ".docx", ".odt", ".py", ".ipynb"),
    *(".gz", ".bz2", ".xz", ".zst", ".zip", ".tar", ".db", ".sqlite", ".sqlite3", ".pt", ".pth"),
)
"""Endings that promise what is never written: other pictures, tables and texts, packed files, databases, weights."""


class Target(Record, frozen=True):
    """One file and the format it will hold."""

    form: str
    path: Path


class Exporter(Record, frozen=True):
    """The checked targets of one command."""

    targets: tuple[Target, ...] = ()

    @staticmethod
    def prepare(paths: Mapping[str, str | Path | None]) -> "Exporter":
        """Check every target, given as format → path. Formats without a path are on offer, and are left out."""
        targets = tuple(Target(form=form, path=Path(path)) for form, path in paths.items() if path is not None)
        for target in targets:
            _check(target, offered=tuple(paths))
        _check_distinct(targets)
        return Exporter(targets=targets)

    def write(self, document: Document) -> tuple[Path, ...]:
        """Write every target; one that cannot be written does not keep the others from being."""
        attempts = [_try_write(document, target) for target in self.targets]
        failures = [failure for failure in attempts if failure is not None]
        if failures:
            raise TraindynoError("; ".join(error.message for error in failures), failures[0].hint)
        return tuple(target.path for target in self.targets)


def form_of(path: str | Path) -> str:
    """The format that a file's ending asks for."""
    ending = Path(path).suffix.lower()
    known = {known: form for form, renderer in RENDERERS.items() for known in renderer.endings}
    if ending not in known:
        raise UsageError(f"cannot tell the format of {path}", f"end the name in one of {', '.join(sorted(known))}")
    return known[ending]


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file in one move, so that nobody ever reads half of it; devices and pipes are written to."""
    if _is_stream(path):
        path.write_bytes(content)
        return
    target = path.resolve()
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            partial.chmod(target.stat().st_mode & 0o7777)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _try_write(document: Document, target: Target) -> TraindynoError | None:
    try:
        write_whole(target.path, rendered(document, target.form))
    except OSError as error:
        why = error.strerror or str(error)
        return TraindynoError(f"{target.path} could not be written: {why}", "`traindyno report` exports a study again")
    except TraindynoError as error:
        return TraindynoError(f"{target.path} was not written: {error.message}", error.hint)
    return None


def _check(target: Target, offered: Sequence[str]) -> None:
    if target.form not in RENDERERS:
        raise UsageError(f"there is no format {target.form!r}", f"choose one of {', '.join(RENDERERS)}")
    if str(target.path) == "-":
        raise UsageError("- would be a file of that name", "write /dev/stdout for the standard output")
    check_file(target.path, f"report{_ending(target.form)}")
    if not _is_stream(target.path):
        _check_ending(target, offered)


def check_file(path: Path, usual_name: str) -> None:
    """Whether a file can be written later; `usual_name` is what it may be called where a folder was named."""
    if path.is_dir():
        raise UsageError(f"{path} is a directory", f"name a file in it: {path / usual_name}")
    if _is_stream(path):
        return
    if not path.resolve().parent.is_dir():
        raise UsageError(f"the directory of {path} does not exist", f"mkdir -p {path.parent}")
    _check_writable(path.resolve())


def check_report_folder(folder: Path) -> None:
    """Whether reports can be written later beside the store, into a folder that may not be there yet."""
    if os.path.lexists(folder) and not folder.is_dir():
        raise UsageError(
            f"reports go to {folder}, which is no folder", "move it away, or leave the report away with --no-report"
        )
    place = folder if folder.is_dir() else folder.parent
    try:
        if place.is_dir():
            _check_writable(place.resolve() / "report.html")
    except UsageError as error:
        raise UsageError(
            f"reports go to {folder}, but {error.message}", f"{error.hint}, or leave the report away with --no-report"
        ) from error


def _check_ending(target: Target, offered: Sequence[str]) -> None:
    """The name must not promise other content; one that promises nothing, as `run` or `run.v2`, is taken as it is."""
    ending, own = target.path.suffix.lower(), RENDERERS[target.form].endings
    others = [form for form, renderer in RENDERERS.items() if ending in renderer.endings and form != target.form]
    if others or ending in OTHER_CONTENT:
        right = f"end the name in {own[0]}"
        raise UsageError(
            f"{target.path} ends in {ending} but would hold {target.form}",
            f"use --export-{others[0]}, or {right}" if set(others) & set(offered) else right,
        )


def _check_writable(path: Path) -> None:
    """Try it: permissions alone do not tell of read-only file systems."""
    if path.exists() and not os.access(path, os.W_OK):
        raise UsageError(f"{path} is write-protected", "choose another name, or make the file writable")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise UsageError(
            f"nothing can be written in {path.parent}: {error.strerror}",
            "choose a folder that you may write to",
        ) from error


def _check_distinct(targets: tuple[Target, ...]) -> None:
    files = [target.path.resolve() for target in targets if not _is_stream(target.path)]
    twice = {file for file in files if files.count(file) > 1}
    if twice:
        raise UsageError(f"{min(twice)} is named for two formats", "give each export a file of its own")


def _is_stream(path: Path) -> bool:
    """A device, pipe or descriptor, which cannot be replaced by a rename."""
    special = path.exists() and not path.is_file() and not path.is_dir()
    return special or (path.is_absolute() and path.parent in STREAM_FOLDERS and path.exists())


def _ending(form: str) -> str:
    return RENDERERS[form].endings[0]
