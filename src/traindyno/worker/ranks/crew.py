"""All ranks of a group together: how they meet, wait for each other, and learn what each has read."""

import contextlib
from collections.abc import Iterator, Sequence

import torch
import torch.distributed as distributed

from traindyno.core.scaling import Backend
from traindyno.worker.channel import Channel
from traindyno.worker.devices import Device
from traindyno.worker.learning.processes import Processes
from traindyno.worker.ranks.limits import MEETING
from traindyno.worker.ranks.position import Position


class Crew:
    """The group as one of its ranks sees it."""

    def __init__(self, processes: Processes, device: Device, position: Position) -> None:
        self.processes, self._device, self._position = processes, device, position
        self.backend: Backend = "nccl" if device.torch_device.type == "cuda" else "gloo"

    def wait_for_all(self) -> None:
        """Go on when every rank and its device have come here."""
        self._device.synchronize()
        self._position.mark("barrier")
        numbers = [self._device.torch_device.index] if self.backend == "nccl" else None
        distributed.barrier(device_ids=numbers)
        self._device.synchronize()
        self._position.mark("ready")

    def gather(self, values: Sequence[float]) -> list[list[float]]:
        """The values of every rank, as many of each, in the order of their ranks: the same in all."""
        own = torch.tensor(values, dtype=torch.float64, device=self._device.torch_device)
        parts = [torch.empty_like(own) for _ in range(self.processes.world_size)]
        self._position.mark("gather")
        distributed.all_gather(parts, own)
        self._position.mark("gathered")
        return [part.tolist() for part in parts]

    def agreed(self, decision: bool) -> bool:
        """What the first rank decides."""
        told = torch.tensor([int(decision)], device=self._device.torch_device)
        self._position.mark("decision")
        distributed.broadcast(told, src=0)
        self._position.mark("decided")
        return bool(told.item())


@contextlib.contextmanager
def met(processes: Processes, device: Device, channel: Channel, position: Position) -> Iterator[Crew]:
    """The crew, once every rank has heard every other: a first barrier makes all connections there will be.

    A job of one device may have made a group of its own, which serves as well.
    """
    channel.phase(MEETING)
    crew = Crew(processes, device, position)
    on_gpu = crew.backend == "nccl"
    if not distributed.is_initialized():
        distributed.init_process_group(
            crew.backend,
            rank=processes.rank,
            world_size=processes.world_size,
            device_id=device.torch_device if on_gpu else None,
        )
    crew.wait_for_all()
    yield crew
