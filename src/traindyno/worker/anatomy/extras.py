"""What a trial tells besides its timing: each part may fail, and then costs no more than itself."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Extras:
    """Tries one part after the other and keeps a note of every one that failed."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def attempt(self, otherwise: str, work: Callable[[], T]) -> T | None:
        """The result, or null with a note that begins with `otherwise`: the timing is done and must not be lost."""
        try:
            return work()
        except Exception as error:  # noqa: BLE001 - the step is the user's and may raise anything; the note tells it
            self.notes.append(f"{otherwise}: {first_line(error)}")
            return None


def first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]
