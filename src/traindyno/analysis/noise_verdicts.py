"""What a noise scale and a curve of step times say, in words."""

import math
from collections.abc import Sequence

from traindyno.analysis.batch_times import batch_range, best_batch, is_sound
from traindyno.analysis.curve import failures_besides_memory, out_of_memory_from
from traindyno.analysis.noise_runs import noises_of
from traindyno.analysis.noise_scale import NoiseEstimate
from traindyno.analysis.probes import counts
from traindyno.core.answers import BatchTime, NoiseWindow
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord
from traindyno.core.requests import NoiseScaleRequest


def noise_verdicts(
    request: NoiseScaleRequest,
    noise: NoiseEstimate,
    windows: Sequence[NoiseWindow],
    rows: Sequence[BatchTime],
    history: Sequence[TrialRecord],
) -> tuple[str, ...]:
    """The most important first."""
    if noise.value is None:
        return (_untold(), *_runs(request, history))
    return (
        *_best(rows, history),
        *_own(request.settings.batch_size, rows),
        _meaning(noise.value),
        *_growth(windows),
        *_runs(request, history),
        *_missing(history),
    )


def _untold() -> str:
    return (
        "The gradient cannot be told from its noise by these readings, so there is no noise scale: take more "
        "--readings, --micro-batches or --seeds, or end before the loss stands still, with fewer --epochs."
    )


def _meaning(noise_scale: float) -> str:
    size = figure(noise_scale)
    return (
        f"At batch {size} a step is worth half of one with the exact gradient: training takes twice the fewest steps "
        "and twice the fewest examples there, provided that each batch has a rate of its own."
    )


def _best(rows: Sequence[BatchTime], history: Sequence[TrialRecord]) -> list[str]:
    """Which measured batch is fastest, and why neither smaller nor larger ones are."""
    best, span = best_batch(rows), batch_range(rows)
    if best is None or span is None:
        return []
    among = "" if span[0] == span[1] else f"; from batch {span[0]} to {span[1]} it takes at most 5 % longer"
    sentences = [f"Of the measured batches {best} reaches the same loss soonest{among}."]
    beyond, smaller = [row for row in rows if row.batch_size > span[1]], [r for r in rows if r.batch_size < span[0]]
    larger = [row for row in beyond if is_sound(row) or row.relative_time_ci95[0] > 1]
    if larger:
        row = larger[0]
        sentences.append(
            f"A batch larger than {span[1]} costs more examples than it saves time: at {row.batch_size} it takes "
            f"{row.relative_time:.2f} times as long."
        )
    elif not beyond:
        sentences.append(_end(rows, history))
    sentences += _distrusted(rows, span)
    if not smaller and best == rows[0].batch_size:
        sentences.append(f"No batch smaller than {best} was measured; one may be as good.")
    return sentences


def _distrusted(rows: Sequence[BatchTime], span: tuple[int, int]) -> list[str]:
    """Sizes that may be better than those named, for all that their noisy or unsteady steps tell."""
    sizes = [
        str(row.batch_size)
        for row in rows
        if not is_sound(row)
        and (row.relative_time < 1 or (row.relative_time_ci95[0] < 1 and not span[0] <= row.batch_size <= span[1]))
    ]
    if not sizes:
        return []
    return [
        f"Batch {' and '.join(sizes)} may be faster, but the step there is noisy or not steady: measure again while "
        "the machine is quiet, or with more --repeats."
    ]


def _end(rows: Sequence[BatchTime], history: Sequence[TrialRecord]) -> str:
    largest, examples = rows[-1].batch_size, noises_of(history)[0].training_examples
    if out_of_memory_from(history) is not None:
        return f"Memory is what ends the range at {largest}: whether a larger batch would be as good is not known."
    if 2 * largest > examples:
        return f"The data is what ends the range at {largest}: it has {examples} training examples."
    return f"Larger batches than {largest} were not measured; one may be as good."


def _own(batch_size: int, rows: Sequence[BatchTime]) -> list[str]:
    own = next((row for row in rows if row.batch_size == batch_size), None)
    if own is None or own.relative_time == 1:
        return []
    low, high = own.relative_time_ci95
    if low <= 1:
        return [f"Batch {batch_size}, which was asked about, cannot be told from the best."]
    ends = f"{low:.2f} to {high:.2f}"
    return [f"Batch {batch_size}, which was asked about, takes {own.relative_time:.2f} times as long ({ends})."]


def _growth(windows: Sequence[NoiseWindow]) -> list[str]:
    """Whether it changes over training by more than chance, from the first part to the last that is known."""
    told = [window for window in windows if window.noise_scale is not None and window.ci95 is not None]
    if len(told) < 2:
        return []
    first, last = told[0], told[-1]
    assert first.ci95 is not None
    assert last.ci95 is not None
    scales = f"from {figure(first.noise_scale)} to {figure(last.noise_scale)}"
    if last.ci95[0] > first.ci95[1]:
        return [f"The noise scale grows during training, {scales}: early steps would do with a smaller batch."]
    if last.ci95[1] < first.ci95[0]:
        return [f"The noise scale falls during training, {scales}: early steps would do with a larger batch."]
    return []


def _runs(request: NoiseScaleRequest, history: Sequence[TrialRecord]) -> list[str]:
    failed = [record for record in history if record.spec.kind == "noise" and not record.ok and counts(record)]
    lost = [record for record in failed if record.outcome is not Outcome.INTERRUPTED]
    sentences = []
    if lost:
        sentences.append(f"{len(lost)} of {request.seeds} runs failed and say nothing here.")
    if len(noises_of(history)) == 1:
        sentences.append("One run does not tell how far others would differ: the interval is of that run alone.")
    return sentences


def _missing(history: Sequence[TrialRecord]) -> list[str]:
    return [
        f"Batch {size} could not be timed: {outcome.value.replace('_', ' ')}."
        for size, outcome in sorted(failures_besides_memory(history).items())
    ]


def figure(noise_scale: float | None) -> str:
    """Two digits are more than a noise scale is known to."""
    if noise_scale is None or not math.isfinite(noise_scale):
        return "n/a"
    digits = max(0, 1 - math.floor(math.log10(noise_scale))) if noise_scale > 0 else 0
    return f"{noise_scale:,.{min(digits, 3)}f}"
