"""What pairs say of a change in a search, and whether they are enough to say it.

The blocks of one pair know nothing of how far pairs of fresh processes differ. That is known from the first change on
that had two pairs, and is then taken to be alike for all of the search.
"""

from collections.abc import Sequence

from traindyno.analysis.find.findings import Effect
from traindyno.analysis.switch_effects import effect_of, pooled_spread
from traindyno.analysis.switch_findings import Tried
from traindyno.core.base import Record

ONE_PAIR_SUFFICES = 1.2
"""Where nothing else is known: processes of a step that the host limits were seen to differ by about 10 %."""

PROMISING = 1.1
"""A gain that the blocks of one pair leave open is looked at again from here on."""

MOST_PAIRS = 3
"""Two tell how far pairs differ by one difference, an interval of thirteen standard errors; three give one of four."""

MOST_IF_OPEN = 5
"""A large gain that three leave open, as on a disturbed machine, is looked at more often while there is time."""


class Said(Record, frozen=True):
    """A ratio with its interval, which is `within_process` where it does not cover how far processes differ."""

    effect: Effect
    within_process: bool


def said_by(tried: Tried, others: Sequence[Tried] = ()) -> Said | None:
    """What pairs say, with the spread that `others` of their kind have; null without any."""
    if not tried.pairs:
        return None
    spread = pooled_spread((*(each.pairs for each in others if each.apart == tried.apart), tried.pairs))
    return Said(effect=effect_of(tried.pairs, spread), within_process=spread.degrees_of_freedom == 0)


def speaks_for(effect: Effect, least: float) -> bool:
    """Faster by `least` with an interval above 1; where a little slower is allowed, with one above that."""
    ratio, (low, _) = effect
    return ratio >= least and low > min(1.0, least)


def needs_another(tried: Tried, others: Sequence[Tried], least: float) -> bool:
    """Whether a gain may be the difference between two processes, or is too large to be left open."""
    said, first = said_by(tried, others), said_by(Tried(pairs=tried.pairs[:1]))
    if said is None or first is None or tried.failure is not None or tried.apart:
        return False
    gain, shows = said.effect[0], speaks_for(said.effect, least)
    if len(tried.pairs) >= MOST_PAIRS:
        return gain >= PROMISING and not shows and len(tried.pairs) < MOST_IF_OPEN
    if not speaks_for(first.effect, least):
        return gain >= PROMISING and not shows
    return gain >= least and (gain < ONE_PAIR_SUFFICES if said.within_process else not shows)
