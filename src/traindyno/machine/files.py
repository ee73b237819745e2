"""Read the kernel's small text files; what is not there or not allowed reads as unknown."""

from collections.abc import Mapping
from pathlib import Path


def read_text(path: Path) -> str | None:
    """The stripped content, or null where the file cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def read_lines(path: Path) -> list[str]:
    """The lines of a file, none where it cannot be read."""
    return (read_text(path) or "").splitlines()


def whole_number(text: str | None) -> int | None:
    """A plain count such as `4096`; anything else (`max`, `-1`, nothing) is null."""
    return int(text) if text is not None and text.isascii() and text.isdigit() else None


def read_pairs(path: Path, separator: str | None = None) -> Mapping[str, str]:
    """`name value` (or `name: value`) lines as a mapping; the first of equal names counts."""
    pairs: dict[str, str] = {}
    for line in read_lines(path):
        name, *rest = line.split(separator, 1)
        pairs.setdefault(name.strip(), rest[0].strip() if rest else "")
    return pairs
