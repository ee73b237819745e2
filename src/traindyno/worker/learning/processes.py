"""The processes that learn together, one per device: torchrun starts them, and each finds its place here."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
import torch.distributed as distributed
from torch import nn

from traindyno.core.errors import UsageError
from traindyno.worker.devices import CudaDevice, Device

T = TypeVar("T")
PLACE = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR")


@dataclass(frozen=True)
class Processes:
    """Which of the processes this is. All compute the same steps, each on its own share of every batch."""

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0

    @property
    def alone(self) -> bool:
        return self.world_size == 1

    @property
    def first(self) -> bool:
        """Whether this is the one that writes files."""
        return self.rank == 0

    def share_of(self, batch_size: int) -> int:
        """The examples of a batch that each process computes."""
        if batch_size % self.world_size:
            raise UsageError(
                f"a batch of {batch_size} cannot be shared equally by {self.world_size} processes",
                f"let the batch size be a multiple of {self.world_size}, or start another number of processes",
            )
        return batch_size // self.world_size

    def total(self, values: torch.Tensor) -> torch.Tensor:
        """The sum over all processes, the same in each; the values themselves where there is one process."""
        if self.alone:
            return values
        summed = values.clone()
        distributed.all_reduce(summed)
        return summed

    def gathered(self, value: Any) -> list[Any]:
        """The value of every process, in the order of their ranks."""
        if self.alone:
            return [value]
        values: list[Any] = [None] * self.world_size
        distributed.all_gather_object(values, value)
        return values

    def share_buffers(self, model: nn.Module) -> None:
        """Give every process the running statistics of the first, as each step does before it begins."""
        for buffer in () if self.alone else model.buffers():
            distributed.broadcast(buffer, src=0)

    def from_first(self, value: T) -> T:
        """What the first process has, in all of them."""
        if self.alone:
            return value
        values = [value]
        distributed.broadcast_object_list(values, src=0)
        return values[0]


ALONE = Processes()
Join = Callable[[Processes, Device], AbstractContextManager[object]]


def place_of(environment: Mapping[str, str]) -> Processes:
    """This process's place as torchrun wrote it into the environment; alone where it did not."""
    if any(name not in environment for name in PLACE):
        return ALONE
    rank, world_size, local_rank = (int(environment[name]) for name in PLACE[:3])
    return Processes(rank=rank, world_size=world_size, local_rank=local_rank)


def device_of(processes: Processes, device: Device) -> Device:
    """Each process on a machine has a GPU of its own, whichever one the settings name."""
    if processes.alone or device.torch_device.type != "cuda":
        return device
    return CudaDevice(f"cuda:{processes.local_rank}")


@contextlib.contextmanager
def joined(processes: Processes, device: Device) -> Iterator[None]:
    """The connection to the other processes, for as long as they learn together."""
    if processes.alone:
        yield
        return
    backend = "nccl" if device.torch_device.type == "cuda" else "gloo"
    distributed.init_process_group(backend, rank=processes.rank, world_size=processes.world_size)
    try:
        yield
    finally:
        distributed.destroy_process_group()
