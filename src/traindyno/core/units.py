"""Quantities as people write them, and back: bytes, durations, shares, prices, rates. SI seconds and bytes inside."""

import math
import re

from traindyno.core.errors import UsageError

_BYTE_UNITS = {
    "": 1, "b": 1,
    "k": 10**3, "kb": 10**3, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9, "t": 10**12, "tb": 10**12,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip
_SECOND_UNITS = {"": 1.0, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_NUMBER = r"(\d+(?:\.\d+)?)"
_TIME = r"(\d+(?:\.\d+)?(?:e(?:-\d\d?|\+?\d{1,3})(?!\d))?)"
"""Very long and very short ones as commands print them, too: `1e+12`."""
MOST_BYTES = 2**63 - 1
"""No counter of the system goes further."""


def parse_bytes(text: str) -> int:
    """`8GiB`, `500MB` or plain bytes."""
    match = re.fullmatch(rf"\s*{_NUMBER}\s*([A-Za-z]*)\s*", text)
    count = math.nan
    if match is not None and match[2].lower() in _BYTE_UNITS:
        count = float(match[1]) * _BYTE_UNITS[match[2].lower()]
    if not count < MOST_BYTES:
        raise UsageError(f"{text!r} is not an amount of memory", "write it as 8GiB, 500MB or a number of bytes")
    return int(count)


def parse_seconds(text: str) -> float:
    """`90`, `90s`, `10m`, `1h30m`."""
    parts = re.findall(rf"{_TIME}\s*([a-z]*)", text.strip().lower())
    rebuilt = re.fullmatch(rf"(?:{_TIME}\s*[a-z]*\s*)+", text.strip().lower())
    is_known = bool(parts) and rebuilt is not None and all(unit in _SECOND_UNITS for _, unit in parts)
    seconds = sum(float(number) * _SECOND_UNITS[unit] for number, unit in parts) if is_known else math.inf
    if seconds == math.inf:
        raise UsageError(f"{text!r} is not a duration", "write it as 90s, 10m or 1h30m")
    return seconds


def parse_share(text: str) -> float:
    """`5%` or `0.05`, as a fraction between 0 and 1."""
    match = re.fullmatch(rf"\s*{_NUMBER}\s*(%?)\s*", text)
    share = math.nan if match is None else float(match[1]) / (100 if match[2] else 1)
    if not 0 <= share < 1:
        raise UsageError(f"{text!r} is not a share between 0 and 100 %", "write it as 5% or 0.05")
    return share


def parse_price(text: str) -> float:
    """`3.5`, in whatever currency."""
    try:
        return check_price(float(text))
    except ValueError:
        raise _no_price(text) from None


def check_price(price: float) -> float:
    """The price itself, unless nothing can cost that: below zero, without end, or no number."""
    if not 0 <= price < math.inf:
        raise _no_price(str(price))
    return price


def _no_price(text: str) -> UsageError:
    return UsageError(f"{text!r} is not a price", "write it as a number from 0 on, such as 3.5")


def format_bytes(count: float | None) -> str:
    """Binary units with three significant figures: `12.4 GiB`."""
    if count is None:
        return "n/a"
    size = float(count)
    for unit in ("B", "KiB", "MiB"):
        if abs(size) < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{_three_figures(size)} {unit}"
        size /= 1024
    return f"{_three_figures(size)} GiB"


def bytes_word(count: int) -> str:
    """As an option takes it, to the byte: `8GiB`, or the plain number where no unit divides it."""
    units = (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))
    return next((f"{count // size}{unit}" for unit, size in units if count and count % size == 0), str(count))


def format_seconds(seconds: float | None) -> str:
    """The unit a person would choose: `12.3 ms`, `4.56 s`, `12 min 30 s`, `3 h 05 min`, `2 d 4 h`."""
    if seconds is None or math.isnan(seconds):
        return "n/a"
    if seconds < 1e-3:
        return f"{_three_figures(seconds * 1e6)} µs"
    if seconds < 1:
        return f"{_three_figures(seconds * 1e3)} ms"
    if seconds < 60:
        return f"{_three_figures(seconds)} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def format_rate(per_second: float) -> str:
    """Examples per second, with as many digits as carry meaning."""
    return f"{per_second:,.0f}" if per_second >= 1000 else _three_figures(per_second)


def format_scaled(value: float | None, unit: str) -> str:
    """Decimal prefixes with three significant figures: `212 TFLOP/s`, `26.5 GB/s`."""
    if value is None or not math.isfinite(value):
        return "n/a"
    for prefix, size in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= size:
            return f"{_three_figures(value / size)} {prefix}{unit}"
    return f"{_three_figures(value)} {unit}"


def format_percent(share: float, digits: int = 1) -> str:
    return f"{share * 100:.{digits}f} %"


def count_of(number: float, what: str) -> str:
    """`1 trial`, `3 pairs`, `2 fresh processes`, `2.5 epochs`, `1,200 steps`."""
    told = f"{number:,}" if isinstance(number, int) else f"{number:,.4g}"
    ending = "" if told == "1" else "es" if what.endswith("s") else "s"
    return f"{told} {what}{ending}"


def _three_figures(value: float) -> str:
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{digits}f}"
