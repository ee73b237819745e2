"""Whether the batch that the noise scale predicts is the one that reaches the target first."""

import math
from collections.abc import Iterator, Sequence

import msgspec

from traindyno.analysis.batch_times import best_batch
from traindyno.analysis.steps_model import fit_steps
from traindyno.core.answers import BatchTime, StepsFit, TargetRow

NEIGHBOUR = 2
"""Batches as far apart as two timed sizes beside each other count as the same."""


def fit_of(rows: Sequence[TargetRow], predicted: Sequence[BatchTime]) -> StepsFit | None:
    """S(B) through the measured steps, and the best batch by it on the same timed steps."""
    fit = fit_steps({row.settings["batch_size"]: row.steps for row in rows})
    if fit is None or not predicted:
        return None
    refitted = best_batch(predicted, fit.noise_scale)
    return msgspec.structs.replace(fit, predicted_batch=best_batch(predicted), refitted_batch=refitted)


def fit_verdicts(
    rows: Sequence[TargetRow], predicted: Sequence[BatchTime], fit: StepsFit | None, noise_scale: float | None
) -> Iterator[str]:
    """Predicted beside measured, and whether the predicted batch stands."""
    best = best_batch(predicted)
    if best is None:
        return
    yield from _beside(rows, predicted, best)
    if fit is None or fit.refitted_batch is None:
        yield "Too few of these batches reached the target to say whether the prediction stands."
        return
    apart = max(fit.refitted_batch / best, best / fit.refitted_batch)
    stands = "stands" if apart <= NEIGHBOUR else "does not stand"
    yield (
        f"The prediction {stands}: it was batch {best} by a noise scale of {noise_scale:.3g}, and refitted to the "
        f"measured steps of {len(fit.errors)} batches it is batch {fit.refitted_batch} by {fit.noise_scale:.3g}."
    )


def _beside(rows: Sequence[TargetRow], predicted: Sequence[BatchTime], best: int) -> Iterator[str]:
    """What each of the others takes beside the predicted best."""
    expected = {each.batch_size: each.relative_time for each in predicted}
    measured = {row.settings["batch_size"]: row.median_seconds for row in rows}
    parts = [
        f"batch {size} {_times(expected[size])} predicted, {_times(measured[size] / measured[best])} measured"
        for size in sorted(measured)
        if size != best and size in expected
    ]
    if parts and math.isfinite(measured.get(best, math.inf)):
        yield f"Time to the target beside batch {best}: {'; '.join(parts)}."


def _times(ratio: float) -> str:
    return f"{ratio:.2f}×" if math.isfinite(ratio) else "never"
