"""What one rank of a run does that learns on several devices: the recipe, on its share of every batch."""

from contextlib import AbstractContextManager

from traindyno.core.records import TrialSpec
from traindyno.worker.devices import Device
from traindyno.worker.kinds.learn import learn
from traindyno.worker.learning.processes import Processes
from traindyno.worker.ranks.crew import Crew, met
from traindyno.worker.ranks.members import RankResult
from traindyno.worker.ranks.reporting import RankChannel


def learn_rank(spec: TrialSpec, processes: Processes, device: Device, channel: RankChannel) -> RankResult:
    """The whole run. All ranks come to the same result, and the first tells it."""

    def join(processes: Processes, device: Device) -> AbstractContextManager[Crew]:
        return met(processes, device, channel, channel.position)

    measurement = learn(spec, device, channel, join, channel.position)
    told = measurement if processes.first else None
    return RankResult(reading=None, memory=measurement.memory, measurement=told, notes=measurement.notes)
