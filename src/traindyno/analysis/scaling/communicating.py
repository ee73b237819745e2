"""What communication, waiting and loading take of the step, in words."""

from collections.abc import Iterator, Sequence

from traindyno.analysis.intervals import median
from traindyno.analysis.scaling.points import point_of_row
from traindyno.analysis.scaling.ways import Way
from traindyno.analysis.scaling.words import MORE_WOULD_TELL, percent, percents_between, way_words
from traindyno.core.answers.interval import Interval
from traindyno.core.answers.scaling import RankRow, ScaleRow
from traindyno.core.units import format_seconds

_NOTABLE_WAITING = 0.05
_NOTABLE_LOADING = 0.05
_NEGLIGIBLE = 0.05
_NOTABLE_WRAPPER = 0.02


def communication(rows: Sequence[ScaleRow], ways: Sequence[Way]) -> Iterator[str]:
    """Of the most devices, with the largest batch each."""
    several = [row for row in rows if row.devices > 1]
    if several:
        row = max(several, key=lambda each: (each.devices, each.batch_per_device))
        yield _communication(row, next(way for way in ways if way.point == point_of_row(row)))


def stragglers(ranks: Sequence[RankRow], row: ScaleRow) -> Iterator[str]:
    """The rank that holds up the others most, or unevenness that is nobody's."""
    waiting = row.waiting_share or 0.0
    slow = sorted((rank for rank in ranks if rank.straggles), key=lambda rank: rank.against_median, reverse=True)
    if slow:
        rank, others = slow[0], median([other.step_seconds for other in ranks if other is not slow[0]])
        longer = f"its step is {rank.step_seconds / others:.2f} times that of the others"
        wait = percent(waiting * len(ranks) / max(1, len(ranks) - len(slow)))
        waits = f"in training they wait {wait} of the step for {'it' if len(slow) == 1 else 'all that straggle'}"
        why = f"without communication it {rank.because}, and {longer}; {waits}, which is not communication"
        yield f"Rank {rank.rank} on {rank.node} is a straggler: {why}."
    elif waiting > _NOTABLE_WAITING:
        uneven = "none is slower than the others throughout: their steps are uneven"
        yield f"Ranks wait {percent(waiting)} of the step for the slowest of it, but {uneven}."


def loading(row: ScaleRow) -> Iterator[str]:
    """Whether batches come too late, or would without communication, and where to find out more."""
    more = f"see `traindyno loader --local-ranks {row.devices // row.nodes}`"
    if row.load_share is not None and row.load_share > _NOTABLE_LOADING:
        waits = f"the slowest rank waits {percent(row.load_share)} of the step for its batches"
        yield f"With {way_words(row)} {waits}: {more}."
    if row.load_hidden_share is not None and row.load_hidden_share > _NOTABLE_LOADING:
        waits = f"the slowest rank would wait {percent(row.load_hidden_share)} of the step more for its batches"
        beside = "they are loaded while it communicates, so less communication alone would not save that part"
        yield f"Without communication {waits} with {way_words(row)}: {beside}; {more}."


def wrapper_words(cost: float | None, interval: Interval | None, several: bool) -> Iterator[str]:
    """What the wrapper itself costs, with nobody to talk to; beside several devices only if that is much."""
    if cost is None or interval is None:
        return
    low, high = interval
    by_chance = low <= 0 <= high
    if several and (by_chance or abs(cost) < _NOTABLE_WRAPPER):
        return
    if by_chance:
        between = f"{low * 100:+.1f} to {high * 100:+.1f} %"
        yield f"What the wrapper for several processes adds to the step of one device is within chance ({between})."
        return
    longer, ends = ("longer", interval) if cost > 0 else ("shorter", (-high, -low))
    told = f"{percent(abs(cost))} {longer} ({percents_between(ends)})"
    yield f"On one device the wrapper for several processes makes the step {told}."


def _communication(row: ScaleRow, way: Way) -> str:
    assert row.communication_share is not None
    assert row.communication_share_ci95 is not None
    step, (low, high) = f"the step of {way_words(row)}", row.communication_share_ci95
    if low <= 0 and high < _NEGLIGIBLE:
        return f"Communication adds nothing beyond chance to {step} (at most {percent(high)})."
    if low <= 0:
        seen = f"{percent(row.communication_share)} was seen, and {percents_between((low, high))} is possible"
        return f"What communication adds to {step} is too uneven to tell: {seen}; {MORE_WOULD_TELL}."
    text = f"Communication is {percent(row.communication_share)} of {step} ({percents_between((low, high))})"
    if not way.exchange_seconds or way.hidden_seconds is None:
        return f"{text}."
    return f"{text}; by itself the exchange takes {format_seconds(way.exchange_seconds)}, {_overlap(way)}."


def _overlap(way: Way) -> str:
    """What of the exchange is hidden, as far as chance lets that be told; why it may add more than it takes is open."""
    assert way.exchange_seconds is not None
    assert way.hidden_seconds is not None
    low, high = way.exposed_ci95
    if low > way.exchange_seconds:
        return f"and the step is longer by {format_seconds(way.exposed_seconds)}, which is more"
    if high >= way.exchange_seconds:
        return "and whether any of it goes on beside computing is too close to tell"
    return f"of which {percent(way.hidden_seconds / way.exchange_seconds)} goes on beside computing"
