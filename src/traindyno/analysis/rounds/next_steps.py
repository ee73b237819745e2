"""What to do where a check does not hold: an edit of the round's file, and the command that goes on from it."""

import shlex

from traindyno.analysis.rounds.words import listed
from traindyno.core.round_defaults import brings_data
from traindyno.core.round_space import label_of
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
_WRITE = "write a file"
_NEW = "traindyno round new"
_NOTHING_EXTRA = ("schedule", "weight_decay", "label_smoothing", "warm_up_epochs")
"""What a round for something to begin with leaves away anyway."""
AGAIN = f"run `traindyno round run` on it again; {_KEPT}"


def set_ends(
    round: Round, parameter: Parameter, low: float | None, high: float | None, budget: str | None = None
) -> str:
    """Other ends for a range; null for one that stays. `budget` is what else must change for runs to go there."""
    if _is_first(round):
        return f"Its options cannot say another range, so {_WRITE}: `{_new_command(round, parameter, low, high)}`."
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
    if _is_first(round):
        return f"Try more: the same command with --rates {trials}; {_KEPT}."
    return f"Set trials = {trials} under [budget] in the round's file, then {AGAIN}."


def budget_edit(round: Round, trials: int) -> str | None:
    """What a budget must become for so many runs of each arm; null where it allows them."""
    if round.budget.trials is None:
        return f"raise {_hours(round)}"
    return None if trials <= round.budget.trials else f"trials = {trials}"


def _hours(round: Round) -> str:
    return "hours" if round.budget.hours is None else f"hours to {2 * round.budget.hours:g}"


def writes_file(step: str) -> bool:
    """Whether a step names the command that writes the file to change."""
    return f"`{_NEW} " in step


def _is_first(round: Round) -> bool:
    """Whether it is of `round first`, which has no file: one that `round new` wrote says what is searched."""
    return round.goal.kind == "initial" and not any(each.said for each in round.searched)


def _new_command(round: Round, parameter: Parameter, low: float | None, high: float | None) -> str:
    """What writes the same round into a file, with other ends for one range."""
    assert parameter.range is not None
    ends = (parameter.range.low if low is None else low, parameter.range.high if high is None else high)
    data = None if brings_data(round.job) else round.job.data
    job = {"model": round.job.model, "data": data, **round.job.values}
    told = {name: value for name, value in job.items() if value is not None and name not in _NOTHING_EXTRA}
    words = [word for name, value in told.items() for word in ("--job", f"{name}={label_of(value)}")]
    campaign = [] if round.campaign == "default" else ["--campaign", round.campaign]
    searched = ["--nuisance", f"{parameter.name}={ends[0]:g}..{ends[1]:g}"]
    return f"{_NEW} {shlex.join(['FILE', '--goal', 'initial', *campaign, *words, *searched])}"
