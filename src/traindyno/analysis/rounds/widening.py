"""Numbers at and beyond the ends of a range, and how far a range can be widened at all."""

import math

from traindyno.core.round_fields import rule_of
from traindyno.core.rounds import Parameter

LEAST_WIDENING = 0.25
MOST_WIDENING = 1.0
"""Shares of a range's own width, on its own scale."""
MOST_DECADES = 1.0
"""On a log scale no step is longer, however wide the range is: from there the next runs see further."""


def number_at(parameter: Parameter, place: float) -> float:
    """The number at a place of a range, of which 0 and 1 are the ends; it may lie beyond them."""
    assert parameter.range is not None
    low, high = parameter.range.low, parameter.range.high + parameter.range.integer
    return low * (high / low) ** place if parameter.range.scale == "log" else low + place * (high - low)


def widened_end(parameter: Parameter, above: bool, place: float) -> float | None:
    """A new end beyond the place where the optimum seems to be; null where the old one is as far as numbers go."""
    within = parameter.range
    assert within is not None
    if is_at_limit(parameter, above):
        return None
    beyond = (place if above else 1 - place) - 1 + LEAST_WIDENING
    width = min(max(beyond, LEAST_WIDENING), MOST_WIDENING, _most(parameter))
    number = _outwards(number_at(parameter, 1 + width if above else -width), above, within.integer)
    limit = _limit(parameter, above)
    if limit is None or (number < limit if above else number > limit):
        return number
    reachable = not above and limit == rule_of(parameter.field).lowest
    return limit if reachable or within.integer else _towards(limit, within.high if above else within.low)


def is_at_limit(parameter: Parameter, above: bool) -> bool:
    """Whether a range ends where nothing lies beyond: a weight decay of 0, a momentum of nearly 1, no layer at all."""
    assert parameter.range is not None
    end = parameter.range.high if above else parameter.range.low
    limit = _limit(parameter, above)
    return limit is not None and (end >= limit if above else end <= limit)


def may_be_limit(parameter: Parameter, above: bool) -> bool:
    """Whether only the user knows if anything lies beyond: no rule says so of 0, or of 1 where shares end."""
    within = parameter.range
    assert within is not None
    if _limit(parameter, above) is not None or within.scale == "log" or within.low != 0:
        return False
    return within.high == 1 if above else True


def _limit(parameter: Parameter, above: bool) -> float | None:
    """The number that no value of the parameter passes, by the rule of its field; whole numbers count something.

    What is known to be above 0 alone comes nearer to it, and does not leap over.
    """
    within, rule = parameter.range, rule_of(parameter.field)
    assert within is not None
    if above:
        return rule.below
    known = [limit for limit in (rule.lowest, rule.above) if limit is not None]
    if within.integer and within.low >= 0:
        known.append(1.0 if within.scale == "log" else 0.0)
    return max(known, default=0.0 if within.low > 0 else None)


def _most(parameter: Parameter) -> float:
    """The greatest widening on a log scale, as a share of the range."""
    within = parameter.range
    assert within is not None
    if within.scale != "log":
        return math.inf
    return MOST_DECADES / math.log10((within.high + within.integer) / within.low)


def _outwards(number: float, above: bool, is_whole: bool) -> float:
    """The next number outwards of one significant figure, and whole where it must be."""
    if number == 0:
        return 0.0
    unit = math.floor(math.log10(abs(number)))
    away = math.ceil if above else math.floor
    figure = float(f"{away(round(number / 10.0**unit, 6))}e{unit}")
    return float(away(figure)) if is_whole else figure


def _towards(limit: float, end: float) -> float:
    """Half of the way to a limit that must not be reached."""
    return float(f"{limit + (end - limit) / 2:.4g}")
