"""Which hyperparameters of a round go on into the next one, and as what."""

from collections.abc import Iterator, Sequence

import msgspec

from traindyno.core.answers.rounds import RangeProposal
from traindyno.core.base import Record
from traindyno.core.round_fields import OPTIMIZERS, automatic_caveat, is_tied, rule_of, usual_range
from traindyno.core.round_space import is_within, label_of, same
from traindyno.core.rounds import Configuration, Parameter, Round, Value

TUNED_TO = ("architecture", "batch", "optimiser choice")
"""Where one of these changes, what was fixed beside it may suit the old value alone."""


class Carried(Record, frozen=True):
    """Parameters that the next round's file names; what it does not name is settled by rules of thumb.

    Reasons are by the name of the parameter, or "" where the file does not name it. `released` are fields that were
    fixed, and that rules of thumb are to make nuisances.
    """

    parameters: tuple[Parameter, ...]
    reasons: tuple[tuple[str, str], ...]
    released: frozenset[str] = frozenset()


def carry(
    round_: Round, proposals: Sequence[RangeProposal], configuration: Configuration, target: Parameter | None
) -> Carried:
    """What was searched, as the proposals have it, and what was fixed, where that still suits."""
    proposed = {each.parameter: each for each in proposals}
    found: list[Parameter] = []
    reasons: list[tuple[str, str]] = []
    released: set[str] = set()
    for parameter in round_.parameters:
        if target is not None and parameter.field == target.field:
            continue
        here = _settled(round_, parameter, configuration)
        if here is None:
            continue
        made, reason = _carried(round_, here, proposed.get(parameter.name), configuration, target)
        found += [] if made is None else [made]
        if reason is not None:
            reasons.append(("", f"{here.name}: {reason}") if made is None else (here.name, reason))
            released |= {here.field} if made is None and here.role == "fixed" else set()
    kept = tuple(_without_orphans(found, target))
    return Carried(parameters=kept, reasons=tuple(reasons), released=frozenset(released))


def _carried(
    round_: Round,
    parameter: Parameter,
    proposal: RangeProposal | None,
    configuration: Configuration,
    target: Parameter | None,
) -> tuple[Parameter | None, str | None]:
    """The parameter as the next round names it, if it does, and the reason for a change."""
    if parameter.role == "fixed":
        return _still_fixed(round_, parameter, configuration, target)
    if target is not None and target.field == "optimizer" and _differs_by_optimizer(parameter.field):
        return None, None
    kind = "keep" if proposal is None else proposal.kind
    if proposal is not None and kind == "fix" and proposal.value is not None:
        return _fixed(parameter, _own(parameter, configuration, proposal.value), proposal, target)
    if proposal is not None and kind in ("narrow", "widen"):
        word = "Narrower" if kind == "narrow" else "Wider"
        return _ranged(parameter, proposal, configuration), f"{word}: {proposal.reason}."
    return (parameter if parameter.said else None), None


def _own(parameter: Parameter, configuration: Configuration, otherwise: Value) -> Value:
    """The incumbent's value where it is one of those that made no difference: then nothing changes by fixing it."""
    own = configuration.get(parameter.field)
    return own if own is not None and is_within(parameter, own) else otherwise


def _fixed(
    parameter: Parameter, value: Value, proposal: RangeProposal, target: Parameter | None
) -> tuple[Parameter | None, str | None]:
    if target is not None and is_tied(parameter.field, value, target.field):
        kept = parameter if parameter.said else None
        return kept, f"It could be fixed, but each value of {target.name} may need its own."
    caveat = automatic_caveat(parameter.field, value)
    made = msgspec.structs.replace(
        parameter, role="fixed", range=None, values=(), value=value, caveat=caveat, said=True
    )
    return made, f"Fixed: {proposal.reason.partition(',')[0]}."


def _ranged(parameter: Parameter, proposal: RangeProposal, configuration: Configuration) -> Parameter:
    """The proposed range, and room for what there is to beat."""
    if parameter.range is None:
        own = configuration.get(parameter.field)
        left = [each for each in parameter.values if each in proposal.values or same(each, own)]
        return msgspec.structs.replace(parameter, values=tuple(left), said=True)
    low, high = proposal.low, proposal.high
    assert low is not None
    assert high is not None
    own = configuration.get(parameter.field)
    if isinstance(own, int | float) and is_within(parameter, own):
        low, high = min(low, own), max(high, own)
    changed = msgspec.structs.replace(parameter.range, low=low, high=high)
    return msgspec.structs.replace(parameter, range=changed, said=True)


