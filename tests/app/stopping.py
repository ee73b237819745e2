"""Somebody who lets a run begin, and stops it then."""


class Stop:
    """Lets the run begin, and then asks to stop."""

    def __init__(self) -> None:
        self._asked = 0

    def __call__(self) -> bool:
        self._asked += 1
        return self._asked > 1
