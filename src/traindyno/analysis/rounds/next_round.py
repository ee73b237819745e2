"""The round that follows from the findings of another, with the reason for each thing in it.

A round that is not ready asks the same again, with what its checks want. After one that is, comes the next question,
with the configuration that holds now as the incumbent, and ranges as the findings propose them.
"""

from collections.abc import Iterator, Sequence

import msgspec

from traindyno.analysis.rounds.carrying import Carried, carry
from traindyno.analysis.rounds.drafts import Draft, free_name, with_enough
from traindyno.analysis.rounds.questions import Question, next_question
from traindyno.analysis.rounds.same_again import same_again
from traindyno.core.answers.rounds import AdoptAnswer, AdoptVerdict, RoundAnswer
from traindyno.core.resuming import adopt_command
from traindyno.core.round_defaults import with_defaults
from traindyno.core.rounds import Configuration, Parameter, Round, RoundJob, Value

__all__ = ["Draft", "free_name", "next_round"]

_DECIDED: dict[AdoptVerdict, str] = {
    "adopt": "were adopted",
    "keep": "were kept",
    "undecided": "stay for now: fresh seeds have not decided",
    "equivalent": "are the simpler of two that do equally well",
}


def next_round(
    round_: Round,
    answer: RoundAnswer,
    adoption: AdoptAnswer | None,
    asked: Sequence[str],
    taken: Sequence[str] = (),
) -> Draft:
    """`asked` are the questions of the campaign so far, as `Question.asks` has them; `taken` names of rounds."""
    if not answer.ready:
        return same_again(round_, answer, taken)
    configuration = _held(answer, adoption)
    question = next_question(configuration, round_.job.function is not None, asked)
    return _following(round_, answer, adoption, configuration, question, taken)


def _held(answer: RoundAnswer, adoption: AdoptAnswer | None) -> Configuration:
    """What holds now: what fresh seeds decided for, or what there was. A first round had nothing to beat."""
    if answer.goal == "initial" and answer.best is not None:
        return answer.best.configuration
    return answer.incumbent if adoption is None else adoption.configuration


def _following(
    round_: Round,
    answer: RoundAnswer,
    adoption: AdoptAnswer | None,
    configuration: Configuration,
    question: Question,
    taken: Sequence[str],
) -> Draft:
    carried = carry(round_, answer.proposals, configuration, question.target)
    parameters = (*([] if question.target is None else [question.target]), *carried.parameters)
    job = _job(round_, configuration, parameters, carried.released)
    draft = msgspec.structs.replace(
        round_,
        name=free_name(question.name, taken),
        goal=question.goal,
        job=job,
        parameters=parameters,
        incumbent={},
        then=None,
        then_trials=0,
    )
    settled = with_defaults(draft)
    incumbent = _incumbent(settled, configuration)
    settled = with_defaults(msgspec.structs.replace(settled, incumbent=incumbent))
    reasons = tuple(_reasons(round_, adoption, question, carried))
    used = 0 if adoption is None else adoption.seeds
    enough = with_enough(Draft(round=settled, reasons=reasons), used)
    return _going_on(enough) if question.target is None else enough


def _going_on(draft: Draft) -> Draft:
    """Where the best is wanted, a search that learns follows the plain one, half as long."""
    trials = draft.round.budget.trials
    if trials is None:
        return draft
    further = msgspec.structs.replace(draft.round, then="gp", then_trials=max(4, trials // 2))
    return Draft(round=further, reasons=draft.reasons)


def _job(
    round_: Round, configuration: Configuration, parameters: Sequence[Parameter], released: frozenset[str]
) -> RoundJob:
    """What holds in all runs: what held before, what the old target came to, and what is fixed from now on."""
    is_own = round_.job.function is not None
    elsewhere = {each.field for each in parameters if each.role != "fixed"} | released | _released(round_, parameters)
    elsewhere |= set() if is_own else {"model", "data"}
    kept = set(round_.job.values) | ({round_.target.field} if round_.target is not None else set())
    before = {field: value for field, value in {**round_.job.values, **configuration}.items() if field in kept}
    fixed = {each.field: each.value for each in parameters if each.role == "fixed" and each.value is not None}
    values = {field: value for field, value in before.items() if field not in elsewhere}
    model = None if is_own else configuration.get("model", round_.job.model)
    return msgspec.structs.replace(round_.job, values={**values, **fixed}, model=None if model is None else str(model))


def _released(round_: Round, parameters: Sequence[Parameter]) -> set[str]:
    """What the round had fixed by name and no longer is: nuisances again."""
    now = {each.field for each in parameters if each.role == "fixed"}
    before = {each.field for each in round_.parameters if each.role == "fixed" and each.said}
    return before - now


def _incumbent(round_: Round, configuration: Configuration) -> dict[str, Value]:
    fields = dict.fromkeys(each.field for each in round_.parameters if each.role != "fixed")
    return {field: configuration[field] for field in fields if field in configuration}


def _reasons(
    round_: Round, adoption: AdoptAnswer | None, question: Question, carried: Carried
) -> Iterator[tuple[str, str]]:
    yield ("", f"After {round_.name}: {question.why}.")
    if round_.goal.kind == "initial":
        yield ("incumbent", f"The best of {round_.name}: something to begin with, whose seeds the gate will show.")
    elif adoption is None:
        yield (
            "incumbent",
            f"The incumbent is still that of {round_.name}: `{adopt_command(round_)}` has not run, and "
            "the best of a search is no evidence.",
        )
    else:
        yield ("incumbent", f"These values {_DECIDED[adoption.verdict]} in {round_.name}.")
    yield from carried.reasons
