"""Whether more devices pay, in words: against the fewest at the same batch in all, and against linear."""

import math
from collections.abc import Iterator, Sequence

from traindyno.analysis.intervals import ratio_interval
from traindyno.analysis.scaling.break_even import shared_batches
from traindyno.analysis.scaling.words import (
    MORE_WOULD_TELL,
    beginning,
    devices_words,
    listed,
    number,
    percent,
    percents_between,
    times,
    times_between,
    way_words,
)
from traindyno.core.answers.scaling import BreakEven, ScaleRow

_NEARLY_LINEAR = 0.97
_NOTABLE_PART = 0.005
_ROUNDING = 1e-9
_HARDLY_GROWS = 1.1


def paying(rows: Sequence[ScaleRow], found: Sequence[BreakEven]) -> Iterator[str]:
    """From which batch in all more devices are faster than the fewest: the first and the last of several counts."""
    shared = shared_batches(rows)
    fewest = min((row.devices for row in rows), default=1)
    for each in dict.fromkeys((*found[:1], *found[-1:])):
        yield _pays(each, [row for row in shared if row.devices == each.devices], fewest)


def linear(rows: Sequence[ScaleRow], on_cpu: bool, from_loader: bool) -> Iterator[str]:
    """How near the most devices come to as many times the fewest, and what is missing."""
    fewest = min((row.devices for row in rows), default=1)
    compared = [row for row in rows if row.efficiency is not None and row.devices > fewest]
    if not compared:
        return
    row = max(compared, key=lambda each: (each.devices, each.batch_per_device))
    assert row.efficiency is not None
    assert row.efficiency_ci95 is not None
    against = f"{number(fewest)} with as many each" if fewest > 1 else "one with as many"
    share = f"{percent(row.efficiency)} of linear ({percents_between(row.efficiency_ci95)})"
    more = times(row.efficiency * row.devices / fewest)
    missing = _missing(row, on_cpu, from_loader) if fewest == 1 else ""
    yield f"{beginning(way_words(row))} train {more} as many examples per second as {against}: {share}{missing}."


def growing(rows: Sequence[ScaleRow]) -> Iterator[str]:
    """Where the last devices that were added hardly brought anything; with two counts that is told already."""
    counts = sorted({row.devices for row in rows})
    pairs = [
        (before, after)
        for before in rows
        for after in rows
        if (before.devices, after.devices) == tuple(counts[-2:]) and before.batch_per_device == after.batch_per_device
    ]
    if len(counts) > 2 and pairs:
        yield from _grown(*max(pairs, key=lambda pair: pair[0].batch_per_device))


def _grown(before: ScaleRow, after: ScaleRow) -> Iterator[str]:
    assert before.ci95 is not None
    assert after.ci95 is not None
    ratio, interval = ratio_interval(_rate(before), before.ci95, _rate(after), after.ci95)
    grown = f"{times(ratio)} ({times_between(interval)})"
    counted = f"from {number(before.devices)} to {way_words(after)}"
    if interval[1] < _HARDLY_GROWS:
        yield f"{beginning(counted)} throughput hardly grows, {grown}: more devices do not pay here."
    elif interval[0] <= _HARDLY_GROWS:
        yield f"Whether throughput still grows {counted} is too close to tell, {grown}: {MORE_WOULD_TELL}."


def _pays(found: BreakEven, rows: Sequence[ScaleRow], fewest: int) -> str:
    who, than = beginning(devices_words(found.devices)), number(fewest)
    too_close = f"; at {_sizes(found.undecided_at)} it is too close to tell" if found.undecided_at else ""
    if found.slower_at is not None:
        slower = f"{who} are slower than {than} at batch {found.slower_at} in all ({_speedup(rows, found.slower_at)})"
        if found.batch_size is not None:
            at = f"{'from' if found.holds_above else 'at'} batch {found.batch_size}"
            return f"{slower}; {at} they pay ({_speedup(rows, found.batch_size)}){too_close}."
        return f"{slower}{too_close}: {MORE_WOULD_TELL}." if too_close else f"{slower}, and pay at no batch measured."
    if found.batch_size is None:
        about = f"{devices_words(found.devices)} are faster than {than} at batch {_sizes(found.undecided_at)} in all"
        return f"Whether {about} is too close to tell: {MORE_WOULD_TELL}."
    at = f"from batch {found.batch_size} in all on" if found.holds_above else f"at batch {found.batch_size} in all"
    smallest = found.batch_size < min(found.undecided_at, default=math.inf)
    first = ", the smallest batch measured" if smallest else ""
    return f"{who} pay {at} ({_speedup(rows, found.batch_size)} as fast as {than}){first}{too_close}."


def _missing(row: ScaleRow, on_cpu: bool, from_loader: bool) -> str:
    """The step is that of one device, longer by its parts: what is missing to linear, as a share of it, is their sum.

    Chance may make the parts larger than their sum, and communication of what is none: then they are not told.
    """
    assert row.efficiency is not None
    communication, waiting = row.communication_share or 0.0, row.waiting_share or 0.0
    rest = 1 - row.efficiency - communication - waiting
    by_chance = communication >= _NOTABLE_PART and (row.communication_share_ci95 or (0.0, 0.0))[0] <= 0
    if row.efficiency >= _NEARLY_LINEAR or rest < -_ROUNDING or by_chance:
        return ""
    longer = "each device's own step" if not from_loader else "each device's own step and its loader"
    parts = [
        ("communication", communication),
        ("waiting for the slowest rank", waiting),
        (f"{longer}{', which shares the processor' if on_cpu else ''}", rest),
    ]
    told = [f"{_points(share)} to {name}" for name, share in parts if share >= _NOTABLE_PART]
    lost = f"of the 100 points of the step {_points(1 - row.efficiency)} are lost"
    return f"; {lost}, {listed(told)}" if told else ""


def _points(share: float) -> str:
    return percent(share).removesuffix(" %")


def _speedup(rows: Sequence[ScaleRow], batch_size: int) -> str:
    row = next(row for row in rows if row.batch_size == batch_size)
    assert row.speedup is not None
    return times(row.speedup)


def _rate(row: ScaleRow) -> float:
    assert row.examples_per_second is not None
    return row.examples_per_second


def _sizes(sizes: Sequence[int]) -> str:
    return listed([str(size) for size in sorted(sizes)])
