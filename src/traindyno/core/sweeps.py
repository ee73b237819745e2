"""Lists of batch sizes as people write them: `16,32,64`, `16..1024`, `16..max`, `max`."""

import re

from traindyno.core.base import Record
from traindyno.core.errors import UsageError

LARGEST_ACCEPTED = 2**31


class Sweep(Record, frozen=True):
    """Either the sizes themselves, or doubling from `smallest` to `largest` (null: until memory is full)."""

    sizes: tuple[int, ...] | None = None
    smallest: int = 1
    largest: int | None = None


def parse_sweep(text: str) -> Sweep:
    """Read a sweep; a mistake is answered with an example of the right form."""
    text = text.strip()
    if text == "max":
        return Sweep()
    span = re.fullmatch(r"(\d+)\.\.(\d+|max)", text)
    if span is not None:
        return _span(text, int(span[1]), None if span[2] == "max" else int(span[2]))
    parts = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch(r"\d+", part) for part in parts):
        raise UsageError(f"{text!r} is not a list of batch sizes", "write 16,32,64 or 16..1024 or 16..max or max")
    return Sweep(sizes=tuple(sorted({_size(int(part)) for part in parts})))


def parse_range(text: str) -> tuple[int, int]:
    """Read `64..512`, both ends among it."""
    span = re.fullmatch(r"\s*(\d+)\.\.(\d+)\s*", text)
    if span is None:
        raise UsageError(f"{text!r} is not a range of batch sizes", "write 64..512")
    swept = _span(text, int(span[1]), int(span[2]))
    assert swept.largest is not None
    return swept.smallest, swept.largest


def _span(text: str, smallest: int, largest: int | None) -> Sweep:
    if largest is not None and largest < smallest:
        raise UsageError(f"{text!r} ends before it begins", f"write {largest}..{smallest}")
    return Sweep(smallest=_size(smallest), largest=None if largest is None else _size(largest))


def _size(size: int) -> int:
    if not 1 <= size <= LARGEST_ACCEPTED:
        raise UsageError(
            f"a batch size of {size} cannot be measured", f"batch sizes start at 1 and end at {LARGEST_ACCEPTED}"
        )
    return size
