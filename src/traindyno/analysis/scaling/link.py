"""How devices exchange gradients: a line through all-reduces of several sizes, and what a larger ring makes of it.

A ring of W devices passes a message on 2 (W - 1) times, a W-th of it each time: its latency grows with the number of
hops, and the time for its bytes hardly at all.
"""

from collections.abc import Sequence

from traindyno.analysis.intervals import median
from traindyno.core.answers.scaling import Link
from traindyno.core.scaling import Scaling

_OUTLIER = 0.05
"""The relative miss from which on a reading pulls less at the line."""


def fit_link(scalings: Sequence[Scaling]) -> Link | None:
    """Latency and bandwidth of groups of the same size; null without two sizes, or where bytes cost nothing.

    Misses count relative to their reading, so that small messages tell the latency, and large misses count less than
    their square, so that a size at which the library changes its way does not bend the line.
    """
    import numpy
    from scipy.optimize import least_squares

    readings = sorted(_seconds_by_size(scalings).items())
    if len(readings) < 2:
        return None
    sizes, seconds = (numpy.array(values) for values in zip(*readings, strict=True))
    shares = numpy.stack([seconds[0] / seconds, sizes / sizes[-1] * seconds[-1] / seconds], axis=1)
    found = least_squares(
        lambda factors: shares @ factors - 1,
        x0=[0.5, 0.9],
        jac=lambda factors: shares,
        bounds=(0, numpy.inf),
        loss="soft_l1",
        f_scale=_OUTLIER,
    )
    latency, seconds_per_byte = float(found.x[0] * seconds[0]), float(found.x[1] * seconds[-1] / sizes[-1])
    if seconds_per_byte <= 0:
        return None
    return Link(
        devices=scalings[0].devices,
        latency_seconds=latency,
        bytes_per_second=1 / seconds_per_byte,
        error=float(numpy.abs(shares @ found.x - 1).max()),
    )


def message_seconds(link: Link, size: float) -> float:
    """An all-reduce of so many bytes, by the line."""
    return link.latency_seconds + size / link.bytes_per_second


def with_devices(link: Link, devices: int) -> Link:
    """The line of a ring of so many devices, whose hops are like these."""
    before, after = link.devices, devices
    return Link(
        devices=devices,
        latency_seconds=link.latency_seconds * (after - 1) / (before - 1),
        bytes_per_second=link.bytes_per_second * ((before - 1) / before) / ((after - 1) / after),
        error=link.error,
    )


def _seconds_by_size(scalings: Sequence[Scaling]) -> dict[int, float]:
    """The median over all processes that tell of a size."""
    found: dict[int, list[float]] = {}
    for scaling in scalings:
        for reading in scaling.exchanges:
            if reading.seconds > 0:
                found.setdefault(reading.bytes, []).append(reading.seconds)
    return {size: median(seconds) for size, seconds in found.items()}
