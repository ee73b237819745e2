"""Step time as fixed cost plus cost per example. For display and sanity, never the selector."""

import math
from collections.abc import Sequence

from traindyno.core.answers import CurvePoint, StepModel


def fit_step_model(curve: Sequence[CurvePoint]) -> StepModel | None:
    """t(b) = alpha + beta × b by least squares of relative errors; None without two sizes or without growth.

    A fixed cost below zero makes no sense: it is set to zero and the slope fitted alone.
    """
    if len({point.batch_size for point in curve}) < 2:
        return None
    alpha, beta = _weighted_line(curve)
    if alpha < 0:
        alpha, beta = 0.0, _weighted_slope(curve)
    if beta <= 0:
        return None
    misses = [abs((alpha + beta * point.batch_size) / point.step_seconds - 1) for point in curve]
    return StepModel(alpha_seconds=alpha, beta_seconds=beta, relative_error=max(misses))


def _weighted_line(curve: Sequence[CurvePoint]) -> tuple[float, float]:
    weights = [1 / point.step_seconds**2 for point in curve]
    total = math.fsum(weights)
    mean_size = math.fsum(w * p.batch_size for w, p in zip(weights, curve, strict=True)) / total
    mean_time = math.fsum(w * p.step_seconds for w, p in zip(weights, curve, strict=True)) / total
    covariance = math.fsum(
        w * (p.batch_size - mean_size) * (p.step_seconds - mean_time) for w, p in zip(weights, curve, strict=True)
    )
    variance = math.fsum(w * (p.batch_size - mean_size) ** 2 for w, p in zip(weights, curve, strict=True))
    beta = covariance / variance
    return mean_time - beta * mean_size, beta


def _weighted_slope(curve: Sequence[CurvePoint]) -> float:
    shares = [point.batch_size / point.step_seconds for point in curve]
    return math.fsum(shares) / math.fsum(share**2 for share in shares)
