"""Where the data of a settings file lies here: `--data SOURCE`, or `OLD=NEW` where its two ways to train differ."""

import shlex
from collections.abc import Sequence

import msgspec

from traindyno.app.loader_workload import MEMORY, SYNTHETIC
from traindyno.app.source_checks import stored
from traindyno.core.errors import UsageError
from traindyno.core.setups import Setup


def with_data_here(baseline: Setup, recommended: Setup, given: Sequence[str]) -> tuple[Setup, Setup]:
    """Both ways to train, reading from where the user says; what was held in memory still is."""
    before = (baseline.data, recommended.data)
    here = _replacements(before, given)
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
            options = " ".join(f"--data {shlex.quote(f'{source}=SOURCE')}" for source in known)
            raise UsageError(
                f"the baseline reads from {before[0]} and what is recommended from {before[1]}: "
                f"it is not clear which of them {text} stands for",
                f"name what lies elsewhere here: {options}",
            )
        if (replaced := old or known[0]) in here:
            raise UsageError(f"there are two places for {replaced}", "name one --data for it")
        here[replaced] = new
    return here


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
