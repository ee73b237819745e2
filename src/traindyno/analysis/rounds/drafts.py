"""A round that is drafted: its file to come, with a reason for each thing in it, and enough of everything."""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.rounds.enough import enough_seeds, enough_trials
from traindyno.core.base import Record
from traindyno.core.rounds import Round, RoundBudget


class Draft(Record, frozen=True):
    """A round to come. `reasons` are by the name of a parameter or a table of its file; by "" for the whole."""

    round: Round
    reasons: tuple[tuple[str, str], ...]


def with_enough(draft: Draft, used_seeds: int = 0) -> Draft:
    """The draft with as many trials and seeds as its own checks will want, and no fewer seeds than were used last."""
    round_, reasons = draft.round, list(draft.reasons)
    budget, trials = round_.budget, enough_trials(round_)
    if budget.trials is not None and budget.trials < trials:
        budget = RoundBudget(trials=trials)
        reasons.append(("budget", f"{trials} trials of each arm, as many as its checks want for what is searched."))
    adopt = max(round_.seeds.adopt, used_seeds, enough_seeds(round_))
    if adopt > round_.seeds.adopt:
        why = "as many as were used last" if adopt == used_seeds else "below which no gain could be shown"
        reasons.append(("seeds", f"adopt = {adopt}, {why}."))
    seeds = msgspec.structs.replace(round_.seeds, adopt=adopt)
    return Draft(round=msgspec.structs.replace(round_, budget=budget, seeds=seeds), reasons=tuple(reasons))


def free_name(name: str, taken: Sequence[str]) -> str:
    """The name itself, or with the first number behind it that nobody has: `depth-2`."""
    if name not in taken:
        return name
    stem, _, number = name.rpartition("-")
    start, count = (stem, int(number)) if stem and number.isdigit() else (name, 1)
    return next(made for at in range(count + 1, count + len(taken) + 2) if (made := f"{start}-{at}") not in taken)