def _still_fixed(
    round_: Round, parameter: Parameter, configuration: Configuration, target: Parameter | None
) -> tuple[Parameter | None, str | None]:
    """What was fixed stays so, unless a change or the new question wants it tuned; by name, if it was by name."""
    named = parameter if parameter.said else None
    optimizer = str(configuration.get("optimizer", "sgd"))
    if parameter.value is None or round_.job.function is not None or usual_range(parameter.field, optimizer) is None:
        return named, None
    reason = _why_tuned(round_, parameter, parameter.value, configuration, target)
    if reason is None:
        return named, None
    if target is not None and target.field == "optimizer" and _differs_by_optimizer(parameter.field):
        return None, reason
    return _tuned(parameter, parameter.value, optimizer), reason


def _why_tuned(
    round_: Round, parameter: Parameter, value: Value, configuration: Configuration, target: Parameter | None
) -> str | None:
    changed = _changed_target(round_, configuration)
    if parameter.said and changed is not None and is_tied(parameter.field, value, changed):
        return f"A nuisance again, for {changed} has changed, and it was fixed for the old one."
    if target is not None and is_tied(parameter.field, value, target.field):
        return f"A nuisance now, for each value of {target.name} may need its own."
    rule = rule_of(parameter.field)
    if target is None and not parameter.said and rule.group == "regularisation" and value != 0:
        return f"A nuisance now, for {rule.why}."
    return None


def _tuned(parameter: Parameter, value: Value, optimizer: str) -> Parameter:
    """A nuisance over its usual range, with room for what there is to beat."""
    usual = usual_range(parameter.field, optimizer)
    assert usual is not None
    if isinstance(value, int | float) and (value > 0 or usual.scale == "linear"):
        usual = msgspec.structs.replace(usual, low=min(usual.low, value), high=max(usual.high, value))
    return msgspec.structs.replace(parameter, role="nuisance", value=None, caveat=None, range=usual, said=True)


def _changed_target(round_: Round, configuration: Configuration) -> str | None:
    """The round's target, where its value in what holds now is another than the incumbent had, and much hangs on it."""
    field = None if round_.target is None else round_.target.field
    if field is None or rule_of(field).group not in TUNED_TO:
        return None
    before = round_.incumbent.get(field, round_.job.model if field == "model" else round_.job.values.get(field))
    return None if same(before, configuration.get(field)) else field


def _settled(round_: Round, parameter: Parameter, configuration: Configuration) -> Parameter | None:
    """A parameter now that the old target has one value, which is fixed in the job from now on."""
    if parameter.role != "target":
        return _unconditional(round_, parameter, configuration)
    value = configuration.get(parameter.field)
    return Parameter(name=parameter.name, sets=parameter.sets, role="fixed", value=value, said=False)


def _unconditional(round_: Round, parameter: Parameter, configuration: Configuration) -> Parameter | None:
    """A parameter under the old target is there for good or not at all, now that the target has one value."""
    if parameter.under is None or round_.target is None or parameter.under[0] != round_.target.name:
        return parameter
    if not same(configuration.get(round_.target.field), parameter.under[1]):
        return None
    return msgspec.structs.replace(parameter, name=parameter.field, sets=None, under=None, said=True)


def _without_orphans(parameters: Sequence[Parameter], target: Parameter | None) -> Iterator[Parameter]:
    """Without those whose parent's value is no longer searched."""
    parents = {each.name: each for each in (*parameters, *([] if target is None else [target]))}
    for parameter in parameters:
        parent = None if parameter.under is None else parents.get(parameter.under[0])
        if parameter.under is None or (
            parent is not None and label_of(parameter.under[1]) in map(label_of, parent.values)
        ):
            yield parameter


def _differs_by_optimizer(field: str) -> bool:
    return len({usual_range(field, optimizer) for optimizer in OPTIMIZERS}) > 1
