"""Jobs for groups of processes: what one of the ranks does wrong, or slowly."""

import os
import signal
import time

import torch
import torch.distributed as distributed
from torch import nn
from torch.utils.data import Dataset

from traindyno import Workload

DELAY_SECONDS = 0.08
LATER = 30


class Acting(nn.Module):
    """A small model; on one rank, its forward pass does something first, from a certain step on."""

    def __init__(self, act, rank=1, after=0):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 2))
        self.act = act if int(os.environ["RANK"]) == rank else (lambda: None)
        self.left = after

    def forward(self, x):
        self.left -= 1
        if self.left < 0:
            self.act()
        return self.layers(x)


def _job(act, after=LATER, **more):
    return Workload(model=Acting(act, after=after), example_input=torch.randn(256), **more)


def healthy():
    return _job(lambda: None)


def slow_rank():
    return _job(lambda: time.sleep(DELAY_SECONDS), after=0)


def _averaged_late(_state, bucket):
    time.sleep(DELAY_SECONDS)
    sent = distributed.all_reduce(bucket.buffer(), async_op=True).get_future()
    return sent.then(lambda future: future.value()[0] / distributed.get_world_size())


def slow_communication():
    return _job(lambda: None, communication_hook=_averaged_late)


class SlowItems(Dataset):
    """Items that one rank reads slowly."""

    def __len__(self):
        return 64

    def __getitem__(self, index):
        if os.environ["RANK"] == "1":
            time.sleep(DELAY_SECONDS / 8)
        return torch.full((256,), float(index)), index % 2


def slow_data():
    return Workload(model=Acting(lambda: None), dataset=SlowItems())


def _averaged_later_still(state, bucket):
    time.sleep(DELAY_SECONDS)
    return _averaged_late(state, bucket)


def slow_data_beside_slower_communication():
    return Workload(model=Acting(lambda: None), dataset=SlowItems(), communication_hook=_averaged_later_still)


def raises():
    def act():
        raise KeyError("the user's own mistake")

    return _job(act)


def exits():
    return _job(lambda: os._exit(3))


def is_killed():
    return _job(lambda: os.kill(os.getpid(), signal.SIGKILL))


def runs_out_of_device_memory():
    def act():
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    return _job(act)


def runs_out_of_host_memory():
    """Asks for far more than any machine has, in the way torch tensors do."""
    return _job(lambda: torch.empty(2**48))


def hangs():
    return _job(lambda: time.sleep(1000))


def hangs_in_the_first_step():
    return _job(lambda: time.sleep(1000), after=0)


class Unused(nn.Module):
    """A model of which a part does nothing."""

    def __init__(self):
        super().__init__()
        self.used, self.unused = nn.Linear(256, 2), nn.Linear(256, 2)

    def forward(self, x):
        return self.used(x)


def has_unused_parameters():
    return Workload(model=Unused(), example_input=torch.randn(256))


def stops():
    return _job(lambda: os.kill(os.getpid(), signal.SIGSTOP))


def kills_its_launcher():
    return _job(lambda: os.kill(os.getppid(), signal.SIGKILL))
