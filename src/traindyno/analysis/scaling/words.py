"""Counts, ways and intervals in words."""

import math
from collections.abc import Sequence

from traindyno.core.answers.interval import Interval
from traindyno.core.answers.scaling import ScaleRow
from traindyno.core.units import format_percent

MORE_WOULD_TELL = "more --repeats, or a quieter machine, would tell"

_NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}


def number(count: int) -> str:
    """`two`, `16`."""
    return _NUMBERS.get(count, str(count))


def devices_words(count: int) -> str:
    """`one device`, `two devices`."""
    return f"{number(count)} device{'' if count == 1 else 's'}"


def beginning(text: str) -> str:
    """With a capital, for the beginning of a sentence."""
    return text[0].upper() + text[1:]


def way_words(row: ScaleRow) -> str:
    """`four devices with 64 each`, `one device with 64`."""
    each = "" if row.devices == 1 else " each"
    return f"{devices_words(row.devices)} with {row.batch_per_device}{each}"


def percent(share: float) -> str:
    """`0.8 %`, `12 %`."""
    return format_percent(share, 1 if abs(share) < 0.0995 else 0)


def percents_between(interval: Interval) -> str:
    """`0.8 to 12 %`."""
    low, high = interval
    if not math.isfinite(high):
        return f"from {percent(low)}"
    return f"{percent(low).removesuffix(' %')} to {percent(high)}"


def times(ratio: float) -> str:
    """`1.52 times`."""
    return f"{ratio:.2f} times"


def times_between(interval: Interval) -> str:
    """`1.48 to 1.57`."""
    low, high = interval
    return f"{low:.2f} to {high:.2f}" if math.isfinite(high) else f"from {low:.2f}"


def listed(words: Sequence[str]) -> str:
    """`16, 32 and 64`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
