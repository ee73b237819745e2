"""What more devices would do with the same batch each, from how fewer of them exchange their gradients.

The rest of the step stays as it is. How much of a longer exchange goes on beside computing is not known: at the best
all that is added does, as far as the backward pass is long enough, and at the worst nothing more than now.
"""

from collections.abc import Sequence

from traindyno.analysis.scaling.against import efficiency
from traindyno.analysis.scaling.link import message_seconds, with_devices
from traindyno.analysis.scaling.ways import Way
from traindyno.core.answers.interval import Interval
from traindyno.core.answers.scaling import Link, ScalePrediction
from traindyno.core.base import Record

FACTORS = (2, 4, 8)
NOTABLE_MISS = 0.05
_BACKWARD_SHARE = 2 / 3
"""The backward pass takes no more of a step than this."""


class Forecast(Record, frozen=True):
    """A step with so many devices; `step_range` is from the best to the worst."""

    devices: int
    step_seconds: float
    step_range: Interval
    exchange_seconds: float


def forecast(way: Way, link: Link, devices: int) -> Forecast | None:
    """A step of `devices` devices from that of fewer; null where the exchange by itself is not known."""
    if way.exchange_seconds is None or not way.scalings[0].bucket_bytes:
        return None
    assert link.devices == way.point.devices, "a link is that of its own devices"
    exchange = way.exchange_seconds * _growth(way, link, devices)
    added = exchange - way.exchange_seconds
    hidden = max(0.0, way.exchange_seconds - way.exposed_seconds)
    may_hide = max(hidden, _BACKWARD_SHARE * way.alone_seconds)
    most = way.exposed_seconds + added
    least = min(most, max(way.exposed_seconds, exchange - may_hide))
    likely = way.exposed_seconds * exchange / way.exchange_seconds if way.exchange_seconds > 0 else most
    rest = way.step_seconds - way.exposed_seconds
    return Forecast(
        devices=devices,
        step_seconds=rest + min(most, max(least, likely)),
        step_range=(rest + least, rest + most),
        exchange_seconds=exchange,
    )


def predictions(pairs: Sequence[tuple[Way, Way]], link: Link) -> tuple[ScalePrediction, ...]:
    """Twice, four and eight times as many devices as the first of each pair has, against the second."""
    found = [(way, base, forecast(way, link, factor * way.point.devices)) for way, base in pairs for factor in FACTORS]
    return tuple(_prediction(way, base, told) for way, base, told in found if told is not None)


def foretold_efficiency(way: Way, base: Way | None, fewer: Way | None, link: Link | None) -> float | None:
    """What would have been predicted for a way from one with `fewer` devices, whose link is `link`."""
    if base is None or fewer is None or link is None:
        return None
    told = forecast(fewer, link, way.point.devices)
    return None if told is None else base.step_seconds / told.step_seconds


def _growth(way: Way, link: Link, devices: int) -> float:
    """By how much the exchange of one step's buckets becomes longer in a ring of so many devices."""
    buckets = way.scalings[0].bucket_bytes
    now, then = (sum(message_seconds(each, size) for size in buckets) for each in (link, with_devices(link, devices)))
    return then / now


def _prediction(way: Way, base: Way, told: Forecast) -> ScalePrediction:
    """Its range is also as wide as what was measured leaves open."""
    best, worst = told.step_range
    measured, (low, high) = efficiency(way, base)
    return ScalePrediction(
        devices=told.devices,
        batch_per_device=way.point.batch_per_device,
        efficiency=base.step_seconds / told.step_seconds,
        efficiency_range=(
            base.step_seconds / worst * min(1.0, low / measured),
            base.step_seconds / best * max(1.0, high / measured),
        ),
        examples_per_second=told.devices * way.point.batch_per_device / told.step_seconds,
        exchange_seconds=told.exchange_seconds,
    )
