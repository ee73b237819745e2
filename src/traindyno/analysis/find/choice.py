"""Which of the finalists to recommend, which are nearly as good, and what is known when the rounds did not run."""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.find.findings import Findings
from traindyno.analysis.find.rates import faster_by
from traindyno.analysis.find.rounds import BASELINE, Entry, finalist, finalists
from traindyno.core.answers.find import Finalist
from traindyno.core.base import Record
from traindyno.core.errors import NothingMeasuredError
from traindyno.core.records import Settings
from traindyno.core.setups import Setup

NEAR_EQUAL = 0.97
LESS_MEMORY = 0.95


class Choice(Record, frozen=True):
    """`own` is the best at the user's batch, `free` what was found with any batch, `recommended` one of them."""

    baseline: Finalist
    own: Finalist
    free: Finalist | None
    recommended: Finalist
    near_equal: tuple[Finalist, ...]
    everyone: tuple[Finalist, ...]


def choose(findings: Findings, batch_range: tuple[int, int] | None) -> Choice:
    """By the last rounds; where they were cut off before the first was over, by single runs."""
    everyone = finalists(findings.entries) if findings.entries else ()
    if not everyone or everyone[0].name != BASELINE or (len(everyone) == 1 and len(findings.entries) > 1):
        everyone = _unconfirmed(findings)
    baseline, others = everyone[0], everyone[1:]
    own = _best([each for each in others if each.batch_size == baseline.batch_size], baseline)
    free = next((each for each in others if each.batch_size != baseline.batch_size), None)
    recommended = own if free is None or batch_range is None else _best([own, free], own)
    if batch_range is not None and free is not None and not batch_range[0] <= own.batch_size <= batch_range[1]:
        recommended = free
    near = tuple(_near(each, recommended) for each in others if _is_near(each, recommended))
    return Choice(baseline=baseline, own=own, free=free, recommended=recommended, near_equal=near, everyone=everyone)


def setup_of(found: Finalist) -> Setup:
    """The way to train that a finalist stands for."""
    return Setup(data=found.data, settings=msgspec.convert(found.settings, Settings))


def _best(candidates: Sequence[Finalist], otherwise: Finalist) -> Finalist:
    """The fastest that was shown to be faster than the baseline."""
    shown = [each for each in candidates if each.speedup_ci95[0] > 1.0]
    return max([*shown, otherwise], key=lambda each: each.speedup)


def _is_near(each: Finalist, recommended: Finalist) -> bool:
    return (
        each is not recommended
        and each.batch_size == recommended.batch_size
        and each.speedup >= NEAR_EQUAL * recommended.speedup
        and bool(_cheaper_in(each, recommended))
    )


def _near(each: Finalist, recommended: Finalist) -> Finalist:
    return msgspec.structs.replace(each, cheaper_in=_cheaper_in(each, recommended))


def _cheaper_in(each: Finalist, recommended: Finalist) -> tuple[str, ...]:
    """Memory, CPUs for the loader, and changes of what the baseline has."""
    saves = {
        "memory": each.peak_memory_bytes <= LESS_MEMORY * recommended.peak_memory_bytes,
        "CPUs": each.settings["num_workers"] < recommended.settings["num_workers"],
        "changes of code": len(each.changes) < len(recommended.changes),
    }
    return tuple(what for what, saved in saves.items() if saved)


def _unconfirmed(findings: Findings) -> tuple[Finalist, ...]:
    """The baseline and the fastest way to train that ran end to end, by single processes."""
    baseline = findings.rate(findings.baseline)
    if baseline is None:
        raise NothingMeasuredError("not even the baseline was measured", "give it more time with --time-budget")
    rates = {setup: rate for setup in findings.feeds if (rate := findings.rate(setup)) is not None}
    best = max(rates, key=lambda setup: rates[setup].examples_per_second)
    chosen = [(BASELINE, findings.baseline), *([("best so far", best)] if best != findings.baseline else [])]
    found = []
    for name, setup in chosen:
        gain = (1.0, (1.0, 1.0)) if name == BASELINE else faster_by({0: rates[setup]}, {0: baseline})
        assert gain is not None
        records = [record for record in findings.feeds[setup] if record.measurement is not None]
        entry = Entry(name=name, setup=setup)
        found.append(finalist(entry, findings.baseline, records, gain, confirmed=name == BASELINE))
    return tuple(found)
