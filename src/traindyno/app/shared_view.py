"""How a study that several processes run stands now: what has ended, what others run, what waits for somebody."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.store.ledger import Ledger, QueuedTrial

RETRIES = 2
"""So often a trial is run again that was killed or could not be run."""
LOST = (Outcome.KILLED, Outcome.INFRASTRUCTURE)


@dataclass(frozen=True)
class View:
    """One look at a shared study. `waiting` are trials that nobody runs: planned, left by the dead, or to come again.

    `here` counts those of the `running` that processes of this machine have.
    """

    finished: tuple[TrialRecord, ...]
    running: tuple[TrialSpec, ...]
    waiting: tuple[QueuedTrial, ...]
    here: int

    @property
    def known_trials(self) -> int:
        return len(self.finished) + len(self.running) + len(self.waiting)


NOTHING_SEEN = View(finished=(), running=(), waiting=(), here=0)


class Looking:
    """Reads a study's trials again and again; what does not change is read once: what was asked, and what has ended.

    `again` are results that are not believed, by their trial: it is to be run once more.
    """

    def __init__(self, ledger: Ledger, study_id: int) -> None:
        self._ledger, self._study_id = ledger, study_id
        self._specs: dict[int, TrialSpec] = {}
        self._records: dict[int, tuple[int | None, TrialRecord]] = {}
        self.again: Mapping[int, int | None] = {}

    def look(self) -> View:
        queue = self._queue()
        idle = [trial for trial in queue if not trial.in_hands]
        return View(
            finished=self._results([trial for trial in idle if not self.waits(trial)]),
            running=tuple(trial.spec for trial in queue if trial.in_hands),
            waiting=tuple(trial for trial in idle if self.waits(trial)),
            here=sum(trial.in_hands and trial.is_here for trial in queue),
        )

    def waits(self, trial: QueuedTrial) -> bool:
        """Whether a trial that nobody runs is to be run."""
        if trial.outcome in (None, Outcome.INTERRUPTED) or self.comes_again(trial):
            return True
        return trial.outcome in LOST and trial.losses <= RETRIES

    def comes_again(self, trial: QueuedTrial) -> bool:
        return trial.id in self.again and self.again[trial.id] == trial.fence

    def doubt(self, outcomes: tuple[Outcome, ...]) -> None:
        """Run again, once, what ended in one of these ways before now."""
        queue = self._queue()
        self.again = {trial.id: trial.fence for trial in queue if trial.outcome in outcomes and not trial.in_hands}

    def _queue(self) -> list[QueuedTrial]:
        queue = self._ledger.queue(self._study_id, self._specs)
        self._specs.update((trial.id, trial.spec) for trial in queue if trial.id not in self._specs)
        return queue

    def _results(self, finished: Sequence[QueuedTrial]) -> tuple[TrialRecord, ...]:
        unread = {each.id: each.fence for each in finished if self._records.get(each.id, (None,))[0] != each.fence}
        read = self._ledger.results(list(unread)) if unread else {}
        self._records.update((place, (unread[place], record)) for place, record in read.items())
        return tuple(self._records[each.id][1] for each in finished)
