"""Steps to the same loss against batch size: S(B) = Smin · (1 + Bn / B)."""

import math
from collections.abc import Mapping

from traindyno.core.answers import StepsFit


def relative_steps(batch_size: int, noise_scale: float) -> float:
    """Steps at a batch, as a multiple of those that an endless batch would need."""
    return 1 + noise_scale / batch_size


def relative_examples(batch_size: int, noise_scale: float) -> float:
    """Examples at a batch, as a multiple of those that single examples would need."""
    return 1 + batch_size / noise_scale if noise_scale > 0 else math.inf


def fit_steps(steps: Mapping[int, float]) -> StepsFit | None:
    """Least squares of relative errors through steps by batch; None without two batches that reached the target.

    `errors` are measured over fitted less one, by batch. Steps that are not finite were a target missed, and left out.
    A noise scale below zero makes no sense: it is set to zero and the steps fitted alone.
    """
    known = {batch: count for batch, count in sorted(steps.items()) if math.isfinite(count) and count > 0}
    if len(known) < 2:
        return None
    least, slope = _weighted_line(known)
    if slope < 0:
        least, slope = _constant(known), 0.0
    if least <= 0:
        return None
    errors = {batch: count / (least + slope / batch) - 1 for batch, count in known.items()}
    return StepsFit(least_steps=least, noise_scale=slope / least, errors=errors)


def _weighted_line(steps: Mapping[int, float]) -> tuple[float, float]:
    """S = a + c / B with weights 1 / S², by the normal equations."""
    rows = [(1 / count, 1 / (batch * count)) for batch, count in steps.items()]
    aa = math.fsum(row[0] ** 2 for row in rows)
    ac = math.fsum(row[0] * row[1] for row in rows)
    cc = math.fsum(row[1] ** 2 for row in rows)
    a, c = math.fsum(row[0] for row in rows), math.fsum(row[1] for row in rows)
    determinant = aa * cc - ac * ac
    return (a * cc - c * ac) / determinant, (c * aa - a * ac) / determinant


def _constant(steps: Mapping[int, float]) -> float:
    return math.fsum(1 / count for count in steps.values()) / math.fsum(1 / count**2 for count in steps.values())
