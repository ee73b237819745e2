"""Errors that a user can fix, each with the way to fix it."""


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
            self.add_note(f"hint: {hint}")


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
