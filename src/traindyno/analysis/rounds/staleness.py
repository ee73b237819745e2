"""Which decisions of a campaign must be made again: what they tuned was tuned under another model or batch than now.

A value that a later round tuned again is that round's to answer for, so an earlier one is not stale because of it.
"""

from collections.abc import Sequence

from traindyno.analysis.rounds.words import listed
from traindyno.core.base import Record
from traindyno.core.round_fields import rule_of
from traindyno.core.rounds import Configuration

_CONDITIONS = ("model", "batch_size", "optimizer")


class Decision(Record, frozen=True):
    """One decision of a campaign, as far as others bear on it: what its round tuned, and what held after it.

    `incumbent` is what it was proved against. `took` says whether something new took that one's place.
    """

    name: str
    tuned: tuple[str, ...]
    incumbent: Configuration
    configuration: Configuration
    took: bool


def holding(decisions: Sequence[Decision]) -> Configuration:
    """The configuration that holds after all of them, oldest first: the latest that took the place of another."""
    taken = [decision for decision in decisions if decision.took] or list(decisions[-1:])
    return taken[-1].configuration if taken else {}


def stale_reason(decisions: Sequence[Decision], place: int) -> str | None:
    """Why the decision at that place must be made again; null where it holds, or never changed anything."""
    decision, later, now = decisions[place], decisions[place + 1 :], holding(decisions)
    if not decision.took:
        return None
    left = [field for field in decision.tuned if not any(field in each.tuned for each in later)]
    reasons = []
    for condition in _CONDITIONS:
        fields = [field for field in left if condition in _conditions_of(field)]
        then, since = decision.configuration.get(condition), now.get(condition)
        if fields and then is not None and since is not None and then != since:
            reasons.append(f"{listed(fields)} tuned with {condition} {then}, which is {since} now")
    return "; ".join(reasons) or None


def elsewhere(decisions: Sequence[Decision], place: int) -> str | None:
    """A sentence where a decision was proved against another configuration than the one that held by then."""
    before, decision = holding(decisions[:place]), decisions[place]
    if not decision.took or not before:
        return None
    other = [
        f"{field} {decision.incumbent[field]} instead of {before[field]}"
        for field in before
        if field in decision.incumbent and decision.incumbent[field] != before[field]
    ]
    if not other:
        return None
    return (
        f"{decision.name} was proved against an incumbent with {listed(other)}: its gain was not shown on top of what "
        "had been adopted before."
    )


def _conditions_of(field: str) -> tuple[str, ...]:
    """What a tuned value depends on so much that it must be tuned again: note the batch, which moves most of them."""
    group = rule_of(field).group
    if group == "optimiser parameter":
        return _CONDITIONS
    return _CONDITIONS[:2] if group == "regularisation" else ()
