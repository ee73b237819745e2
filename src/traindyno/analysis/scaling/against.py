"""Which way each way is compared with: fewer devices with the same batch each, or with the same batch in all."""

from collections.abc import Sequence

from traindyno.analysis.intervals import ratio_interval
from traindyno.analysis.scaling.ways import Way
from traindyno.core.answers.interval import Interval


def base_devices(ways: Sequence[Way]) -> int:
    """The fewest devices that were measured: one, unless the user left it out."""
    return min(way.point.devices for way in ways)


def weak_base(way: Way, ways: Sequence[Way]) -> Way | None:
    """The way with the fewest devices whose devices do the same work each."""
    return next((o for o in _bases(way, ways) if o.point.batch_per_device == way.point.batch_per_device), None)


def strong_base(way: Way, ways: Sequence[Way]) -> Way | None:
    """The way with the fewest devices that share the same batch."""
    return next((other for other in _bases(way, ways) if other.point.batch_size == way.point.batch_size), None)


def fewer_devices(way: Way, ways: Sequence[Way]) -> Way | None:
    """The way with the next fewer devices, but more than one, whose devices do the same work over as many nodes."""
    alike = [
        other
        for other in ways
        if 1 < other.point.devices < way.point.devices
        and other.point.batch_per_device == way.point.batch_per_device
        and other.point.accumulation_steps == way.point.accumulation_steps
        and other.point.bucket_mib == way.point.bucket_mib
        and other.point.nodes == way.point.nodes
    ]
    return max(alike, key=lambda other: other.point.devices, default=None)


def efficiency(way: Way, base: Way) -> tuple[float, Interval]:
    """Throughput against that of the base as many times as there are more devices."""
    ratio, (low, high) = speedup(way, base)
    times = way.point.devices / base.point.devices
    return ratio / times, (low / times, high / times)


def speedup(way: Way, base: Way) -> tuple[float, Interval]:
    """How many times the examples per second of the base; exactly one for the base itself."""
    if way.point == base.point:
        return 1.0, (1.0, 1.0)
    return ratio_interval(base.examples_per_second, base.rate_ci95, way.examples_per_second, way.rate_ci95)


def _bases(way: Way, ways: Sequence[Way]) -> list[Way]:
    """A single device sends nothing, whatever its buckets are."""
    fewest = base_devices(ways)
    return [
        other
        for other in ways
        if other.point.devices == fewest
        and other.point.accumulation_steps == way.point.accumulation_steps
        and (fewest == 1 or other.point.bucket_mib == way.point.bucket_mib)
    ]
