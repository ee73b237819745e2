"""Time to the same loss against batch size: steps by the noise scale, times the measured seconds of a step."""

import math
from collections.abc import Sequence

from traindyno.analysis.choice import doubts, soonest, trusted
from traindyno.analysis.curve import marks_of, step_interval
from traindyno.analysis.intervals import ratio_interval
from traindyno.analysis.noise_scale import NoiseEstimate
from traindyno.analysis.steps_model import relative_examples, relative_steps
from traindyno.core.answers import BatchTime, CurvePoint, StepModel
from traindyno.core.answers.interval import Interval

NEAR_BEST = 1.05


def batch_times(curve: Sequence[CurvePoint], noise: NoiseEstimate) -> tuple[BatchTime, ...]:
    """One row for each measured size, beside the fastest of them; none where the noise scale is not known."""
    if noise.value is None or not curve:
        return ()
    scale = noise.value
    best = soonest(curve, lambda point: _cost(point, scale), lambda point: _latest_cost(point, scale), trusted)
    return tuple(_row(point, best, noise, scale) for point in curve)


def best_batch(rows: Sequence[BatchTime], noise_scale: float | None = None) -> int | None:
    """The measured size with the shortest time to the same loss, if need be by another noise scale than the rows'.

    A noisy or unsteady one counts only if even the far end of its time beats all the others.
    """

    def steps(row: BatchTime) -> float:
        return row.relative_steps if noise_scale is None else relative_steps(row.batch_size, noise_scale)

    if not rows:
        return None
    best = soonest(rows, lambda row: steps(row) * row.step_seconds, lambda row: steps(row) * row.ci95[1], is_sound)
    return best.batch_size


def is_sound(row: BatchTime) -> bool:
    """Whether its step was steady, with an interval narrow enough to compare."""
    return not doubts(row.marks)


def batch_range(rows: Sequence[BatchTime]) -> tuple[int, int] | None:
    """From the best down and up as long as measured sizes stay within 5 % of its time."""
    best = best_batch(rows)
    if best is None:
        return None
    rows = sorted(rows, key=lambda row: row.batch_size)
    low = high = next(index for index, row in enumerate(rows) if row.batch_size == best)
    while low > 0 and rows[low - 1].relative_time <= NEAR_BEST:
        low -= 1
    while high + 1 < len(rows) and rows[high + 1].relative_time <= NEAR_BEST:
        high += 1
    return rows[low].batch_size, rows[high].batch_size


def closed_form_batch(model: StepModel, noise_scale: float) -> float:
    """Where (1 + Bn / B) · (alpha + beta · B) is least."""
    return math.sqrt(model.alpha_seconds * noise_scale / model.beta_seconds)


def _row(point: CurvePoint, best: CurvePoint, noise: NoiseEstimate, noise_scale: float) -> BatchTime:
    return BatchTime(
        batch_size=point.batch_size,
        step_seconds=point.step_seconds,
        ci95=step_interval(point),
        relative_steps=relative_steps(point.batch_size, noise_scale),
        relative_examples=relative_examples(point.batch_size, noise_scale),
        relative_time=_cost(point, noise_scale) / _cost(best, noise_scale),
        relative_time_ci95=_interval(point, best, noise, noise_scale),
        marks=marks_of(point),
    )


def _interval(point: CurvePoint, best: CurvePoint, noise: NoiseEstimate, noise_scale: float) -> Interval:
    """What step times and noise scale, which are independent, leave open about the ratio of two times.

    A noise scale without an interval is taken as given.
    """
    if point.batch_size == best.batch_size:
        return 1.0, 1.0
    step, step_ends = ratio_interval(best.step_seconds, step_interval(best), point.step_seconds, step_interval(point))
    sizes = point.batch_size, best.batch_size
    steps = _steps_ratio(*sizes, noise_scale)
    ends = sorted(_steps_ratio(*sizes, end) for end in noise.ci95 or (noise_scale, noise_scale))
    return ratio_interval(1 / step, (1 / step_ends[1], _inverse(step_ends[0])), steps, (ends[0], ends[1]))[1]


def _steps_ratio(batch_size: int, best: int, noise_scale: float) -> float:
    if math.isinf(noise_scale):
        return best / batch_size
    return relative_steps(batch_size, noise_scale) / relative_steps(best, noise_scale)


def _inverse(value: float) -> float:
    return 1 / value if value > 0 else math.inf


def _cost(point: CurvePoint, noise_scale: float) -> float:
    return relative_steps(point.batch_size, noise_scale) * point.step_seconds


def _latest_cost(point: CurvePoint, noise_scale: float) -> float:
    return relative_steps(point.batch_size, noise_scale) * step_interval(point)[1]
