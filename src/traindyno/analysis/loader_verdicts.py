"""What a loader study says, in words."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from traindyno.analysis.intervals import median, ratio_interval
from traindyno.analysis.loader_parts import LoaderParts
from traindyno.analysis.loader_trials import LoaderTrials, measurement_of
from traindyno.core.answers import CpuScaling, LoaderEffect, WorkerPoint
from traindyno.core.base import Record
from traindyno.core.loading import StageCost
from traindyno.core.records import Settings, TrialRecord
from traindyno.core.units import format_percent, format_rate, format_seconds

_FED = 0.97
_LOADER_LIMITS = 0.9
_LOADER_ADDS = 1.03
_NOTABLE_MISS = 0.05
_NOTABLE_GAIN = 1.05
_STRAGGLER = 1.5
_UNEVEN = 2.0


class LoaderFacts(Record, frozen=True):
    """What the sentences are made from. `share_of_resident` is null without a model."""

    settings: Settings
    rate: float
    share_of_resident: float | None
    stages: tuple[StageCost, ...]
    points: tuple[WorkerPoint, ...]
    scaling: tuple[CpuScaling, ...]
    effects: tuple[LoaderEffect, ...]
    parts: LoaderParts
    trials: LoaderTrials


def loader_verdicts(facts: LoaderFacts) -> tuple[str, ...]:
    """Everything worth saying, the most important first."""
    return (
        enough(facts),
        *more_cpus(facts),
        *stragglers(facts),
        *keeping_workers(facts),
        *filling(facts.trials),
        *one_process(facts),
        *missed_predictions(facts.points),
        *failed_counts(facts.trials.searched),
    )


def enough(facts: LoaderFacts) -> str:
    """Whether the workers feed the model, and what limits them if not."""
    workers, share = workers_words(facts.settings.num_workers), facts.share_of_resident
    load, feed = ("load", "feed") if facts.settings.num_workers > 1 else ("loads", "feeds")
    if share is None:
        return f"{capital(workers)} {load} {format_rate(facts.rate)} examples/s{_mostly(facts.stages)}."
    told = format_percent(share, 0)
    fed = f"{workers} {feed} {told} of what the model can take"
    if share > 1 and told != format_percent(1.0, 0):
        fed = f"{workers} {feed} all that the model can take, at {told} of the rate measured with resident data"
    if share >= _FED:
        return f"{capital(fed)}; more would not help."
    if _loader_limits(facts):
        return f"The loader is the limit: {fed}{_mostly(facts.stages)}."
    if facts.parts.asynchronous:
        return f"{capital(fed)}; faster loading would not help, copying and handing over take the rest."
    return f"{capital(fed)}: loading and the step share the same CPUs."


def more_cpus(facts: LoaderFacts) -> Iterator[str]:
    """What doubling or otherwise adding CPUs gave the loader, and whether training could use it."""
    for fewer, more in pairwise(facts.scaling):
        ratio, interval = ratio_interval(fewer.examples_per_second, fewer.ci95, more.examples_per_second, more.ci95)
        step = f"{fewer.cpus} → {more.cpus}"
        if ratio >= _NOTABLE_GAIN and interval[0] > 1:
            yield f"More CPUs load faster: {step} gives {ratio:.2f}×, each at the worker count predicted best."
        else:
            yield f"More CPUs do not load faster: {step} gives {ratio:.2f}×, each at the worker count predicted best."
    limited = facts.share_of_resident is None or (facts.share_of_resident < _FED and _loader_limits(facts))
    if facts.scaling and not limited and facts.parts.asynchronous:
        yield "Training would not gain from more CPUs: the loader is not the limit."
    elif limited and _still_rises(facts.scaling):
        yield "The loader still gains at the most CPUs tried: more than these should help too."


def stragglers(facts: LoaderFacts) -> Iterator[str]:
    """Batches that took much longer than a worker usually needs for one."""
    record = _with_intervals(facts)
    if record is None:
        longest = max(facts.parts.load_pattern)
        if longest >= _UNEVEN:
            yield f"Batches differ: the longest took {longest:.1f} times the mean in one process."
        return
    found = measurement_of(record)
    assert found.loading is not None
    assert found.loading.intervals is not None
    per_batch = median([block.seconds / block.steps for block in found.blocks])
    seen, usual = found.loading.intervals, max(1, record.spec.settings.num_workers) * per_batch
    if seen.longest > _STRAGGLER * usual:
        yield (
            f"Stragglers: the longest wait for a batch was {format_seconds(seen.longest)}, where a worker usually "
            f"takes {format_seconds(usual)} (median wait {format_seconds(seen.median)}, 95 % within "
            f"{format_seconds(seen.p95)})."
        )


def keeping_workers(facts: LoaderFacts) -> Iterator[str]:
    for effect in facts.effects:
        if effect.knob == "persistent_workers" and effect.adopted and effect.ratio is not None:
            gain = format_percent(1 - 1 / effect.ratio)
            yield f"Keep the workers from epoch to epoch (persistent_workers): starting them takes {gain} of an epoch."


def filling(trials: LoaderTrials) -> Iterator[str]:
    """What a shuffle buffer takes of the start."""
    told = [measurement_of(record).loading for record in (*trials.loads, *trials.goal)]
    seconds = max((loading.fill_seconds or 0.0 for loading in told if loading is not None), default=0.0)
    if seconds > 0:
        yield f"Filling the shuffle buffer takes up to {format_seconds(seconds)} of a start."


def one_process(facts: LoaderFacts) -> Iterator[str]:
    if len(facts.trials.processes_at(facts.settings)) == 1:
        yield "The interval is that of one process: another start may differ from it by more."


def missed_predictions(points: Sequence[WorkerPoint]) -> Iterator[str]:
    """A prediction that misses by more than 5 %, and by more than the measurement leaves open, is a finding."""
    for point in points:
        predicted = point.predicted_examples_per_second
        if not point.end_to_end or predicted is None or not point.steady:
            continue
        miss = predicted / point.examples_per_second - 1
        if abs(miss) > _NOTABLE_MISS and not point.ci95[0] <= predicted <= point.ci95[1]:
            at = "Without workers" if point.num_workers == 0 else f"At {workers_words(point.num_workers)}"
            yield f"{at} the predicted rate was {format_percent(abs(miss), 0)} too {'high' if miss > 0 else 'low'}."


def failed_counts(searched: Sequence[TrialRecord]) -> Iterator[str]:
    for record in searched:
        if record.failure is not None:
            words = workers_words(record.spec.settings.num_workers)
            yield f"{capital(words)} could not be measured: {record.failure.message}."


def workers_words(count: int) -> str:
    if count == 0:
        return "the main process without workers"
    return f"{count} worker{'' if count == 1 else 's'}"


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _mostly(stages: Sequence[StageCost]) -> str:
    """The stage that takes most of a worker's time."""
    total = sum(stage.seconds for stage in stages)
    if not stages or total <= 0:
        return ""
    largest = max(stages, key=lambda stage: stage.seconds)
    return f"; {largest.stage} takes {format_percent(largest.seconds / total, 0)} of a worker's time"


def _loader_limits(facts: LoaderFacts) -> bool:
    """On a GPU: whether training would be faster if loading took no time.

    On a CPU it always would be, so there the loader must take about as long per batch by itself as training does.
    """
    seconds = facts.settings.batch_size / facts.rate
    if facts.parts.asynchronous:
        idle = msgspec.structs.replace(facts.parts, load_seconds=0.0)
        return seconds > _LOADER_ADDS * idle.forecast(facts.settings, alone=False).step_seconds
    return facts.parts.forecast(facts.settings, alone=True).step_seconds >= _LOADER_LIMITS * seconds


def _still_rises(scaling: Sequence[CpuScaling]) -> bool:
    if len(scaling) < 2:
        return False
    fewer, more = scaling[-2:]
    return more.examples_per_second >= _NOTABLE_GAIN * fewer.examples_per_second


def _with_intervals(facts: LoaderFacts) -> TrialRecord | None:
    """A trial of the loader alone that tells how its batches came, best at the chosen worker count."""
    told = [
        record
        for record in facts.trials.loads
        if (loading := measurement_of(record).loading) is not None and loading.intervals is not None
    ]
    return min(
        told,
        key=lambda record: abs(record.spec.settings.num_workers - facts.settings.num_workers),
        default=None,
    )
