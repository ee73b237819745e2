"""Which of two configurations is the simpler one, where nothing else tells them apart."""

from traindyno.core.round_fields import rule_of, simpler_value
from traindyno.core.rounds import Configuration

_FREE = ("optimiser parameter", "regularisation", "schedule")
"""Kinds of fields of which another value makes nothing more complicated by itself."""


def is_simpler(candidate: Configuration, incumbent: Configuration) -> bool:
    """Whether the candidate does without something that the incumbent has, and adds nothing for it.

    What cannot be compared, such as another model, speaks for the incumbent: it is there already.
    """
    changed = [field for field in {*candidate, *incumbent} if candidate.get(field) != incumbent.get(field)]
    if not all(rule_of(field).group in _FREE for field in changed):
        return False
    both = [field for field in changed if field in candidate and field in incumbent]
    simpler = [simpler_value(field, candidate[field], incumbent[field]) for field in both]
    told = [(value, candidate[field]) for value, field in zip(simpler, both, strict=True) if value is not None]
    return bool(told) and all(value == own for value, own in told)
