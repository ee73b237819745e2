"""The sources of data by name, `scheme:path`. A new source is one file here and one line in `SOURCES`."""

import difflib
import os
from collections.abc import Callable
from typing import TypeGuard

from traindyno.core.errors import UsageError
from traindyno.core.records import Mode
from traindyno.worker.data.cifar10 import open_cifar10
from traindyno.worker.data.digits import open_digits
from traindyno.worker.data.folder import open_folder
from traindyno.worker.data.memory import Progress, hold_in_memory
from traindyno.worker.data.shards import open_shards
from traindyno.worker.data.stored import Examples, ExampleStream

Opener = Callable[[str, Mode], Examples | ExampleStream]


def open_examples(data: str, mode: Mode, progress: Progress | None = None) -> Examples | ExampleStream:
    """Open `scheme:path`; `progress` is told how many of how many examples `memory:` has read."""
    scheme, colon, path = data.partition(":")
    if not colon or scheme not in SOURCES:
        raise _unknown(data)
    if not path and scheme not in WITHOUT_PATH:
        raise UsageError(f"{data} lacks what to open", f"write {scheme}:{'SOURCE' if scheme == 'memory' else 'PATH'}")
    if scheme == "memory":
        return _open_memory(path, mode, progress)
    return SOURCES[scheme](os.path.expanduser(path), mode)


def is_by_index(examples: Examples | ExampleStream) -> TypeGuard[Examples]:
    """Whether any example can be fetched; those of a stream come in the order of their files."""
    return hasattr(examples, "fetch")


def _open_memory(data: str, mode: Mode, progress: Progress | None = None) -> Examples:
    examples = open_examples(data, mode, progress)
    if is_by_index(examples):
        return hold_in_memory(examples, progress)
    raise UsageError(
        f"memory:{data} is not possible: memory: holds examples by index, and shards are read in order",
        "copy the shards to a RAM disk such as /dev/shm and read them there",
    )


def _open_folder(path: str, mode: Mode) -> Examples:
    return open_folder(_existing(path), mode)


def _open_cifar10(path: str, mode: Mode) -> Examples:
    return open_cifar10(_existing(path), mode)


def _open_prepared(path: str, mode: Mode) -> Examples:
    from traindyno.worker.data.prepared import open_prepared

    return open_prepared(_existing(path), mode)


SOURCES: dict[str, Opener] = {
    "folder": _open_folder,
    "cifar10": _open_cifar10,
    "shards": open_shards,
    "memory": _open_memory,
    "prepared": _open_prepared,
    "digits": open_digits,
}
WITHOUT_PATH = ("digits",)


def _existing(path: str) -> str:
    """The path, if it is there."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"there is no {path}", _likely(path)) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror})", "check its permissions") from None
    return path


def _likely(path: str) -> str:
    """What lies beside the first part of the path that is missing, if its name is like it."""
    parent, name = os.path.split(os.path.abspath(path))
    if not os.path.isdir(parent):
        return _likely(parent)
    found = difflib.get_close_matches(name, os.listdir(parent), n=1)
    return f"did you mean {os.path.join(parent, found[0])}?" if found else f"{parent} has no {name}: check the path"


def _unknown(data: str) -> UsageError:
    """Neither a known scheme nor a path with one: say what there is, and guess what was meant."""
    scheme, colon, path = data.partition(":")
    with_path = ", ".join(f"{known}:" for known in SOURCES if known not in WITHOUT_PATH)
    forms = f"Data are named {with_path} and then a path, or {', '.join(f'{known}:' for known in WITHOUT_PATH)} alone"
    if colon and scheme == "synthetic":
        return UsageError(
            "synthetic: makes its batches on the device: there is nothing stored to read or to hold in memory",
            "use synthetic: alone, or name stored data such as folder:PATH",
        )
    if colon:
        likely = difflib.get_close_matches(scheme.lower(), SOURCES, n=1, cutoff=0.5)
        guess = f"did you mean {likely[0]}:{'' if likely[0] in WITHOUT_PATH else path}? " if likely else ""
        return UsageError(f"{scheme!r} is no source of data", f"{guess}{forms}")
    return UsageError(f"{data!r} lacks its kind of source", f"did you mean folder:{data}? {forms}")
