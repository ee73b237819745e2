"""Which run of a round comes next, told by its phase, arm, branch and index.

Arms take turns, and branches within an arm, so that a round which is cut leaves all of them equal. An index is taken
once and for ever: no process draws it again. What was drawn under an earlier version of the file counts as `spent`
where the round still searches; elsewhere it takes nothing from the budget.
"""

from collections import Counter
from collections.abc import Iterable
from functools import cache, partial

from traindyno.core.base import Record
from traindyno.core.round_space import arms_of, branches_of, exploits, membership
from traindyno.core.rounds import Draw, Phase, Round

Counts = Counter[tuple[str, str, str]]


class Slot(Record, frozen=True):
    """A place for one run of a phase and arm, the `number`th of them from 1 on; its branch is chosen later."""

    phase: Phase
    arm: str
    number: int


class Book:
    """The slots of a round's runs, entered once each, for there may be many thousands.

    `counts` has, by phase, arm and branch, how many of them lie in the space as it is now.
    """

    def __init__(self, round: Round) -> None:
        self._membership_of = cache(partial(membership, round))
        self._spent: set[tuple[str, str, str, int]] = set()
        self._free: dict[tuple[str, str, str], int] = {}
        self.taken: set[tuple[str, str, str, int]] = set()
        self.counts: Counts = Counter()
        self.runs = self._tuned = 0

    def enter(self, draws: Iterable[Draw]) -> None:
        for draw in draws:
            slot = draw.slot
            self.taken.add(slot)
            self.runs, self._tuned = self.runs + 1, self._tuned + (draw.phase != "gate")
            if slot not in self._spent and self._membership_of(draw.arm, draw.branch)(draw.values):
                self._spent.add(slot)
                self.counts[slot[:3]] += 1

    @property
    def elsewhere(self) -> int:
        """How many runs of the search lie where the round does not search any more."""
        return self._tuned - sum(count for (phase, *_), count in self.counts.items() if phase != "gate")

    def next_index(self, phase: Phase, arm: str, branch: str) -> int:
        """The first that nobody has taken. None becomes free again, so that those before it are not looked at twice."""
        index = self._free.get((phase, arm, branch), 0)
        while (phase, arm, branch, index) in self.taken:
            index += 1
        self._free[phase, arm, branch] = index
        return index


def next_slot(round: Round, counts: Counts) -> Slot | None:
    """The next run after the gate: of the plain search, or of the one that learns from it.

    Where only time bounds the round, as many plain runs as learning ones come first, and plain ones again at the end.
    """
    trials = round.budget.trials
    first = round.then_trials if trials is None and exploits(round) else trials
    then = round.then_trials if exploits(round) else 0
    phases: tuple[tuple[Phase, int | None], ...] = (("search", first), ("exploit", then), ("search", trials))
    slots = (_next(round, counts, phase, most) for phase, most in phases)
    return next((slot for slot in slots if slot is not None), None)


def branch_in_turn(round: Round, arm: str, counts: Counts) -> str:
    """The branch of an arm with the fewest plain runs."""
    return min(branches_of(round, arm), key=lambda branch: counts["search", arm, branch])


def _next(round: Round, counts: Counts, phase: Phase, most: int | None) -> Slot | None:
    """The arm with the fewest runs, the first of equal ones, if there are fewer than `most`."""
    runs = {arm: sum(counts[phase, arm, branch] for branch in branches_of(round, arm)) for arm in arms_of(round)}
    arm = min(runs, key=lambda arm: runs[arm])
    return Slot(phase=phase, arm=arm, number=runs[arm] + 1) if most is None or runs[arm] < most else None
