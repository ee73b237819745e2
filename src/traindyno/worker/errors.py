"""Faults inside a trial whose origin decides how the trial is classified."""

from traindyno.core.errors import TraindynoError


class LargerThanDataError(TraindynoError):
    """A whole batch of this size cannot be made of the data's `examples`."""

    def __init__(self, message: str, hint: str, examples: int) -> None:
        super().__init__(message, hint)
        self.examples = examples


class DataError(Exception):
    """Reading or collating the user's data raised; the user's own exception is the cause."""
