"""Which run of a round comes next, told by its phase, arm, branch and index.

Arms take turns, and branches within an arm, so that a round which is cut leaves all of them equal. An index is taken
once and for ever: no process draws it again. What was drawn under an earlier version of the file counts as `spent`
where the round still searches; elsewhere it takes nothing from the budget.
"""

from collections.abc import Collection, Iterable
from functools import cache, partial

from traindyno.core.base import Record
from traindyno.core.round_space import arms_of, branches_of, exploits, membership
from traindyno.core.rounds import Draw, Phase, Round

Taken = Collection[tuple[str, str, str, int]]


class Slot(Record, frozen=True):
    """A place for one run of a phase and arm, the `number`th of them from 1 on; its branch is chosen later."""

    phase: Phase
    arm: str
    number: int


def spent_slots(round: Round, draws: Iterable[Draw]) -> Taken:
    """The slots of those runs that lie in the space as it is now."""
    membership_of = cache(partial(membership, round))
    return {draw.slot for draw in draws if membership_of(draw.arm, draw.branch)(draw.values)}


def next_slot(round: Round, spent: Taken) -> Slot | None:
    """The next run after the gate: of the plain search, or of the one that learns from it.

    Where only time bounds the round, as many plain runs as learning ones come first, and plain ones again at the end.
    """
    trials = round.budget.trials
    first = round.then_trials if trials is None and exploits(round) else trials
    then = round.then_trials if exploits(round) else 0
    phases: tuple[tuple[Phase, int | None], ...] = (("search", first), ("exploit", then), ("search", trials))
    slots = (_next(round, spent, phase, most) for phase, most in phases)
    return next((slot for slot in slots if slot is not None), None)


def branch_in_turn(round: Round, arm: str, spent: Taken) -> str:
    """The branch of an arm with the fewest plain runs."""
    return min(branches_of(round, arm), key=lambda branch: _count(spent, "search", arm, branch))


def next_index(taken: Taken, phase: Phase, arm: str, branch: str) -> int:
    index = 0
    while (phase, arm, branch, index) in taken:
        index += 1
    return index


def _next(round: Round, spent: Taken, phase: Phase, most: int | None) -> Slot | None:
    """The arm with the fewest runs, the first of equal ones, if there are fewer than `most`."""
    runs = {arm: sum(_count(spent, phase, arm, branch) for branch in branches_of(round, arm)) for arm in arms_of(round)}
    arm = min(runs, key=lambda arm: runs[arm])
    return Slot(phase=phase, arm=arm, number=runs[arm] + 1) if most is None or runs[arm] < most else None


def _count(spent: Taken, phase: Phase, arm: str, branch: str) -> int:
    return sum(slot[:3] == (phase, arm, branch) for slot in spent)
