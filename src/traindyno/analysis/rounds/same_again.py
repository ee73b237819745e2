"""The same question again, where the checks of a round do not allow a conclusion yet."""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.rounds.drafts import Draft, free_name, with_enough
from traindyno.analysis.rounds.ranges import TRIALS
from traindyno.core.answers.rounds import RangeProposal, RoundAnswer
from traindyno.core.round_defaults import with_defaults
from traindyno.core.rounds import Parameter, Round, RoundBudget


def same_again(round_: Round, answer: RoundAnswer, taken: Sequence[str]) -> Draft:
    """The same question, in wider ranges where the best values lie at an end, with more trials where too few."""
    wider = {each.parameter: each for each in answer.proposals if each.kind == "widen"}
    parameters = tuple(_widened(each, wider.get(each.name)) for each in round_.parameters)
    more = next((each for each in answer.proposals if each.kind == "add_trials"), None)
    draft = msgspec.structs.replace(
        round_,
        name=free_name(round_.name, (*taken, round_.name)),
        parameters=parameters,
        budget=_enlarged(round_.budget, more),
    )
    failed = [check for check in answer.checks if check.state == "failed"]
    reasons = [("", f"The same question as {round_.name}, for its checks do not allow a conclusion yet.")]
    reasons += [("", " ".join(filter(None, (check.text, check.next_step)))) for check in failed]
    reasons += [(name, f"Wider: {each.reason}.") for name, each in wider.items()]
    if wider:
        reasons.append(("", f"Written into the file of {round_.name} instead, wider ranges keep its runs."))
    if more is not None and more.value is not None:
        reasons.append(("budget", f"More {TRIALS}: {more.reason}."))
    return with_enough(Draft(round=with_defaults(draft), reasons=tuple(reasons)))


def _widened(parameter: Parameter, proposal: RangeProposal | None) -> Parameter:
    if proposal is None or parameter.range is None or proposal.low is None or proposal.high is None:
        return parameter
    wider = msgspec.structs.replace(parameter.range, low=proposal.low, high=proposal.high)
    return msgspec.structs.replace(parameter, range=wider, said=True)


def _enlarged(budget: RoundBudget, more: RangeProposal | None) -> RoundBudget:
    if more is None or not isinstance(more.value, int):
        return budget
    return RoundBudget(trials=more.value, hours=budget.hours)
