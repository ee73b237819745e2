"""The user's own part of a traceback: where their code stood when something went wrong."""

import re
import sysconfig
import traceback
from importlib.util import find_spec
from pathlib import Path

from traindyno.core.errors import TraindynoError

_LIBRARIES = ("traindyno", "torch", "torchvision", "timm")
_INSTALLED = frozenset({"site-packages", "dist-packages"})
_FRAME = re.compile(
    r'^  File "(?P<file>[^"\n]+)", line (?P<line>\d+), in (?P<name>[^\n]+)\n(?:    [^\n]*\n)*', re.MULTILINE
)


def own_traceback(error: BaseException) -> tuple[str, str | None]:
    """The traceback without the frames of libraries, and the place of the last frame that remains.

    When no frame remains, the mistake is not in the user's code, and the whole traceback is given.
    """
    told = traceback.TracebackException.from_exception(error)
    _leave_out_hint(told, error)
    folders = _library_folders()
    frames = [frame for frame in told.stack if not _within(frame.filename, folders)]
    if not frames and isinstance(error, SyntaxError) and error.filename and not _within(error.filename, folders):
        told.stack = traceback.StackSummary()
        return "".join(told.format()), f"{error.filename}:{error.lineno}"
    if not frames:
        return "".join(told.format()), None
    _keep_own(told, folders)
    last = frames[-1]
    return "".join(told.format()), f"{last.filename}:{last.lineno} in {last.name}"


def _leave_out_hint(told: traceback.TracebackException, error: BaseException) -> None:
    """An error of ours has its hint as a note too, and a failure tells it as its remedy."""
    if isinstance(error, TraindynoError) and told.__notes__:
        told.__notes__ = [note for note in told.__notes__ if note != f"hint: {error.hint}"]


def own_text(told: str) -> tuple[str, str | None]:
    """The same of a traceback that is already text."""
    folders = _library_folders()
    own = [frame for frame in _FRAME.finditer(told) if not _within(frame["file"], folders)]
    if not own:
        return told, None
    last = own[-1]
    kept = _FRAME.sub(lambda frame: "" if _within(frame["file"], folders) else frame[0], told)
    return kept, f"{last['file']}:{last['line']} in {last['name']}"


def _keep_own(told: traceback.TracebackException, folders: list[str]) -> None:
    own = [frame for frame in told.stack if not _within(frame.filename, folders)]
    told.stack = traceback.StackSummary.from_list(own or told.stack)
    for earlier in (told.__cause__, told.__context__):
        if earlier is not None:
            _keep_own(earlier, folders)


def _within(filename: str, folders: list[str]) -> bool:
    installed = not _INSTALLED.isdisjoint(Path(filename).parts)
    return filename.startswith("<") or installed or any(filename.startswith(folder) for folder in folders)


def _library_folders() -> list[str]:
    """Where Python's own modules lie, and libraries that may run from where they are written."""
    specs = (find_spec(name) for name in _LIBRARIES)
    written = [f"{Path(spec.origin).parent}/" for spec in specs if spec is not None and spec.origin is not None]
    return [*(f"{sysconfig.get_path(name)}/" for name in ("stdlib", "platstdlib")), *written]
