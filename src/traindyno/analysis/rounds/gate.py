"""The sanity gate: before anything is tuned, training must work at all.

No run diverges or fails, the loss falls, and the accuracy is clearly better than guessing. How often the most frequent
class occurs is not known here, so guessing is one in as many as there are classes.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from traindyno.analysis.rounds.arms import is_inside
from traindyno.analysis.rounds.next_steps import ENDING_WORDS, REMEDIES, RUN
from traindyno.analysis.rounds.trials import best_first, better, tuning
from traindyno.analysis.rounds.words import figure, listed
from traindyno.analysis.training import NEVER_FINITE, accuracy_interval
from traindyno.core.answers.rounds import Check
from traindyno.core.round_space import gate_runs
from traindyno.core.rounds import Round, RoundTrial
from traindyno.core.units import count_of

NAME = "gate"
_RENAMED = "Its runs are kept, so give the round another `name` in its file then."
_SLOWER = f"Give the incumbent a lower learning rate, or find one with `traindyno round first`. {_RENAMED}"
_NOTHING_LEARNT = (
    f"Look at the labels, and try another rate (`traindyno round first` looks for one) or more epochs. {_RENAMED}"
)
_LOOK = "Look at data, labels and loss first, then give the learning rate a wider range."


def judge_gate(round: Round, trials: Sequence[RoundTrial]) -> Check:
    """Whether the incumbent learns with every seed that it is to be run with; failed as soon as one does not."""
    gate = sorted((each for each in trials if each.draw.phase == "gate"), key=lambda each: each.draw.slot)
    found = {trial.draw.index: next(_faults(round, trial), None) for trial in gate}
    faults = {index: fault for index, fault in found.items() if fault is not None}
    if faults:
        return _failed(gate, faults)
    planned = gate_runs(round)
    if not gate or len(gate) < planned:
        verb = "has" if len(gate) == 1 else "have"
        text = f"{len(gate)} of {planned} runs of the incumbent {verb} ended." if planned else "No incumbent was run."
        return Check(name=NAME, state="unknown", text=text, next_step=RUN if planned else None)
    return _passed(round, gate, "incumbent")


def judge_best(round: Round, trials: Sequence[RoundTrial]) -> Check:
    """The same for the best run of a search that looks for a first configuration: does anything learn at all?"""
    searched = [each for each in tuning(trials) if is_inside(round, each)]
    best = next(iter(best_first(round.metric, searched)), None)
    if best is None:
        text = "No run of the search has a score."
        return Check(name=NAME, state="failed" if searched else "unknown", text=text, next_step=_to_score(searched))
    fault = next(_faults(round, best), None)
    if fault is None:
        return _passed(round, [best], "best run")
    text = f"Nothing that was tried will do: even the best run {fault[0]}."
    return Check(name=NAME, state="failed", text=text, next_step=_LOOK)


def _to_score(searched: Sequence[RoundTrial]) -> str:
    """What to do where no run of a search has a score: running it again helps where none was run."""
    if not searched:
        return RUN
    ((most, _),) = Counter(each.ending for each in searched).most_common(1)
    return NEVER_FINITE if all(each.never_finite for each in searched) else REMEDIES[most]


def _faults(round: Round, trial: RoundTrial) -> Iterator[tuple[str, str]]:
    """What is wrong with a run, and what to do about it."""
    if trial.never_finite:
        yield "had no loss that was a number, from the first step on", f"{NEVER_FINITE} {_RENAMED}"
        return
    if not trial.feasible:
        message = f" ({trial.message})" if trial.message else ""
        remedy = _SLOWER if trial.ending == "diverged" else REMEDIES[trial.ending]
        yield f"{ENDING_WORDS[trial.ending]}{message}", remedy
        return
    guessing = _guessing(round, trial)
    if guessing is not None and not _beats(round, trial, guessing):
        assert trial.score is not None
        scored, guessed = (figure(value, round.metric) for value in (trial.score, guessing))
        yield f"is not clearly better than guessing ({scored}, and guessing has {guessed})", _NOTHING_LEARNT
    # A loss on other examples may rise from the start where a network that knows much already learns by heart.
    losses = {"training loss": _training(trial)} | ({"loss": _validation(trial)} if guessing is None else {})
    for what, values in losses.items():
        if len(values) > 1 and min(values[1:]) >= values[0]:
            yield f"never got its {what} below {values[0]:.3g}, where it began", _SLOWER


def _guessing(round: Round, trial: RoundTrial) -> float | None:
    """The score of guessing, where it is known: an accuracy or a cross entropy over so many classes."""
    if trial.classes is None or trial.classes < 2:
        return None
    return {"accuracy": 1 / trial.classes, "loss": math.log(trial.classes)}.get(round.metric.name)


def _beats(round: Round, trial: RoundTrial, guessing: float) -> bool:
    assert trial.score is not None
    if round.metric.name == "accuracy":
        interval = accuracy_interval(trial.score, trial.evaluation_examples or 0)
        return interval is None or interval[0] > guessing
    return better(round.metric, trial.score, guessing)


def _training(trial: RoundTrial) -> list[float]:
    return [place.training_loss for place in trial.curve if place.training_loss is not None]


def _validation(trial: RoundTrial) -> list[float]:
    return [place.loss for place in trial.curve if place.loss is not None]


def _failed(gate: Sequence[RoundTrial], faults: Mapping[int, tuple[str, str]]) -> Check:
    what, next_step = next(iter(faults.values()))
    text = f"{len(faults)} of {count_of(len(gate), 'run')} of the incumbent will not do; the first of them {what}."
    return Check(name=NAME, state="failed", text=text, next_step=next_step)


def _passed(round: Round, trials: Sequence[RoundTrial], who: str) -> Check:
    """What is known to hold; where that is nothing but that runs came to an end, it is a warning."""
    known = []
    if all(_guessing(round, each) is not None for each in trials):
        known.append("it is clearly better than guessing")
    if all(len(_training(each)) > 1 for each in trials):
        known.append("its training loss falls")
    if all(len(_validation(each)) > 1 and min(_validation(each)[1:]) < _validation(each)[0] for each in trials):
        known.append("its loss on other examples falls")
    scores = [each.score for each in trials if each.score is not None]
    told = " to ".join(dict.fromkeys(figure(end, round.metric) for end in (min(scores), max(scores))))
    runs = "" if len(trials) == 1 else f" over {len(trials)} seeds"
    if not known:
        text = f"The {who} came to its end ({told}{runs}), but nothing tells whether it learns."
        return Check(name=NAME, state="warning", text=text, next_step="Let the job tell its losses on its way.")
    return Check(name=NAME, state="passed", text=f"The {who} ({told}{runs}) learns: {listed(known)}.")
