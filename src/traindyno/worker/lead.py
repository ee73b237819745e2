"""Whether loader workers are ahead of the step, and stay so.

What was ready before the clock started must not count. As long as workers finish no fewer batches than are taken,
nothing of it is used up, and a trial need not wait until all of it is gone.
"""

from collections.abc import Callable

from traindyno.analysis.flow_pace import UNCOUNTED, Pace

Ready = Callable[[], int | None]
"""How many batches are finished and not yet taken; null where nobody tells."""

HARDLY_WAITED = 0.05
"""Of the time of a turn: the way of a batch from its worker to the step takes some, however long it was ready."""


def untold() -> None:
    """Of batches that no workers make."""


class Lead:
    """Looks at what workers have ready, first after every turn that is discarded, then at the end of every block."""

    def __init__(self, ready: Ready, pace: Pace) -> None:
        self._ready, self._wanted = ready, pace.lead
        self._last: int | None = None
        self._at_ends: list[int | None] = []
        self.is_seen = False

    def may_be_seen(self) -> bool:
        """Look for the first time; whether that tells anything."""
        self._last = None if self._wanted is None else self._ready()
        return self._last is not None

    def look(self, waited_share: float) -> bool:
        """Whether a turn of all workers was hardly waited for, and has left so much ready as only workers have that
        wait for the step, and no less than there was before.
        """
        before, self._last = self._last, self._ready()
        if before is None or self._last is None or self._wanted is None:
            return False
        self.is_seen = waited_share < HARDLY_WAITED and self._last >= max(before, self._wanted)
        return self.is_seen

    def note_block(self) -> None:
        self._at_ends.append(self._ready() if self.is_seen else None)

    def begin_anew(self) -> None:
        self._at_ends = []

    def is_kept(self) -> bool:
        """Whether no more batches were taken than were made since the first block that counts."""
        before, after = self._at_ends[max(0, len(self._at_ends) // UNCOUNTED - 1)], self._at_ends[-1]
        return before is not None and after is not None and after >= before
