"""Where a set comes from and goes to: one source by several names, and no target among the files that are read."""

import os
from collections.abc import Iterator
from glob import has_magic
from itertools import takewhile
from pathlib import Path

from traindyno.core.errors import UsageError
from traindyno.worker.data.folder import SPLITS
from traindyno.worker.data.shards import expand_braces


def same_source(one: str, other: str) -> bool:
    """Whether two names mean the same data, one of them perhaps by a relative path or through a link."""
    (kind, _, path), (other_kind, _, other_path) = one.partition(":"), other.partition(":")
    return kind == other_kind and _real(path) == _real(other_path)


def require_apart(source: str, target: Path) -> None:
    """Refuse a target where the source is looked for: it would take what is written there for examples."""
    kind, _, path = source.partition(":")
    for place in _PLACES.get(kind, _no_places)(os.path.expanduser(path)):
        if _lies_in(target, place):
            where = "is" if target == place else f"lies in {place},"
            raise UsageError(
                f"{target} {where} where the examples of {source} are looked for",
                "name a folder outside of it: what is written there must not be taken for examples",
            )


def _of_folder(path: str) -> Iterator[Path]:
    """The folder itself, or those in it that are splits, or would be taken for one if they were there."""
    root = Path(path)
    if not any((root / train).is_dir() and any((root / other).is_dir() for other in SPLITS[train]) for train in SPLITS):
        yield root
        return
    for train, others in SPLITS.items():
        yield from (root / name for name in (train, *others))


def _of_shards(pattern: str) -> Iterator[Path]:
    """The folder of shards, or that in which a pattern looks for them; names without a wildcard find nothing new."""
    if os.path.isdir(pattern):
        yield Path(pattern)
    elif has_magic(pattern) and not os.path.isfile(pattern):
        for one in filter(has_magic, expand_braces(pattern)):
            yield Path(*takewhile(lambda part: not has_magic(part), Path(one).parts))


def _no_places(path: str) -> Iterator[Path]:
    return iter(())


_PLACES = {"folder": _of_folder, "shards": _of_shards}


def _lies_in(target: Path, place: Path) -> bool:
    """As it is written, or as it is once links are followed."""
    return any(Path(real(target)).is_relative_to(real(place)) for real in (os.path.abspath, os.path.realpath))


def _real(path: str) -> str:
    return os.path.realpath(os.path.expanduser(path))
