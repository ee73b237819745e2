"""What is wished of a round before it is written, and the reasons for what was made of it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from traindyno.core.base import Record
from traindyno.core.errors import UsageError
from traindyno.core.round_fields import own_name, rule_of
from traindyno.core.round_space import arms_of, label_of
from traindyno.core.round_text import range_words
from traindyno.core.rounds import Round

GAIN_IN_ACCURACY = 0.002


class Wishes(Record, frozen=True):
    """What is known of a round before it is written. `job` is by field; the rest as it is typed.

    `model` and `function` exclude each other. What is null, or named nowhere, is proposed.
    """

    name: str | None = None
    campaign: str | None = None
    goal: str | None = None
    question: str | None = None
    function: str | None = None
    job: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies it
    targets: tuple[str, ...] = ()
    nuisances: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    incumbent: tuple[str, ...] = ()
    trials: int | None = None
    hours: float | None = None
    metric: str | None = None
    higher_is_better: bool | None = None
    minimum_gain: float | None = None


def check_wishes(wishes: Wishes) -> None:
    """Refuse what contradicts itself on the command line before anything is read."""
    if wishes.function is not None and wishes.job.get("model") is not None:
        raise UsageError("--function and --model name two jobs", "leave one of the two away")
    if wishes.trials is not None and wishes.hours is not None:
        raise UsageError("a round has one budget, in --trials or in --hours", "leave one of the two away")


def proposed_question(goal: str, targets: Mapping[str, list[Any]]) -> str | None:
    """The question in words, where the user has none of their own."""
    if not targets:
        return None
    field, values = next(iter(targets.items()))
    spoken = own_name(field).replace("_", " ")
    if goal == "effect":
        return f"What does another {spoken} change?"
    return f"Does another {spoken} help: {' or '.join(map(label_of, values[1:]))} instead of {label_of(values[0])}?"


def usual_gain(metric: str) -> float | None:
    """What a change must gain to be worth having, where nobody says it; null where no rule knows."""
    return GAIN_IN_ACCURACY if metric == "accuracy" else None


def simulated_note(rounds: Sequence[str]) -> tuple[str, ...]:
    """A warning that what a round begins with was never trained; none where it was."""
    if not rounds:
        return ()
    return (
        f"what this round builds on was simulated ({', '.join(rounds)}), which is no evidence: write what you train "
        "with, or run that without --runner simulated",
    )


def comments_on(round_: Round) -> dict[str, str]:
    """By parameter, why it has this role; what several have in common stands with the first of them."""
    told: dict[str, str] = {}
    for each in round_.searched:
        rule = rule_of(each.field)
        why = f"Why: {rule.why}."
        if "nuisance" in rule.usual and why not in told.values():
            told[each.name] = why
    head = "A tuning round: `traindyno round run` searches, `round analyse` and `round adopt` conclude."
    return {"": head, **told}


def reasons_for(round_: Round, wishes: Wishes, adopted: Mapping[str, Any]) -> tuple[str, ...]:
    """What was proposed and why, for people who did not say it; `adopted` is what the campaign trains with."""
    reasons = (*_roles(round_, wishes), *_by_the_job(round_), *_incumbent(round_, wishes, adopted))
    return (*reasons, *_numbers(round_, wishes))


def _roles(round_: Round, wishes: Wishes) -> Iterator[str]:
    target = round_.target
    if target is not None:
        yield f"target: {target.name}, {len(target.values)} arms ({range_words(target)})"
    named = {each.partition("=")[0].strip() for each in wishes.nuisances}
    for each in round_.searched:
        why = "as you said" if {each.name, each.field} & named else rule_of(each.field).why
        yield f"nuisance: {each.name}, {range_words(each)}; {why}"
    for each in round_.parameters:
        if each.role == "fixed" and each.said:
            yield f"fixed: {each.name}, {range_words(each)}; {each.caveat}"


def _by_the_job(round_: Round) -> Iterator[str]:
    fixed = [each for each in round_.parameters if each.role == "fixed" and not each.said]
    told = ", ".join(f"{each.name} {range_words(each)}" for each in fixed)
    if told:
        yield f"fixed by the job: {told}; the file says what each leaves open"


def _incumbent(round_: Round, wishes: Wishes, adopted: Mapping[str, Any]) -> Iterator[str]:
    told = ", ".join(f"{name} {label_of(value)}" for name, value in round_.incumbent.items())
    known = {*adopted, *(each.partition("=")[0].strip() for each in wishes.incumbent)}
    if not told:
        return
    if set(round_.incumbent) <= known:
        yield f"incumbent: {told}; " + ("what the campaign adopted last" if adopted else "as you said")
    else:
        yield f"incumbent: {told}; a proposal: write there what you train with now"


def _numbers(round_: Round, wishes: Wishes) -> Iterator[str]:
    trials = round_.budget.trials
    if wishes.trials is None and trials is not None:
        arms = len(arms_of(round_))
        yield f"budget: {trials} trials of each arm, {arms * trials} in all; as many as its checks want"
    if wishes.minimum_gain is None and round_.minimum_gain:
        yield f"minimum gain: {round_.minimum_gain:g} of {round_.metric.name}; less is no reason to change anything"
