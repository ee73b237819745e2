"""From runs at several batch sizes to the table of their accuracy, and what of its differences is more than chance.

What counts is the accuracy at the end of a run: the best on the way is the best of many looks, and flatters whoever
looks more often.
"""

import math
from collections.abc import Sequence

from traindyno.analysis.accuracy_verdicts import accuracy_verdicts
from traindyno.analysis.cautions import remarks
from traindyno.analysis.intervals import t_interval
from traindyno.analysis.noise_scale import NoiseEstimate
from traindyno.analysis.row_comparisons import Sample, compare_rows
from traindyno.analysis.training import never_finite
from traindyno.core.answers import AccuracyAnswer, AccuracyRow, Interval
from traindyno.core.base import Record
from traindyno.core.errors import NothingMeasuredError
from traindyno.core.learning import Learning
from traindyno.core.records import TrialRecord
from traindyno.core.requests import AccuracyRequest

NO_ACCURACY = "this workload has no accuracy: its outputs are no classes"


class SizeRuns(Record, frozen=True):
    """One batch size: its rate, the runs that count, and those that looked for the rate.

    The rate is null as long as nothing has told it.
    """

    batch_size: int
    learning_rate: float | None = None
    counted: tuple[TrialRecord, ...] = ()
    tuning: tuple[TrialRecord, ...] = ()
    rate_at_edge: bool = False


class AccuracyRuns(Record, frozen=True):
    """All sizes in the order of the request, and the noise scale that their rates rest on."""

    sizes: tuple[SizeRuns, ...]
    noise: NoiseEstimate | None = None


def conclude_accuracy(
    request: AccuracyRequest, runs: AccuracyRuns, *, data: str, seconds: float, simulated: bool
) -> AccuracyAnswer:
    """The table, every row against the reference, and what to keep in mind about both. `data` is what to call it."""
    rows = tuple(_row(size, request.seeds) for size in runs.sizes)
    if not any(row.accuracies for row in rows):
        raise NothingMeasuredError("no run came to its end", "see the trials above, or give runs more time")
    samples = {size.batch_size: _sample(size) for size in runs.sizes}
    first = reference_size(request)
    comparisons = compare_rows(samples[first], [sample for size, sample in samples.items() if size != first])
    tuning_seconds = math.fsum(record.seconds for size in runs.sizes for record in size.tuning)
    return AccuracyAnswer(
        model=request.workload.model,
        data=data,
        rule=request.rule,
        equal=request.equal,
        rows=rows,
        comparisons=comparisons,
        reference_batch=request.reference_batch,
        noise_scale=request.noise_scale if runs.noise is None else runs.noise.value,
        emulated_devices=request.recipe.emulated_devices,
        tuning_seconds=tuning_seconds,
        verdicts=(
            *accuracy_verdicts(
                request,
                rows,
                comparisons,
                noise=runs.noise,
                classes=_classes(runs),
                reasons={size.batch_size: _why_missing(size) for size in runs.sizes},
                never_finite={size.batch_size: _never_finite(size) for size in runs.sizes},
                tuning_seconds=tuning_seconds,
            ),
            *remarks(record for size in runs.sizes for record in size.counted),
        ),
        seconds=seconds,
        simulated=simulated,
    )


def reference_size(request: AccuracyRequest) -> int:
    """The row that others are held against: that of the given rate, or the smallest where it is none of the rows."""
    return request.reference_batch if request.reference_batch in request.sizes else min(request.sizes)


def final_accuracy(record: TrialRecord) -> float | None:
    """The accuracy a finished run ended with; null of one that failed or was cut short."""
    learning = learning_of(record)
    if learning is None:
        return None
    if (accuracy := learning.evaluations[-1].accuracy) is None:
        raise NothingMeasuredError(NO_ACCURACY, "compare times to a loss with `traindyno target --metric loss`")
    return accuracy


def learning_of(record: TrialRecord) -> Learning | None:
    return record.measurement.learning if record.ok and record.measurement is not None else None


def _row(size: SizeRuns, seeds: int) -> AccuracyRow:
    accuracies = _accuracies(size.counted)
    learnings = [learning for record in size.counted if (learning := learning_of(record)) is not None]
    # A run that diverged ended early, which says nothing about how long one takes.
    whole = [learning for learning in learnings if not learning.diverged] or learnings
    first = learnings[0] if learnings else None
    return AccuracyRow(
        batch_size=size.batch_size,
        learning_rate=math.nan if size.learning_rate is None else size.learning_rate,
        accuracy_mean=_mean(accuracies),
        accuracy_sd=_spread(accuracies),
        seeds=len(accuracies),
        steps=0 if first is None else first.planned_steps,
        seconds=_mean([learning.seconds for learning in whole]),
        epochs=math.nan if first is None else size.batch_size * first.planned_steps / first.training_examples,
        ci95=_interval(accuracies),
        accuracies=accuracies,
        diverged=sum(learning.diverged for learning in learnings),
        missing=seeds - len(accuracies),
        norm_examples=None if first is None else first.norm_examples,
        tuning_runs=len(size.tuning),
        rate_at_edge=size.rate_at_edge,
    )


def _sample(size: SizeRuns) -> Sample:
    told = (learning.evaluation_examples for record in size.counted if (learning := learning_of(record)) is not None)
    return Sample(label=f"batch {size.batch_size}", values=_accuracies(size.counted), parts=next(told, None))


def _accuracies(records: Sequence[TrialRecord]) -> tuple[float, ...]:
    ended = (final_accuracy(record) for record in records)
    return tuple(accuracy for accuracy in ended if accuracy is not None)


def _never_finite(size: SizeRuns) -> int:
    learnings = (learning_of(record) for record in size.counted)
    return sum(learning is not None and never_finite(learning) for learning in learnings)


def _why_missing(size: SizeRuns) -> str:
    """What ended the runs that are not there; those that nobody started were cut off with the study."""
    ended = [record.outcome for record in (*size.tuning, *size.counted) if learning_of(record) is None]
    words = dict.fromkeys("out of memory" if end.out_of_memory else end.replace("_", " ") for end in ended)
    return ", ".join(words) or "not run"


def _classes(runs: AccuracyRuns) -> int | None:
    learnings = (learning_of(record) for size in runs.sizes for record in size.counted)
    return next((learning.classes for learning in learnings if learning is not None), None)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def _interval(accuracies: Sequence[float]) -> Interval | None:
    """That of the mean, as far as accuracies reach."""
    if len(accuracies) < 2:
        return None
    low, high = t_interval(accuracies)
    return max(0.0, low), min(1.0, high)


def _spread(values: Sequence[float]) -> float | None:
    """The standard deviation between seeds."""
    if len(values) < 2:
        return None
    mean = _mean(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
