"""What to keep in mind about a table of accuracies, in sentences."""

import math
from collections.abc import Iterator, Mapping, Sequence

from traindyno.analysis.noise_scale import NoiseEstimate
from traindyno.analysis.rate_rules import assumed_optimizer
from traindyno.analysis.row_comparisons import TOO_FEW
from traindyno.analysis.training import NEVER_FINITE
from traindyno.core.answers import AccuracyRow, RowComparison
from traindyno.core.requests import AccuracyRequest
from traindyno.core.units import format_seconds

FEWEST_NORM_EXAMPLES = 16
SATURATED = 0.995
NEAR_CHANCE = 1.5
"""Times the accuracy of guessing."""
RULES = {"gain": "the gain rule", "linear": "the linear rule", "sqrt": "the square-root rule"}
ENOUGH_SEEDS = 5


def accuracy_verdicts(
    request: AccuracyRequest,
    rows: Sequence[AccuracyRow],
    comparisons: Sequence[RowComparison],
    *,
    noise: NoiseEstimate | None,
    classes: int | None,
    reasons: Mapping[int, str],
    never_finite: Mapping[int, int],
    tuning_seconds: float,
) -> tuple[str, ...]:
    """First how rows differ, then what the numbers do not say. By batch size, `reasons` are those of missing runs.

    `never_finite` counts the runs of which no loss was a number, whatever their rate.
    """
    with_numbers = [row for row in rows if row.seeds > never_finite[row.batch_size]]
    return (
        *_compared(comparisons),
        *_fair(request, rows, tuning_seconds),
        *_noise(request, noise),
        *_assumed(request),
        *_edges(with_numbers),
        *_diverged(rows, never_finite),
        *_missing(rows, reasons),
        *_normalised(request, rows),
        *_emulated(request),
        *_lengths(request),
        *_telling(rows, classes, bool(with_numbers)),
    )


def _compared(comparisons: Sequence[RowComparison]) -> list[str]:
    """One sentence each; if none can be told, one for all. Of a row without runs others tell."""
    if comparisons and all(comparison.verdict == TOO_FEW for comparison in comparisons):
        return [f"There are {TOO_FEW} rows apart: give each size at least 2, better {ENOUGH_SEEDS} (--seeds)."]
    return [
        f"{each.second.capitalize()} against {each.first}: {each.verdict}."
        for each in comparisons
        if not math.isnan(each.difference)
    ]


def _fair(request: AccuracyRequest, rows: Sequence[AccuracyRow], tuning_seconds: float) -> list[str]:
    if len(request.sizes) < 2:
        return []
    if request.rule == "none":
        return [
            "All sizes have the same rate, which suits one of them at most: this is no fair comparison. "
            "Only --lr-rule tune is one."
        ]
    if request.rule == "tune":
        runs = sum(row.tuning_runs for row in rows)
        return [
            f"Each size has the best rate found for it, in {runs} runs of {format_seconds(tuning_seconds)} together, "
            "on seeds that are not counted here."
        ]
    return [
        f"Rates follow {RULES[request.rule]}, which may suit one size better than another: a difference is one of "
        "batch and rule together. --lr-rule tune gives each size its own best rate."
    ]


def _noise(request: AccuracyRequest, noise: NoiseEstimate | None) -> list[str]:
    if request.rule != "gain" or noise is None or noise.value is None:
        return []
    ends = "" if noise.ci95 is None else f" ({noise.ci95[0]:,.3g} to {noise.ci95[1]:,.3g})"
    batch, rate = request.reference_batch, request.recipe.learning_rate
    return [f"The gain rule rests on a noise scale of {noise.value:,.3g}{ends}, measured at {rate:g}@{batch}."]


def _assumed(request: AccuracyRequest) -> list[str]:
    by_gain = request.rule == "gain" and request.noise_scale is not None
    return assumed_optimizer(request.workload) if by_gain and others_than_reference(request) else []


def others_than_reference(request: AccuracyRequest) -> list[int]:
    """The sizes whose rate follows from that of another."""
    return [size for size in request.sizes if size != request.reference_batch]


def _edges(rows: Sequence[AccuracyRow]) -> list[str]:
    return [
        f"Batch {row.batch_size}: the best rate, {row.learning_rate:.3g}, is the last one tried on its side: a "
        "better one may lie beyond. Give an --lr that is nearer to it."
        for row in rows
        if row.rate_at_edge
    ]


def _diverged(rows: Sequence[AccuracyRow], never_finite: Mapping[int, int]) -> Iterator[str]:
    for row in rows:
        never = never_finite[row.batch_size]
        counted = "they count with what they ended with."
        if row.diverged > never:
            yield f"Batch {row.batch_size}: {row.diverged - never} of {row.seeds} runs diverged; {counted}"
        if never:
            lost = f"the loss of {never} of {row.seeds} runs was no number from the first step on"
            yield f"Batch {row.batch_size}: {lost}; {counted} {NEVER_FINITE}"


def _missing(rows: Sequence[AccuracyRow], reasons: Mapping[int, str]) -> list[str]:
    return [
        f"Batch {row.batch_size}: {row.missing} of {row.seeds + row.missing} runs "
        f"{'is' if row.missing == 1 else 'are'} missing ({reasons[row.batch_size]})."
        for row in rows
        if row.missing
    ]


def _normalised(request: AccuracyRequest, rows: Sequence[AccuracyRow]) -> list[str]:
    few = [row for row in rows if row.norm_examples is not None and row.norm_examples < FEWEST_NORM_EXAMPLES]
    if not few:
        return []
    seen = ", ".join(f"{row.norm_examples} at batch {row.batch_size}" for row in few)
    emulated = ", emulated" if request.recipe.emulated_devices > 1 else ""
    return [
        f"Batch normalisation sees fewer than {FEWEST_NORM_EXAMPLES} examples at once ({seen}{emulated}), which can "
        f"cost accuracy by itself. {_normalise_over_more(request)}"
    ]


def _normalise_over_more(request: AccuracyRequest) -> str:
    if request.recipe.batch_norm == "ghost":
        return "Raise --ghost-size."
    if request.recipe.emulated_devices > 1:
        return "Devices that normalise together (--batch-norm sync) see the whole batch, as without --emulate-devices."
    return "Read such rows with care, or train a model without it."


def _emulated(request: AccuracyRequest) -> list[str]:
    devices = request.recipe.emulated_devices
    if devices == 1:
        return []
    return [
        f"The {devices} devices are emulated: batch normalisation sees 1/{devices} of the batch at a time, as on each "
        "of them. Times are those of one device."
    ]


def _lengths(request: AccuracyRequest) -> list[str]:
    if len(request.sizes) < 2:
        return []
    times = max(request.sizes) / min(request.sizes)
    small, large = min(request.sizes), max(request.sizes)
    if request.equal == "epochs":
        return [f"Equal epochs: batch {large} sees as many examples as batch {small}, in 1/{times:.3g} of the steps."]
    return [f"Equal steps: batch {large} makes as many as batch {small}, and sees {times:.3g} times the examples."]


def _telling(rows: Sequence[AccuracyRow], classes: int | None, may_learn: bool) -> list[str]:
    means = [row.accuracy_mean for row in rows if row.accuracies]
    if min(means) > SATURATED:
        return [f"All rows are above {SATURATED:.1%}: this data is too easy to tell batch sizes apart."]
    if classes and max(means) < NEAR_CHANCE / classes:
        return [
            f"No row is far above guessing ({1 / classes:.0%}): too little was learnt to tell batch sizes apart."
            + (" Try more epochs or another rate." if may_learn else "")
        ]
    return []
