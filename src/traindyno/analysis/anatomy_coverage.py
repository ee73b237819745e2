"""What the named phases explain of a step without instruments, and where that is too little or cannot be told."""

from collections.abc import Iterator, Mapping, Sequence

from traindyno.core.answers import AnatomySize
from traindyno.core.units import format_percent

ENOUGH_COVERED = 0.97
MOST_COVERED = 1.1
"""Instruments may make phases a little longer than the step without them; so much more is of quite another step."""

_OTHER = "the rest stands under other"
_FASTER = "steps with instruments were faster than those without, so this machine was not quiet"
_RESTLESS = "its processes differed too much, so this machine was not quiet"


def explains_nothing(coverage: float) -> bool:
    """Whether phases are so much longer than the step without instruments that they cannot be parts of it."""
    return coverage > MOST_COVERED


def coverage_cautions(sizes: Sequence[AnatomySize]) -> Iterator[str]:
    """A sentence for each reason, with every batch size that it holds for."""
    several = len(sizes) > 1
    for reason in (_OTHER, _FASTER, _RESTLESS):
        alike = {size.batch_size: size.coverage or 0.0 for size in sizes if _unexplained(size) == reason}
        if alike:
            part = f"part of the step ({_each(alike)})" if several else f"{_one(alike)} of the step"
            yield f"The named phases explain only {part}; {reason}."
    longer = {size.batch_size: size.coverage for size in sizes if size.coverage and explains_nothing(size.coverage)}
    if longer:
        much = f"far more ({_each(longer)}) than" if several else f"{_one(longer)} of"
        yield (
            f"With instruments the named phases take {much} the step without them; the two differ too much to tell "
            "what the phases explain."
        )


def _unexplained(size: AnatomySize) -> str | None:
    """Why the phases leave something open; null if they do not."""
    if size.coverage is None or size.coverage >= ENOUGH_COVERED:
        return None
    other = size.phases["other"].seconds / size.step_seconds if "other" in size.phases else 0.0
    if other >= (1 - size.coverage) / 2:
        return _OTHER
    return _FASTER if (size.instrument_cost or 0.0) < 0 else _RESTLESS


def _one(shares: Mapping[int, float]) -> str:
    (share,) = shares.values()
    return format_percent(share, 0)


def _each(shares: Mapping[int, float]) -> str:
    """`48 % at batch 8, 79 % at batch 32`."""
    return ", ".join(f"{format_percent(share, 0)} at batch {size}" for size, share in shares.items())
