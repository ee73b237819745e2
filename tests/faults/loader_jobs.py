"""Jobs whose data goes wrong inside loader workers, in the middle of an epoch, as a user's file would."""

import ctypes
import os
import resource
import signal
import time
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, get_worker_info

from traindyno import Workload

HEALTHY_ITEMS = 24


class Items(Dataset):
    """Items of zeros; after some of them, a loader worker does something else."""

    def __init__(self, act=None, values=16):
        self.act = act
        self.values = values
        self.given = 0

    def __len__(self):
        return 400

    def __getitem__(self, index):
        self.given += 1
        if self.act is not None and self.given > HEALTHY_ITEMS and get_worker_info() is not None:
            self.act()
        return torch.zeros(self.values), index % 2


def _job(dataset, **options):
    return Workload(model=nn.Linear(dataset.values, 2), loader=DataLoader(dataset, batch_size=2, **options))


def healthy():
    return _job(Items())


def killed():
    return _job(Items(lambda: os.kill(os.getpid(), signal.SIGKILL)))


def segfaults():
    return _job(Items(lambda: ctypes.string_at(0)))


def exits():
    return _job(Items(lambda: os._exit(3)))


def bus_error():
    """What the kernel does to a process that writes beyond the end of shared memory."""
    return _job(Items(lambda: os.kill(os.getpid(), signal.SIGBUS)))


def loops():
    def act():
        Path(__file__).with_name("hangs").touch()
        while True:
            time.sleep(0.01)

    return _job(Items(act))


def raises():
    def act():
        raise KeyError("the label of frame 7 is missing")

    return _job(Items(act))


class FrameError(Exception):
    """torch cannot build it anew from one text."""

    def __init__(self, frame, reason):
        super().__init__(f"frame {frame}: {reason}")


def raises_an_error_of_its_own():
    def act():
        raise FrameError(7, "it has no label")

    return _job(Items(act))


def large_items():
    """Batches of 8 MiB, for a shared memory without room for them."""
    return _job(Items(values=1 << 18))


def many_tensors():
    """Each tensor that a worker hands over takes a descriptor, and few are allowed."""
    few = len(os.listdir("/proc/self/fd")) + 16
    resource.setrlimit(resource.RLIMIT_NOFILE, (few, few))
    return _job(Items(), collate_fn=list)


class HoldsAFile(Items):
    def __init__(self):
        super().__init__()
        self.log = open(os.devnull)  # noqa: SIM115 - kept open: that is the fault


def cannot_be_spawned():
    return _job(HoldsAFile(), num_workers=1, multiprocessing_context="spawn")


def cannot_be_served():
    return _job(Items(), num_workers=1, multiprocessing_context="forkserver", collate_fn=lambda items: items)


def hands_over_a_generator():
    return _job(Items(), collate_fn=lambda items: (item for item in items))


def few_items():
    return _job(FewItems())


class FewItems(Items):
    def __len__(self):
        return 5
