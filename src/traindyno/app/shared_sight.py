"""What one process knows of a study that others run too: all at its latest look, and what is cheap to know since."""

import time

from traindyno.app.pulling import FEW, FIRST_LOOK_SECONDS, look_interval_seconds
from traindyno.app.shared_view import NOTHING_SEEN, Looking, View
from traindyno.store.ledger import Ledger, Running, StudyRow, Taken


class Sight:
    """How a shared study stands, as far as it is known here.

    `is_fresh` is a look after which this process has done nothing yet. While few run, numbers are those of a look that
    was made just now; where many do, they follow from the trials that are taken, and from how many run.
    """

    def __init__(self, ledger: Ledger, row: StudyRow) -> None:
        self._ledger, self._study_id = ledger, row.id
        self.looking = Looking(ledger, row.id)
        self.view: View = NOTHING_SEEN
        self.is_fresh = False
        self.running = Running(trials=0, here=0)
        self.most_running = 0
        """So many were ever seen to run at once."""
        self.known = row.trials
        """How many trials the study has, as far as is known."""
        self._waiting = 0
        self.look_seconds = FIRST_LOOK_SECONDS
        self._count_seconds = 0.0
        self._looked_at = self._counted_at = time.monotonic()

    @property
    def are_few(self) -> bool:
        """Whether so few run that each may look after every trial of its own."""
        return self.running.trials <= FEW

    @property
    def finished(self) -> int:
        """How many trials have ended, as far as is known."""
        return max(len(self.view.finished), self.known - self.running.trials - self._waiting)

    def look(self) -> None:
        """See all of the study."""
        began = time.monotonic()
        self.view = self.looking.look()
        self._looked_at = self._counted_at = time.monotonic()
        self.look_seconds = self._looked_at - began
        self._see_running(Running(trials=len(self.view.running), here=self.view.here))
        self.known, self._waiting = self.view.known_trials, len(self.view.waiting)
        self.is_fresh = True

    def look_is_due(self) -> bool:
        """Whether it is this process's part to look, where many run: for what was killed or interrupted.

        Only those count that run trials: who waits looks in its turn to plan.
        """
        every = look_interval_seconds(self.look_seconds, self.running.trials)
        return not self.are_few and time.monotonic() - self._looked_at > every

    def count(self) -> None:
        """See how many run now, unless so many do that all of them would ask too often."""
        if time.monotonic() - self._counted_at < look_interval_seconds(self._count_seconds, self.running.trials):
            return
        began = time.monotonic()
        self._see_running(self._ledger.running(self._study_id, FEW))
        self._counted_at = time.monotonic()
        self._count_seconds = self._counted_at - began

    def _see_running(self, running: Running) -> None:
        self.running, self.most_running = running, max(self.most_running, running.trials)

    def note(self, taken: Taken) -> None:
        """A trial that was taken tells how many there are."""
        self.is_fresh = False
        self._waiting = taken.left
        self.known = max(self.known, taken.ordinal + taken.left)
