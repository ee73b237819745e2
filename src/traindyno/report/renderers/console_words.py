"""Words in narrow columns: a name too long for its line is broken where its parts are joined, a number never."""

import re
from collections.abc import Iterable

LONGEST_NUMBER = 16
"""Longer words are names and paths, which may be broken."""
JOINTS = ("=,", "/:", "_")
"""What joins the parts of such a name; it is broken behind the first of these that are enough."""


def longest(texts: Iterable[str]) -> int:
    """How many cells of a terminal the longest of them takes."""
    from rich.cells import cell_len

    return max((cell_len(text) for text in texts), default=0)


def unbroken(line: str) -> list[str]:
    """What stays whole however narrow its column is."""
    parts = (part for word in line.split() for part in _parts(word, LONGEST_NUMBER))
    return [part for part in parts if longest([part]) <= LONGEST_NUMBER]


def wrapped(text: str, width: int) -> str:
    """The text in lines where a word is longer than one: it begins on its own, and lines end between its parts."""
    words = text.split()
    if longest(words) <= width:
        return text
    lines = [""]
    for word in words:
        for number, part in enumerate(parts := _parts(word, width)):
            longer = f"{lines[-1]} {part}" if lines[-1] and number == 0 else f"{lines[-1]}{part}"
            begins = number == 0 and len(parts) > 1
            if lines[-1] and (begins or longest([longer]) > width):
                lines.append(part)
            else:
                lines[-1] = longer
    return "\n".join(lines)


def _parts(word: str, width: int, joints: tuple[str, ...] = JOINTS) -> list[str]:
    """The word, or its parts where it is too long for a line, each with what joins it to the next."""
    if longest([word]) <= width or not joints:
        return [word]
    pieces = re.split(f"(?<=[{joints[0]}])(?=.)", word)
    return [part for piece in pieces for part in _parts(piece, width, joints[1:])]
