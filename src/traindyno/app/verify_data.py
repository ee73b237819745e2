"""Where the data of a settings file lies here: `--data SOURCE`, or `OLD=NEW` where its two ways to train differ."""

import shlex
from collections.abc import Sequence

import msgspec

from traindyno.app.loader_workload import MEMORY, SYNTHETIC
from traindyno.app.source_checks import check_source, stored
from traindyno.core.errors import UsageError
from traindyno.core.setups import Setup

DATA_OPTION = "--data"


def with_data_here(
    baseline: Setup, recommended: Setup, given: Sequence[str], file: str = "the file", *, is_there: bool = False
) -> tuple[Setup, Setup]:
    """Both ways to train, reading from where the user says; what was held in memory still is.

    A place that the user names must be one, and be there where `is_there` is true. It is refused here, where the
    sources that the `file` has are still known.
    """
    before = (baseline.data, recommended.data)
    here = _replacements(before, given)
    for source in here.values():
        if source != SYNTHETIC:
            check_source(source, DATA_OPTION, is_there=is_there, hint=_has_sources(file, before))
    first, second = (
        msgspec.structs.replace(setup, data=_replaced(setup.data, here)) for setup in (baseline, recommended)
    )
    return first, second


def _replacements(before: tuple[str, str], given: Sequence[str]) -> dict[str, str]:
    """Old source → new one."""
    known = list(dict.fromkeys(map(stored, before)))
    if given and known == [SYNTHETIC]:
        raise UsageError("these settings were found without stored data that could lie elsewhere", "leave --data away")
    here: dict[str, str] = {}
    for text in given:
        old, new = _pair(text, (*before, *known))
        if old is None and len(known) > 1:
            raise UsageError(
                f"the baseline reads from {before[0]} and what is recommended from {before[1]}: "
                f"it is not clear which of them {text} stands for",
                f"name what lies elsewhere here: {places_for(known)}",
            )
        if (replaced := old or known[0]) in here:
            raise UsageError(f"there are two places for {replaced}", "name one --data for it")
        here[replaced] = new
    return here


def places_for(sources: Sequence[str]) -> str:
    """Options that say where sources lie here."""
    return " ".join(f"{DATA_OPTION} {shlex.quote(f'{source}=SOURCE')}" for source in sources)


def is_given(source: str, given: Sequence[str]) -> bool:
    """Whether the user named this place, and not the file."""
    return any(stored(text) == stored(source) or text.endswith(f"={stored(source)}") for text in given)


def _has_sources(file: str, before: Sequence[str]) -> str:
    """What could have been meant by a place that is none."""
    known = [source for source in dict.fromkeys(map(stored, before)) if source != SYNTHETIC]
    return f"{file} reads from {' and '.join(known)}; say where that lies here: {places_for(known)}"


def _pair(text: str, known: Sequence[str]) -> tuple[str | None, str]:
    """`OLD=NEW`, where OLD is known; a name may hold an equals sign itself."""
    for old in sorted(known, key=len, reverse=True):
        if text.startswith(f"{old}="):
            return old, text.removeprefix(f"{old}=")
    return None, text


def _replaced(data: str, here: dict[str, str]) -> str:
    if data in here:
        return here[data]
    return MEMORY + _replaced(data.removeprefix(MEMORY), here) if data.startswith(MEMORY) else data
