"""Numbers and foreign text as people read them; what is missing or not finite reads `n/a`."""

import math
import re
from collections.abc import Callable

from traindyno.analysis.intervals import tells_nothing
from traindyno.core.answers import Quantity
from traindyno.core.units import format_bytes, format_rate, format_seconds

NOT_AVAILABLE = "n/a"
# Controls other than tab and line feed, halves of characters, and what turns the direction of writing.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


def clean(text: object) -> str:
    """Foreign text without terminal escapes, direction tricks and halves of characters."""
    return _UNPRINTABLE.sub("\ufffd", str(text))


def one_line(text: object, limit: int = 120) -> str:
    """Foreign text on one line; what is too long loses its end, and shows it."""
    line = " ".join(clean(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def known(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def rate(value: float | None) -> str:
    return format_rate(value) if value is not None and math.isfinite(value) else NOT_AVAILABLE


def size(value: float | None) -> str:
    return format_bytes(value) if value is not None and math.isfinite(value) else NOT_AVAILABLE


def duration(value: float | None) -> str:
    return format_seconds(value) if value is not None and math.isfinite(value) else NOT_AVAILABLE


def share(value: float | None) -> str:
    """A fraction in whole percent, with a digit more when it is small."""
    if value is None or not math.isfinite(value):
        return NOT_AVAILABLE
    return f"{value * 100:.1f} %" if 0 < abs(value) < 0.02 else f"{value * 100:.0f} %"


def share_interval(interval: tuple[float, float] | None) -> str:
    """`48 to 55 %`."""
    if interval is None or not all(math.isfinite(end) for end in interval):
        return NOT_AVAILABLE
    low, high = (f"{end * 100:.1f}" if 0 < abs(end) < 0.02 else f"{end * 100:.0f}" for end in interval)
    return f"{low} to {high} %"


def signed_duration(value: float | None) -> str:
    """A difference of two times, which may be negative."""
    return f"-{duration(-value)}" if value is not None and value < 0 else duration(value)


def signed_percent(value: float | None) -> str:
    """`+3.1 %`: how far one figure lies from another."""
    return NOT_AVAILABLE if value is None or not math.isfinite(value) else f"{value * 100:+.1f} %"


def count(value: int | None) -> str:
    return NOT_AVAILABLE if value is None else f"{value:,}"


def batch(value: int | None) -> str:
    """Batch sizes carry no thousands separator, so that they can be typed back."""
    return NOT_AVAILABLE if value is None else str(value)


def memory_of_limit(peak_bytes: float | None, limit_share: float | None) -> str:
    """`41.2 GiB (30 %)`, or the bytes alone where the limit is unknown."""
    return f"{size(peak_bytes)} ({share(limit_share)})" if known(limit_share) else size(peak_bytes)


def half_width(value: float, interval: tuple[float, float] | None) -> float | None:
    """The longer arm of the interval, so that `value ± half width` always contains it."""
    if interval is None or not all(math.isfinite(end) for end in (value, *interval)):
        return None
    return max(value - interval[0], interval[1] - value, 0.0)


def rate_interval(value: float | None, interval: tuple[float, float] | None) -> str:
    """`2,257 ± 9`: the interval with the digits of the value, and never rounded away to zero."""

    def arm(half: float) -> str:
        digits = 0 if abs(value or 0) >= 1000 else len(format_rate(value or 0).partition(".")[2])
        text = f"{half:,.{digits}f}"
        return f"{half:.1g}" if half > 0 and float(text.replace(",", "")) == 0 else text

    return _with_arm(value, interval, rate, arm)


def duration_interval(value: float | None, interval: tuple[float, float] | None) -> str:
    """`12 h 05 min ± 3 min`."""
    return _with_arm(value, interval, duration, _coarse)


def short_interval(value: float | None, interval: tuple[float, float] | None) -> str:
    """`38.3 ± 0.5 ms`: short times, where the unit of the value serves both."""
    if value is None or not math.isfinite(value) or not 0 < value < 60:
        return duration_interval(value, interval)
    if (half_width(value, interval) or 0.0) > value:
        return f"{duration(value)} ± over 100 %"
    unit, factor = ("µs", 1e6) if value < 1e-3 else ("ms", 1e3) if value < 1 else ("s", 1.0)
    scaled = None if interval is None else (interval[0] * factor, interval[1] * factor)
    return f"{rate_interval(value * factor, scaled)} {unit}"


def ratio_interval(value: float | None, interval: tuple[float, float] | None) -> str:
    """`1.84× (1.82 to 1.86)`: the ends of a ratio's interval are what is compared with 1.

    One that may be anything is `5.12× ± over 100 %`, be it that its interval is too wide or that it has no end: it does
    not stand there as if exact, as what was counted does.
    """
    if value is None or not math.isfinite(value):
        return NOT_AVAILABLE
    if interval is None:
        return f"{value:.2f}×"
    if not all(math.isfinite(end) for end in interval) or tells_nothing(value, interval):
        return f"{value:.2f}× ± over 100 %"
    return ratio_range(value, interval)


def ratio_range(value: float, interval: tuple[float, float]) -> str:
    """`0.59× (0.21 to 1.68)`: a ratio with its ends however wide apart, where a conclusion was drawn from one of them.

    What is not finite is told as in `ratio_interval`, but for a lower end that is known without an upper one.
    """
    low, high = interval
    if not math.isfinite(value) or not math.isfinite(low):
        return ratio_interval(value, interval)
    if not math.isfinite(high):
        return f"{value:.2f}× (from {low:.2f})"
    digits = 3 if interval[1] - interval[0] < 0.02 else 2
    return f"{value:.{digits}f}× ({interval[0]:.{digits}f} to {interval[1]:.{digits}f})"


def figure(quantity: Quantity, value: float | None) -> str:
    """A number in the way its quantity is written."""
    if quantity == "training_seconds":
        return duration(value)
    if quantity == "batch_size":
        return NOT_AVAILABLE if value is None or not math.isfinite(value) else batch(round(value))
    return rate(value)


def of_ranks(local_ranks: int) -> str:
    """What belongs to each of several training processes on a machine, after the figure; of a single one, nothing."""
    return f" for each of {local_ranks} local ranks" if local_ranks > 1 else ""


def _with_arm(
    value: float | None,
    interval: tuple[float, float] | None,
    write: Callable[[float | None], str],
    write_arm: Callable[[float], str],
) -> str:
    if value is None or not math.isfinite(value):
        return NOT_AVAILABLE
    half = half_width(value, interval)
    if half is not None and half > value > 0:
        return f"{write(value)} ± over 100 %"
    return write(value) if half is None else f"{write(value)} ± {write_arm(half)}"


def _coarse(seconds: float) -> str:
    if seconds < 60:
        return format_seconds(seconds) if seconds > 0 else "0 s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172800 else f"{seconds / 86400:.1f} d"
