"""Examples that cannot be used, such as corrupt images: named in the error, or left out and counted by `--skip-bad`."""

import errno
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from traindyno.core.errors import TraindynoError
from traindyno.worker.data.stored import Examples, Stored

BAD_IN_A_ROW = 100
NAMES_KEPT = 16
SKIP_BAD_HINT = "mend or remove it, or leave such examples out with --skip-bad (in a script, skip_bad=True)"

# These tell of the machine, not of the file that happened to be opened.
_NOT_THE_FILES_FAULT = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)

Used = TypeVar("Used")


class UndecodableError(ValueError):
    """A decoder cannot make an image of these bytes. It says why; whoever called it knows the name."""


class BadExampleError(TraindynoError):
    """One example cannot be used; `name` says which.

    A loader rebuilds what its worker raised from one text with the whole traceback around it, so a message like that
    is cut back to the sentence at its end, without the hint that follows it.
    """

    def __init__(self, message: str, hint: str | None = SKIP_BAD_HINT, name: str = "") -> None:
        sentence = message.rpartition(f"{type(self).__name__}: ")[2].partition("\nhint: ")[0]
        super().__init__(sentence.strip(), hint)
        self.name = name


def bad_example(name: str, reason: str, hint: str = SKIP_BAD_HINT) -> BadExampleError:
    """The error that names the example and says in one line what is wrong with it."""
    name = " ".join(name.splitlines())
    return BadExampleError(f"{name} cannot be used: {' '.join(reason.split())}", hint, name)


def unreadable(name: str, error: OSError) -> BadExampleError:
    """The file's fault as a bad example; what is the machine's fault (too many open files) is raised as it is."""
    if error.errno in _NOT_THE_FILES_FAULT:
        raise error
    return bad_example(name, f"it cannot be read ({error.strerror or error})")


class SkippedExamples:
    """The bad examples that were left out, as told by all processes of a loader.

    Each process appends the names it meets to one file: appending keeps the lines of several processes apart, needs
    no lock that a killed worker could hold for ever, and works for forked and spawned workers alike.
    """

    def __init__(self) -> None:
        descriptor, self._path = tempfile.mkstemp(prefix="traindyno-skipped-")
        os.close(descriptor)
        self._told: set[str] = set()

    def add(self, name: str) -> None:
        """Remember a bad example; to meet it again in a later epoch does not count."""
        if name in self._told:
            return
        self._told.add(name)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(descriptor, os.fsencode(name) + b"\n")
        finally:
            os.close(descriptor)

    @property
    def count(self) -> int:
        """How many different examples were bad so far, in all processes."""
        return len(self._all())

    @property
    def names(self) -> tuple[str, ...]:
        """The first of them."""
        return self.every[:NAMES_KEPT]

    @property
    def every(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(os.fsdecode(name) for name in self._all())

    def _all(self) -> list[bytes]:
        return list(dict.fromkeys(Path(self._path).read_bytes().split(b"\n")[:-1]))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        Path(self._path).unlink(missing_ok=True)


def read_example(
    examples: Examples, index: int, use: Callable[[Stored], Used], skipped: SkippedExamples | None = None
) -> tuple[Used, int]:
    """Fetch an example and put it to use (decode it, say); what came of it, with its label.

    A bad example is an error that names it; with `skipped` it is counted and the next good one takes its place.
    """
    tries = 1 if skipped is None else min(len(examples), BAD_IN_A_ROW + 1)
    for tried in range(1, tries + 1):
        try:
            stored = _fetched(examples, (index + tried - 1) % len(examples))
            return _used(stored, use), stored.label
        except BadExampleError as error:
            _skip(error, skipped)
            if tried == tries:
                raise _not_images(error) from error
    raise AssertionError("the last try returns or raises")


def read_stream(
    stream: Iterable[Stored], use: Callable[[Stored], Used], skipped: SkippedExamples | None = None
) -> Iterator[tuple[Used, int]]:
    """Put each example of a stream to use; bad ones as in `read_example`. A stream of bad ones only is an error."""
    bad_in_a_row = good = 0
    last: BadExampleError | None = None
    for stored in stream:
        try:
            used = _used(stored, use)
        except BadExampleError as error:
            _skip(error, skipped)
            bad_in_a_row, last = bad_in_a_row + 1, error
            if bad_in_a_row > BAD_IN_A_ROW:
                raise _not_images(error) from error
        else:
            bad_in_a_row, good = 0, good + 1
            yield used, stored.label
    if last is not None and not good:
        raise _not_images(last) from last


def _fetched(examples: Examples, index: int) -> Stored:
    try:
        return examples.fetch(index)
    except OSError as error:
        raise unreadable(f"example {index}", error) from error


def _used(stored: Stored, use: Callable[[Stored], Used]) -> Used:
    try:
        return use(stored)
    except UndecodableError as error:
        raise bad_example(stored.name, str(error)) from error
    except OSError as error:
        raise unreadable(stored.name, error) from error


def _skip(error: BadExampleError, skipped: SkippedExamples | None) -> None:
    if skipped is None:
        raise error
    skipped.add(error.name)


def _not_images(last: BadExampleError) -> TraindynoError:
    return TraindynoError(
        f"too many bad examples in a row: is this image data? The last one: {last.message}",
        "open a few of the files by hand; to skip bad examples helps where few examples are bad",
    )
