"""Which of the finalists to recommend, and which are nearly as good."""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.find.findings import Findings
from traindyno.analysis.find.rounds import finalists
from traindyno.analysis.find.single_runs import baseline_alone, best_single_run
from traindyno.core.answers.find import Finalist
from traindyno.core.base import Record
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
    """By the last rounds; where nobody at the user's batch has run in one, by what ran before."""
    everyone = finalists(findings.entries) or (baseline_alone(findings),)
    baseline, others = everyone[0], everyone[1:]
    if not any(each.batch_size == baseline.batch_size for each in others):
        single = best_single_run(findings)
        others = others if single is None else (single, *others)
    own = _best([each for each in others if each.batch_size == baseline.batch_size], baseline)
    free = _best_free([each for each in others if each.batch_size != baseline.batch_size], own)
    recommended = own if free is None or batch_range is None else _best([own, free], own)
    near = tuple(_near(each, recommended) for each in others if _is_near(each, recommended))
    everyone = (baseline, *others)
    return Choice(baseline=baseline, own=own, free=free, recommended=recommended, near_equal=near, everyone=everyone)


def setup_of(found: Finalist) -> Setup:
    """The way to train that a finalist stands for."""
    return Setup(data=found.data, settings=msgspec.convert(found.settings, Settings))


def _best(candidates: Sequence[Finalist], otherwise: Finalist) -> Finalist:
    """The fastest that was shown to be faster than the baseline."""
    shown = [each for each in candidates if each.speedup_ci95[0] > 1.0]
    return max([*shown, otherwise], key=lambda each: each.speedup)


def _best_free(candidates: Sequence[Finalist], own: Finalist) -> Finalist | None:
    """The fastest of another batch, if it is faster than the best of the user's own."""
    best = max(candidates, key=lambda each: each.speedup, default=None)
    return None if best is None or best.speedup <= own.speedup else best


def _is_near(each: Finalist, recommended: Finalist) -> bool:
    return (
        each is not recommended
        and bool(recommended.changes)
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
