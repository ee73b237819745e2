"""The ways to train that a study of scaling compares, and which of them a trial measured."""

from traindyno.core.answers.scaling import ScaleRow
from traindyno.core.base import Record
from traindyno.core.records import TrialSpec
from traindyno.core.scaling import Group


class Point(Record, frozen=True, order=True):
    """One way to train: so many devices on so many nodes, with `batch_per_device` each."""

    devices: int
    batch_per_device: int
    bucket_mib: float
    accumulation_steps: int
    nodes: int = 1

    @property
    def batch_size(self) -> int:
        return self.devices * self.batch_per_device

    @property
    def part(self) -> float:
        """What a device computes at a time, which is what its memory must hold."""
        return self.batch_per_device / self.accumulation_steps


def point_of(spec: TrialSpec) -> Point:
    """Which way a trial measures."""
    group = spec.group or Group(devices=1)
    return Point(
        devices=group.devices,
        batch_per_device=spec.settings.batch_size // group.devices,
        bucket_mib=group.bucket_mib,
        accumulation_steps=spec.settings.accumulation_steps,
        nodes=group.nodes,
    )


def point_of_row(row: ScaleRow) -> Point:
    """Which way a row of the answer is about."""
    return Point(row.devices, row.batch_per_device, row.bucket_mib, row.accumulation_steps, row.nodes)
