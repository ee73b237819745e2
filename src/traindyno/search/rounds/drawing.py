"""The values of one run: a point of the plain search, or one that follows from what the runs of its arm have shown."""

from collections.abc import Sequence

from traindyno.analysis.rounds.trials import best_first, tuning
from traindyno.core.round_space import branches_of, contains, dimensions_of, is_within, target_value, value_at
from traindyno.core.rounds import Draw, Parameter, Round, RoundTrial, Value
from traindyno.search.rounds.exploit import exploit
from traindyno.search.rounds.halton import halton_point, stable_seed
from traindyno.search.rounds.refined import Seen, refined
from traindyno.search.rounds.slots import Book, Slot, branch_in_turn

IMPOSSIBLE = ("diverged", "out_of_memory", "crashed", "timed_out")
"""Endings that come of the values. Of others, such as a full disk, nothing is learnt."""


def draw_in(round: Round, slot: Slot, book: Book, trials: Sequence[RoundTrial], under_way: Sequence[Draw]) -> Draw:
    """The run for a slot, from all runs of the round that have ended or are in someone's hands: the book has both."""
    if slot.phase == "exploit":
        return _exploiting(round, slot.arm, book, tuning(trials), under_way)
    branch = branch_in_turn(round, slot.arm, book.counts)
    index = book.next_index("search", slot.arm, branch)
    return Draw(
        phase="search", arm=slot.arm, branch=branch, index=index, values=search_values(round, slot.arm, branch, index)
    )


def search_values(round: Round, arm: str, branch: str, index: int) -> dict[str, Value]:
    """The values at one index of the plain search, by name."""
    dimensions = dimensions_of(round, arm, branch)
    point = halton_point(round.name, branch, [each.name for each in dimensions], index)
    return _settled(round, arm, branch) | {each.name: value_at(each, point[each.name]) for each in dimensions}


def _exploiting(round: Round, arm: str, book: Book, trials: Sequence[RoundTrial], under_way: Sequence[Draw]) -> Draw:
    branch = _best_branch(round, arm, trials)
    index = book.next_index("exploit", arm, branch)
    here = [each for each in trials if _lies_in(round, arm, branch, each.draw)]
    plain = [_seen(each) for each in here if each.draw.phase == "search" and _tells(each)]
    higher = round.metric.higher_is_better
    dimensions = refined(dimensions_of(round, arm, branch), plain, higher_is_better=higher)
    point = exploit(
        "tpe" if round.then == "tpe" else "gp",
        dimensions,
        [_seen(each) for each in here if _tells(each) and _all_within(dimensions, each.draw)],
        [each.values for each in under_way if _lies_in(round, arm, branch, each) and _all_within(dimensions, each)],
        higher_is_better=higher,
        seed=stable_seed(round.name, arm, branch, index),
    )
    return Draw(phase="exploit", arm=arm, branch=branch, index=index, values=_settled(round, arm, branch) | point)


def _best_branch(round: Round, arm: str, trials: Sequence[RoundTrial]) -> str:
    """That of the arm's best run so far; the first where none has a score."""
    here = [each for each in trials if _lies_in(round, arm, each.draw.branch, each.draw)]
    best = best_first(round.metric, here)
    return next((each.draw.branch for each in best), next(iter(branches_of(round, arm))))


def _settled(round: Round, arm: str, branch: str) -> dict[str, Value]:
    value = target_value(round, arm)
    target = {} if round.target is None or value is None else {round.target.name: value}
    return target | branches_of(round, arm)[branch]


def _lies_in(round: Round, arm: str, branch: str, draw: Draw) -> bool:
    is_here = draw.arm == arm and draw.branch == branch and draw.phase in ("search", "exploit")
    return is_here and contains(round, arm, branch, draw.values)


def _tells(trial: RoundTrial) -> bool:
    return trial.feasible or trial.ending in IMPOSSIBLE


def _seen(trial: RoundTrial) -> Seen:
    return Seen(values=trial.draw.values, score=trial.score if trial.feasible else None)


def _all_within(dimensions: Sequence[Parameter], draw: Draw) -> bool:
    return all(is_within(each, draw.values[each.name]) for each in dimensions)
