"""Errors that a user can fix, each with the way to fix it."""

from collections.abc import Callable


class TraindynoError(Exception):
    """Something the user can act on: what happened, and what to type or change next.

    The hint is also a note, so that a script which does not catch the error shows it below the traceback.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if hint:
            self.add_note(_note(hint))

    def reword(self, say: Callable[[str], str]) -> None:
        """Say the same in other words, wherever it is read."""
        self.message = say(self.message)
        self.args = (self.message,)
        if self.hint:
            said, self.hint = _note(self.hint), say(self.hint)
            self.__notes__ = [_note(self.hint) if note == said else note for note in self.__notes__]


def _note(hint: str) -> str:
    return f"hint: {hint}"


class UsageError(TraindynoError):
    """The request itself makes no sense; nothing was measured."""

    exit_code = 2


class NothingMeasuredError(TraindynoError):
    """The work ran, but not one measurement came out of it."""


class BudgetSpentError(TraindynoError):
    """The time budget ended before any result."""

    exit_code = 124


class StoppedError(TraindynoError):
    """The user stopped the work before any result; what had finished is kept."""

    exit_code = 130
