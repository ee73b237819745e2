"""Groups of devices to compare: rounds over all of them, in fresh processes.

The first round goes from few devices and small batches to many and large ones, so that a bug in the user's code shows
in a cheap trial and memory ends once. Further rounds repeat what ran in random order.
"""

import random
from collections.abc import Iterator, Sequence

import msgspec

from traindyno.analysis.probes import BATCH_NORM_SINGLE_VALUE, LARGER_THAN_DATA, not_applicable
from traindyno.analysis.scaling.points import Point, point_of
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.core.requests import ScaleRequest
from traindyno.core.scaling import Group
from traindyno.core.units import count_of
from traindyno.search.strategy import Proposal

_HARMLESS = (BATCH_NORM_SINGLE_VALUE, LARGER_THAN_DATA)
_MOST_FAILURES_BEFORE_ANY_RUNS = 2

__all__ = ["Point", "ScaleSweep", "points_of"]


class ScaleSweep:
    """The strategy behind `scale`. The template says workload, settings but the batch, feed and budget.

    A point that fails is kept as a failure and not tried again. One that ran out of memory rules out those whose
    devices have as much to hold, on as many devices or more. A count of devices of which the first points fail in
    other ways is given up; the other counts go on.
    """

    def __init__(self, template: TrialSpec, points: Sequence[Point], repeats: int, seed: int) -> None:
        self._template = template
        self._points = _from_cheap_to_dear(points)
        self._repeats = max(1, repeats)
        self._seed = seed

    def ask(self, history: Sequence[TrialRecord]) -> Proposal | None:
        records = [record for record in history if self._concerns(record)]
        if any(_stops_study(record) for record in records):
            return None
        left = self._left(records)
        for repeat in range(self._repeats):
            done = {point_of(record.spec) for record in records if record.spec.repeat == repeat}
            waiting = [point for point in self._round(left, repeat) if point not in done]
            if waiting:
                return self._proposal(waiting[0], repeat, left, records)
        return None

    def _concerns(self, record: TrialRecord) -> bool:
        same = record.spec.kind == self._template.kind and record.spec.workload == self._template.workload
        return same and record.outcome is not Outcome.INTERRUPTED

    def _left(self, records: Sequence[TrialRecord]) -> tuple[Point, ...]:
        failed = {point_of(record.spec) for record in records if not record.ok}
        full = [point_of(record.spec) for record in records if record.outcome.out_of_memory]
        hopeless = set(_hopeless_counts(records))
        return tuple(
            point
            for point in self._points
            if point not in failed
            and point.devices not in hopeless
            and not any(point.devices >= other.devices and point.part >= other.part for other in full)
        )

    def _round(self, left: Sequence[Point], repeat: int) -> list[Point]:
        """The points of one round, in an order that depends on the seed and the round alone."""
        if repeat == 0:
            return list(left)
        return sorted(left, key=lambda point: random.Random(f"{self._seed} {repeat} {point}").random())

    def _proposal(self, point: Point, repeat: int, left: Sequence[Point], records: Sequence[TrialRecord]) -> Proposal:
        devices = count_of(point.devices, "device")
        finished = len({record.spec.key for record in records if point_of(record.spec) not in left})
        return Proposal(
            spec=_at_point(self._template, point, repeat),
            reason=f"{devices} with {point.batch_per_device} each, round {repeat + 1} of {self._repeats}",
            expected_trials=max(len(records) + 1, finished + len(left) * self._repeats),
        )


def points_of(request: ScaleRequest) -> tuple[tuple[Point, ...], tuple[str, ...]]:
    """What a request measures, and sentences on what it asked for and cannot be."""
    left_out: dict[str, None] = {}
    counts = [(devices, nodes) for devices in sorted(set(request.devices)) if (nodes := _nodes(request, devices))]
    for devices in sorted(set(request.devices) - {devices for devices, _ in counts}):
        left_out[f"{devices} devices were left out: they do not spread evenly over {request.nodes} nodes."] = None
    found = [
        Point(devices, batch, bucket, accumulation, nodes)
        for devices, nodes in counts
        for batch in _batches(request, devices, left_out)
        for bucket, accumulation in _variants(request, devices == counts[-1][0])
        if _splits(batch, accumulation, left_out)
    ]
    if counts and counts[-1][0] == 1 and len(request.bucket_mib) > 1:
        left_out["Further sizes of buckets were left out: one device sends no gradients."] = None
    return _from_cheap_to_dear(found), tuple(left_out)


def _from_cheap_to_dear(points: Sequence[Point]) -> tuple[Point, ...]:
    """Each once; of those with the same devices and batch the first stays the first."""
    return tuple(sorted(dict.fromkeys(points), key=lambda point: (point.devices, point.batch_per_device)))


def _nodes(request: ScaleRequest, devices: int) -> int | None:
    """Over how many nodes so many devices spread; fewer than there are nodes stay on the first."""
    if devices < request.nodes:
        return 1
    return request.nodes if devices % request.nodes == 0 else None


def _batches(request: ScaleRequest, devices: int, left_out: dict[str, None]) -> Iterator[int]:
    """What each of so many devices gets; batches in all that they cannot share are left out."""
    yield from request.batches_per_device
    for batch in request.global_batches:
        if batch % devices == 0:
            yield batch // devices
        else:
            shared = f"{devices} devices cannot share it evenly"
            left_out[f"A batch of {batch} in all was left out for {devices} devices: {shared}."] = None


def _variants(request: ScaleRequest, with_most_devices: bool) -> list[tuple[float, int]]:
    """Buckets and accumulations: the first of each everywhere, the others one at a time with the most devices."""
    bucket, accumulation = request.bucket_mib[0], request.accumulations[0]
    if not with_most_devices:
        return [(bucket, accumulation)]
    buckets = request.bucket_mib if max(request.devices) > 1 else ()
    return [*((bucket, each) for each in request.accumulations), *((each, accumulation) for each in buckets)]


def _splits(batch: int, accumulation: int, left_out: dict[str, None]) -> bool:
    if batch % accumulation == 0:
        return True
    parts = f"it does not split into {accumulation} equal parts"
    left_out[f"A batch of {batch} per device was left out with accumulation: {parts}."] = None
    return False


def _at_point(template: TrialSpec, point: Point, repeat: int) -> TrialSpec:
    settings = msgspec.structs.replace(
        template.settings, batch_size=point.batch_size, accumulation_steps=point.accumulation_steps
    )
    group = Group(devices=point.devices, nodes=point.nodes, bucket_mib=point.bucket_mib)
    return msgspec.structs.replace(template, settings=settings, group=group, repeat=repeat)


def _stops_study(record: TrialRecord) -> bool:
    return record.outcome.stops_study and not _is_of_its_batch_alone(record) and not not_applicable(record)


def _hopeless_counts(records: Sequence[TrialRecord]) -> Iterator[int]:
    """Counts of devices that never ran, and failed more than once for reasons that another batch does not mend."""
    counts = {point_of(record.spec).devices for record in records}
    for devices in counts:
        ends = [record for record in records if point_of(record.spec).devices == devices]
        broken = [record for record in ends if not record.ok and not _is_of_its_batch_alone(record)]
        if len(broken) >= _MOST_FAILURES_BEFORE_ANY_RUNS and not any(record.ok for record in ends):
            yield devices


def _is_of_its_batch_alone(record: TrialRecord) -> bool:
    """Whether a failure says nothing about other batches, or about smaller ones."""
    code = record.failure.details.get("code") if record.failure is not None else None
    return record.outcome.out_of_memory or code in _HARMLESS
