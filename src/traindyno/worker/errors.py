"""Faults inside a trial whose origin decides how the trial is classified."""

from traindyno.core.errors import TraindynoError


class LargerThanDataError(TraindynoError):
    """More is asked for than the data's `examples` give: a larger batch, or a longer pass. Other trials can go on."""

    def __init__(self, message: str, hint: str, examples: int) -> None:
        super().__init__(message, hint)
        self.examples = examples


class DataError(Exception):
    """Reading or collating the user's data raised; the user's own exception is the cause."""
