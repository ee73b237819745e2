"""The loader's other knobs: which of them can matter here, and what single comparisons showed.

Each knob is compared with the settings chosen so far in interleaved pairs of fresh processes: without, with, without,
with; a third pair follows if the first two look promising but leave it open.
"""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.intervals import combine_processes, ratio_interval
from traindyno.analysis.loader_budget import LoaderRoom, refuse_loader
from traindyno.analysis.loader_parts import LoaderParts, measured_seconds
from traindyno.analysis.loader_trials import LoaderTrials, measurement_of
from traindyno.analysis.sustained import sustained
from traindyno.core.answers import LoaderEffect
from traindyno.core.answers.interval import Interval
from traindyno.core.base import Record
from traindyno.core.records import Settings, TrialRecord
from traindyno.core.units import format_percent

PAIRS = 2
MOST_PAIRS = 3
_LARGER_PREFETCH = 4
WORTH_HAVING = 1.01
_WAITS = 1.03
_FAST_ENOUGH = 0.9
_NOTABLE_TRANSFER = 0.01


class Comparison(Record, frozen=True):
    """One knob against the settings without it. `first_repeat` keeps its trials apart from those of other knobs."""

    knob: str
    value: str
    without: Settings
    changed: Settings
    first_repeat: int
    skipped_because: str | None = None


class ComparisonState(Record, frozen=True):
    """What the pairs run so far say. `next_repeat` is null once that is enough."""

    effect: LoaderEffect
    next_repeat: int | None
    next_is_changed: bool = False


def settle_knobs(
    chosen: Settings, parts: LoaderParts, trials: LoaderTrials, room: LoaderRoom
) -> tuple[Settings, tuple[Comparison, ...]]:
    """Prefetching, then pinning, each on top of what the one before it brought; and the settings that come of it."""
    settled, compared = chosen, []
    for first_repeat, make in ((1, _prefetching), (1 + MOST_PAIRS, _pinning)):
        comparison = make(settled, parts, trials, first_repeat)
        refusal = refuse_loader(comparison.changed, parts.batch_bytes, room)
        if comparison.skipped_because is None and refusal is not None:
            comparison = msgspec.structs.replace(comparison, skipped_because=refusal.message)
        compared.append(comparison)
        if read_comparison(comparison, trials).effect.adopted:
            settled = comparison.changed
    return settled, tuple(compared)


def read_comparison(comparison: Comparison, trials: LoaderTrials) -> ComparisonState:
    """The ratio over all complete pairs, and what is still to run."""
    if comparison.skipped_because is not None:
        return ComparisonState(effect=_effect(comparison, skipped_because=comparison.skipped_because), next_repeat=None)
    ratios: list[tuple[float, Interval]] = []
    for repeat in range(comparison.first_repeat, comparison.first_repeat + MOST_PAIRS):
        if len(ratios) == PAIRS and not _open(*_combined(ratios)):
            break
        without, changed = (
            _find(trials.compared, settings, repeat) for settings in (comparison.without, comparison.changed)
        )
        failed = next((record.failure for record in (without, changed) if record and record.failure), None)
        if failed is not None:
            effect = _effect(comparison, skipped_because=f"a trial failed: {failed.message}")
            return ComparisonState(effect=effect, next_repeat=None)
        if without is None or changed is None:
            so_far = _effect(comparison, *(_combined(ratios) if ratios else ()))
            effect = msgspec.structs.replace(so_far, adopted=False)
            return ComparisonState(effect=effect, next_repeat=repeat, next_is_changed=without is not None)
        ratios.append(_speedup(without, changed))
    return ComparisonState(effect=_effect(comparison, *_combined(ratios)), next_repeat=None)


def _prefetching(settled: Settings, parts: LoaderParts, trials: LoaderTrials, first_repeat: int) -> Comparison:
    return Comparison(
        knob="prefetch_factor",
        value=str(_LARGER_PREFETCH),
        without=settled,
        changed=msgspec.structs.replace(settled, prefetch_factor=_LARGER_PREFETCH),
        first_repeat=first_repeat,
        skipped_because=_prefetching_cannot_matter(settled, parts, trials),
    )


def _pinning(settled: Settings, parts: LoaderParts, trials: LoaderTrials, first_repeat: int) -> Comparison:
    return Comparison(
        knob="pin_memory",
        value="true",
        without=settled,
        changed=msgspec.structs.replace(settled, pin_memory=True),
        first_repeat=first_repeat,
        skipped_because=_pinning_cannot_matter(settled, parts, trials.with_model),
    )


def _prefetching_cannot_matter(settled: Settings, parts: LoaderParts, trials: LoaderTrials) -> str | None:
    """Prefetching further helps over batches that take longer than others, and nothing else."""
    if settled.num_workers == 0:
        return "there are no workers to be ahead"
    if settled.prefetch_factor >= _LARGER_PREFETCH:
        return f"it is {settled.prefetch_factor} already"
    alone = not trials.with_model
    further = msgspec.structs.replace(settled, prefetch_factor=_LARGER_PREFETCH)
    now, then = (parts.forecast(settings, alone=alone).step_seconds for settings in (settled, further))
    if now >= WORTH_HAVING * then or _waits_for_stragglers(settled, parts, trials):
        return None
    return "no batch is waited for longer than for others"


def _waits_for_stragglers(settled: Settings, parts: LoaderParts, trials: LoaderTrials) -> bool:
    """Whether training waited although the loader is fast enough on average."""
    fed = [measured_seconds(record) for record in trials.goal if record.spec.settings == settled]
    if not trials.with_model or not fed or not parts.asynchronous or parts.step_seconds is None:
        return False
    stalled = min(fed) > _WAITS * (parts.step_seconds + parts.transfer_seconds)
    return stalled and parts.forecast(settled, alone=True).step_seconds < _FAST_ENOUGH * min(fed)


def _pinning_cannot_matter(settled: Settings, parts: LoaderParts, with_model: bool) -> str | None:
    if not parts.asynchronous:
        return "only copies to a GPU are faster from pinned memory"
    if not with_model:
        return "without a model nothing is copied to the GPU"
    if settled.pin_memory:
        return "it is on already"
    share = parts.transfer_seconds / parts.step_seconds if parts.step_seconds else 0.0
    return None if share >= _NOTABLE_TRANSFER else f"moving a batch takes {format_percent(share)} of a step"


def _find(records: Sequence[TrialRecord], settings: Settings, repeat: int) -> TrialRecord | None:
    return next((each for each in records if each.spec.settings == settings and each.spec.repeat == repeat), None)


def _speedup(without: TrialRecord, changed: TrialRecord) -> tuple[float, Interval]:
    """How many times as fast the changed settings are."""
    a, b = sustained(measurement_of(without)), sustained(measurement_of(changed))
    return ratio_interval(b.step_seconds, b.ci95, a.step_seconds, a.ci95)


def _combined(ratios: Sequence[tuple[float, Interval]]) -> tuple[float, Interval]:
    return combine_processes([ratio for ratio, _ in ratios], [interval for _, interval in ratios])


def _open(ratio: float, interval: Interval) -> bool:
    return ratio >= WORTH_HAVING and interval[0] <= 1


def _effect(
    comparison: Comparison,
    ratio: float | None = None,
    interval: Interval | None = None,
    skipped_because: str | None = None,
) -> LoaderEffect:
    shown = ratio is not None and interval is not None and ratio >= WORTH_HAVING and interval[0] > 1
    return LoaderEffect(
        knob=comparison.knob,
        value=comparison.value,
        ratio=ratio,
        ci95=interval,
        adopted=shown,
        skipped_because=skipped_because,
    )
