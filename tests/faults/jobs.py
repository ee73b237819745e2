"""Jobs that go wrong, each in its own way, as a user's file would."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from traindyno import Workload


class Misbehaving(nn.Module):
    """A small model whose forward pass does something first."""

    def __init__(self, act=lambda: None):
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.act = act

    def forward(self, x):
        self.act()
        return self.layer(x)


def _say_so():
    """That it hangs from here on, for whoever shall not wait to find out."""
    Path(__file__).with_name("hangs").touch()


def _job(act):
    return Workload(model=Misbehaving(act), example_input=torch.randn(4))


def healthy():
    return _job(lambda: None)


def segfaults():
    return _job(lambda: ctypes.string_at(0))


def aborts():
    return _job(os.abort)


def exits():
    return _job(lambda: os._exit(3))


def is_killed():
    return _job(lambda: os.kill(os.getpid(), signal.SIGKILL))


def sleeps_in_native_code():
    """Sleeps inside libc, where no Python signal handler runs."""
    return _job(lambda: ctypes.CDLL(None).sleep(1000))


def hangs_in_native_code():
    def act():
        _say_so()
        ctypes.CDLL(None).sleep(1000)

    return _job(act)


def leaves_processes_behind():
    """Starts a process in a session of its own, then crashes."""

    def act():
        subprocess.Popen(["sleep", "1000"], start_new_session=True)
        subprocess.Popen(["sleep", "1000"])
        os._exit(4)

    return _job(act)


def raises():
    def act():
        raise KeyError("the user's own mistake")

    return _job(act)


def runs_out_of_memory():
    """Asks for far more than any limit, in the way torch tensors do."""
    return _job(lambda: torch.empty(2**44))


def grows_slowly():
    """Touches memory bit by bit, through the back door of the C library, until someone notices."""

    def act():
        libc = ctypes.CDLL(None)
        libc.mmap.restype = ctypes.c_void_p
        size = 16 << 20
        for _ in range(10_000):
            shared_anonymous = 0x21
            address = libc.mmap(None, ctypes.c_size_t(size), 3, shared_anonymous, -1, 0)
            ctypes.memset(address, 1, size)
            time.sleep(0.002)

    return _job(act)


def loses_its_loss():
    return Workload(
        model=Misbehaving(), example_input=torch.randn(4), training_step=lambda model, x: model(x).sum() * float("nan")
    )


def floods_the_log():
    def act():
        for _ in range(20_000):
            print("x" * 1000)
        print("the very last line", flush=True)

    return _job(act)


def closes_its_output():
    return _job(sys.stdout.close)


class NeverFlushes:
    """An output that user code puts in place of the real one."""

    def write(self, text):
        return len(text)

    def flush(self):
        _say_so()
        time.sleep(1000)


def never_exits():
    """Delivers its result and then hangs on the way out."""

    def act():
        sys.stdout = NeverFlushes()

    return _job(act)


class EndlessItems(Dataset):
    """Never delivers its second item."""

    def __len__(self):
        return 1000

    def __getitem__(self, index):
        if index:
            _say_so()
        while index:
            pass
        return torch.randn(4), 0


def loops_in_the_loader():
    return Workload(model=Misbehaving(), loader=DataLoader(EndlessItems(), batch_size=2, num_workers=2))


class BrokenItems(EndlessItems):
    def __getitem__(self, index):
        raise OSError(f"cannot identify image file number {index}")


def has_broken_data():
    return Workload(model=Misbehaving(), dataset=BrokenItems())
