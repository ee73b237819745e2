"""What to do where a check does not hold: an edit of the round's file, and the command that goes on from it."""

from traindyno.analysis.rounds.words import listed
from traindyno.core.rounds import Ending, Parameter, Round

RUN = "Run the round again with the same command: it goes on where it was."
ENDING_WORDS: dict[Ending, str] = {
    "ok": "had nothing to score",
    "pruned": "had nothing to score",
    "diverged": "diverged",
    "out_of_memory": "ran out of memory",
    "crashed": "crashed",
    "timed_out": "ran out of time",
    "failed": "failed",
}
REMEDIES: dict[Ending, str] = {
    "ok": "Name a metric under [metric] that the job has.",
    "pruned": "Name a metric under [metric] that the job has.",
    "diverged": "Lower the learning rate's range, or give runs a warm-up or a clip_norm.",
    "out_of_memory": "Use a smaller batch or model: `traindyno max-batch` says what fits.",
    "crashed": "Look at a run that crashed with `traindyno show`, and mend it.",
    "timed_out": "Give runs more time, or make them shorter.",
    "failed": "Mend what fails, then run `traindyno round run` again.",
}
_KEPT = "old runs are kept"
AGAIN = f"run `traindyno round run` on it again; {_KEPT}"


def set_ends(parameter: Parameter, low: float | None, high: float | None, budget: str | None = None) -> str:
    """Other ends for a range; null for one that stays. `budget` is what else must change for runs to go there."""
    edits = [f"{name} = {end:g}" for name, end in (("low", low), ("high", high)) if end is not None]
    also = "" if budget is None else f", and {budget} under [budget],"
    return f"Set {listed(edits)} under [{parameter.role}.{parameter.name}]{also} in the round's file, then {AGAIN}."


def add_trials(round: Round, at_least: int = 0) -> str:
    """Twice the budget, or as many runs of each arm as are needed at least."""
    return set_trials(round, max(2 * (round.budget.trials or 0), at_least))


def set_trials(round: Round, trials: int) -> str:
    """So many runs of each arm; where time is the budget, twice of that."""
    if round.budget.trials is None:
        return f"Raise {_hours(round)} under [budget] in the round's file, then {AGAIN}."
    if round.goal.kind == "initial":
        return f"Try more: the same command with --rates {trials}, or trials = {trials} in the round's file; {_KEPT}."
    return f"Set trials = {trials} under [budget] in the round's file, then {AGAIN}."


def budget_edit(round: Round, trials: int) -> str | None:
    """What a budget must become for so many runs of each arm; null where it allows them."""
    if round.budget.trials is None:
        return f"raise {_hours(round)}"
    return None if trials <= round.budget.trials else f"trials = {trials}"


def _hours(round: Round) -> str:
    return "hours" if round.budget.hours is None else f"hours to {2 * round.budget.hours:g}"
