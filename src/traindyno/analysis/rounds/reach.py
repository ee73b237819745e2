"""How far runs reach into a range. Of a part without a single run, such as a new one, nothing can be said yet."""

import math
from collections.abc import Sequence

import msgspec

from traindyno.core.round_space import is_within, unit_of
from traindyno.core.rounds import Parameter, Range, RoundTrial

OUTER_WIDTH = 0.15
"""The outermost part of a range, at either end, that counts as unseen without a run."""
RUNS_BEYOND = 3
"""Runs that a new part of a range needs before it can be judged."""


def reached(parameter: Parameter, trials: Sequence[RoundTrial]) -> Parameter:
    """The parameter with its range as far as runs have seen it; unchanged where some lie near both of its ends."""
    values = [each.draw.values.get(parameter.name) for each in trials]
    numbers = [float(value) for value in values if value is not None and is_within(parameter, value)]
    within = parameter.range
    if within is None or not numbers or min(numbers) == max(numbers):
        return parameter
    least, greatest = min(numbers), max(numbers)
    low = least if unit_of(parameter, least) > OUTER_WIDTH and least - within.integer >= within.low else within.low
    is_short = 1 - unit_of(parameter, greatest) > OUTER_WIDTH and greatest + within.integer <= within.high
    return with_ends(parameter, low, greatest if is_short else within.high)


def last_seen(asked: Parameter, seen: Parameter, above: bool) -> float | None:
    """The outermost value that was run, where a range goes on beyond it; null where it does not."""
    assert asked.range is not None
    assert seen.range is not None
    end, last = (asked.range.high, seen.range.high) if above else (asked.range.low, seen.range.low)
    return None if end == last else last


def with_ends(parameter: Parameter, low: float | None, high: float | None) -> Parameter:
    """Other ends for a range; null for one that stays."""
    within = parameter.range
    assert within is not None
    ends = {"low": within.low if low is None else low, "high": within.high if high is None else high}
    return msgspec.structs.replace(parameter, range=msgspec.structs.replace(within, **ends))


def draws_to_see(inner: Range, outer: Parameter) -> int:
    """The draws over the whole of a range that put enough runs into what lies beyond a part of it, at either end."""
    beyond = [unit_of(outer, inner.low), 1 - unit_of(outer, inner.high)]
    assert outer.range is not None
    grown = [inner.low != outer.range.low, inner.high != outer.range.high]
    shares = [share for share, is_grown in zip(beyond, grown, strict=True) if is_grown]
    return math.ceil(RUNS_BEYOND / min(shares)) if shares else 0
