"""Whether the machine became slower or faster while a study ran."""

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate

from traindyno.analysis.intervals import t_quantile
from traindyno.core.answers.interval import Interval
from traindyno.core.records import TrialRecord

_FEWEST_DEGREES_OF_FREEDOM = 3


def drift_percent(records: Sequence[TrialRecord]) -> tuple[float, Interval] | None:
    """Change of the step time from the study's beginning to its end, in percent; positive means slower.

    Records stand in the order they ran. Each batch size has its own level, and one common slope over the time
    the trials took is fitted to the logarithms of the step times; only sizes measured more than once say
    anything. None when there are too few repeats for an interval.
    """
    rows = _positions_and_logarithms(records)
    sizes = len(rows)
    points = [pair for pairs in rows.values() for pair in _centered(pairs)]
    freedom = len(points) - sizes - 1
    spread = math.fsum(x * x for x, _ in points)
    if freedom < _FEWEST_DEGREES_OF_FREEDOM or spread <= 0:
        return None
    slope = math.fsum(x * y for x, y in points) / spread
    residual = math.fsum((y - slope * x) ** 2 for x, y in points) / freedom
    half = t_quantile(freedom) * math.sqrt(residual / spread)
    return _percent(slope), (_percent(slope - half), _percent(slope + half))


def _positions_and_logarithms(records: Sequence[TrialRecord]) -> dict[int, list[tuple[float, float]]]:
    """For each repeated size: when in the study (0 to 1), and the logarithm of its step time."""
    ends = list(accumulate(record.seconds for record in records))
    rows: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for record, end in zip(records, ends, strict=True):
        if record.measurement is not None and record.spec.kind == "speed":
            middle = (end - record.seconds / 2) / max(ends[-1], 1e-9)
            rows[record.batch_size].append((middle, math.log(record.measurement.step_seconds)))
    return {size: pairs for size, pairs in rows.items() if len(pairs) > 1}


def _centered(pairs: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    mean_x = math.fsum(x for x, _ in pairs) / len(pairs)
    mean_y = math.fsum(y for _, y in pairs) / len(pairs)
    return [(x - mean_x, y - mean_y) for x, y in pairs]


def _percent(logarithm: float) -> float:
    return 100 * math.expm1(min(logarithm, 700.0))
