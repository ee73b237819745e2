"""Which of the finalists to recommend, and which are nearly as good."""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.find.findings import Findings
from traindyno.analysis.find.learning import sooner_by, weighed
from traindyno.analysis.find.rounds import finalists
from traindyno.analysis.find.single_runs import UNCHECKED, baseline_alone, best_single_run
from traindyno.core.answers.find import Finalist
from traindyno.core.base import Record
from traindyno.core.records import Settings
from traindyno.core.setups import Setup

NEAR_EQUAL = 0.97
LESS_MEMORY = 0.95
NEARLY_WHOLE = 0.8
"""Runs of this share of training's length were read over all of it."""


class Choice(Record, frozen=True):
    """`own` is the best at the user's batch, `free` what was found with any batch, `recommended` one of them."""

    baseline: Finalist
    own: Finalist
    free: Finalist | None
    recommended: Finalist
    near_equal: tuple[Finalist, ...]
    everyone: tuple[Finalist, ...]

    @property
    def is_shown(self) -> bool:
        """Whether rounds have shown something to be faster."""
        return self.recommended.confirmed and bool(self.recommended.changes)

    @property
    def most_promising(self) -> Finalist:
        """What is recommended; where that is the baseline, whoever may be once there are more rounds."""
        return self.recommended if self.recommended.changes else max(self.everyone, key=lambda each: each.worth)


def choose(findings: Findings, batch_range: tuple[int, int] | None) -> Choice:
    """By the last rounds; where nobody at the user's batch has run in one, by what ran before."""
    everyone = finalists(findings.entries) or (baseline_alone(findings),)
    own_batch = everyone[0].batch_size
    everyone = tuple(weighed(each, own_batch, findings.noise) for each in everyone)
    baseline, others = everyone[0], everyone[1:]
    if not any(each.batch_size == own_batch for each in others):
        single = best_single_run(findings)
        others = others if single is None else (weighed(single, own_batch, findings.noise), *others)
    others = tuple(_with_caution(findings, each) if each.batch_size == own_batch else each for each in others)
    own = _best_own(findings, [each for each in others if each.batch_size == own_batch], baseline)
    free = _best_free([each for each in others if each.batch_size != own_batch], own)
    recommended = _recommended(findings, own, free, batch_range)
    near = tuple(_near(each, recommended) for each in others if _is_near(each, recommended))
    everyone = (baseline, *others)
    return Choice(baseline=baseline, own=own, free=free, recommended=recommended, near_equal=near, everyone=everyone)


def setup_of(found: Finalist) -> Setup:
    """The way to train that a finalist stands for."""
    return Setup(data=found.data, settings=msgspec.convert(found.settings, Settings))


def _recommended(
    findings: Findings, own: Finalist, free: Finalist | None, batch_range: tuple[int, int] | None
) -> Finalist:
    """Another batch only where it may change, and by a prediction only where its whole interval speaks for it."""
    if free is None:
        return own
    if free.learning_gain is not None:
        clearly = free.worth_ci95[0] > 1.0 and sooner_by(free, own)[1][0] > 1.0
        return free if clearly and not is_flattered(findings, free) else own
    return own if batch_range is None else _best([own, free], own)


def is_flattered(findings: Findings, free: Finalist) -> bool:
    """Gradients become noisier while training goes on: a noise scale read early speaks too well of smaller batches."""
    return findings.noise_share < NEARLY_WHOLE and free.batch_size < findings.baseline.settings.batch_size


def _best(candidates: Sequence[Finalist], otherwise: Finalist) -> Finalist:
    """The fastest that was shown to be faster than the baseline."""
    shown = [each for each in candidates if each.worth_ci95[0] > 1.0]
    return max([*shown, otherwise], key=lambda each: each.worth)


def _best_own(findings: Findings, candidates: Sequence[Finalist], baseline: Finalist) -> Finalist:
    """The fastest whose losses agree. One whose losses nobody looked at comes only where there is no other."""
    agreeing = [each for each in candidates if findings.agrees(setup_of(each).settings)]
    best = _best(agreeing, baseline)
    return best if best is not baseline else _best(candidates, baseline)


def _with_caution(findings: Findings, each: Finalist) -> Finalist:
    """A way to train whose losses were not looked at says so."""
    if UNCHECKED in each.warnings or findings.agrees(setup_of(each).settings) is not None:
        return each
    return msgspec.structs.replace(each, warnings=(*each.warnings, UNCHECKED))


def _best_free(candidates: Sequence[Finalist], own: Finalist) -> Finalist | None:
    """The fastest of another batch, if it is faster than the best of the user's own."""
    best = max(candidates, key=lambda each: each.worth, default=None)
    return None if best is None or best.worth <= own.worth else best


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
