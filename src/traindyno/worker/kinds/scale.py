"""How well do several devices train together? A group of processes, one per device, measured as a whole."""

from traindyno.core.errors import UsageError
from traindyno.core.records import Measurement, TrialSpec
from traindyno.worker.channel import Channel
from traindyno.worker.devices import Device
from traindyno.worker.learning.processes import Processes
from traindyno.worker.ranks.leading import follow, lead
from traindyno.worker.ranks.limits import limits_of


def measure_scale(spec: TrialSpec, _device: Device, channel: Channel) -> Measurement:
    """This process only leads: the ranks that torchrun starts have the devices."""
    check_group(spec)
    first = spec.meeting is None or spec.meeting.node == 0
    return (lead if first else follow)(spec, channel, limits_of(spec))


def check_group(spec: TrialSpec) -> None:
    """Raise for what no group can measure."""
    assert spec.group is not None, "a trial of several devices has a group"
    group = spec.group
    if spec.workload.mode != "train":
        raise UsageError("devices share the gradients of training, and inference has none", "leave --mode at train")
    if group.devices < group.nodes or group.devices % group.nodes:
        raise UsageError(
            f"{group.devices} devices cannot be spread evenly over {group.nodes} nodes",
            f"use a multiple of {group.nodes} devices",
        )
    if group.nodes > 1 and spec.meeting is None:
        raise UsageError(f"{group.nodes} nodes need a place to meet", "use `--listen HOST:PORT` on the first of them")
    Processes(world_size=group.devices).share_of(spec.settings.batch_size)
