"""Time to the same loss against batch size: steps by the noise scale, times the measured seconds of a step."""

import math
from collections.abc import Sequence

from traindyno.analysis.curve import step_interval
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
    best = min(curve, key=lambda point: _cost(point, noise.value or 0.0))
    return tuple(_row(point, best, noise, noise.value) for point in curve)


def best_batch(rows: Sequence[BatchTime]) -> int | None:
    """The measured size with the shortest time to the same loss."""
    return min(rows, key=lambda row: row.relative_time).batch_size if rows else None


def batch_range(rows: Sequence[BatchTime]) -> tuple[int, int] | None:
    """From the best down and up as long as measured sizes stay within 5 % of its time."""
    if not rows:
        return None
    rows = sorted(rows, key=lambda row: row.batch_size)
    low = high = min(range(len(rows)), key=lambda index: rows[index].relative_time)
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
