"""Jobs that go wrong at a batch of 8 only, at once (`first_…`) or after some forty steps (`later_…`)."""

import ctypes
import os
import signal
import subprocess
import time
from pathlib import Path

import torch
from torch import nn

from traindyno import Workload

torch.set_num_threads(1)
HELD = []


class Fragile(nn.Module):
    """Ten milliseconds a step, so that forty steps are well within the turns."""

    def __init__(self, act, step):
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.act, self.step, self.steps = act, step, 0

    def forward(self, x):
        self.steps += 1
        time.sleep(0.01)
        if len(x) == 8 and self.steps == self.step:
            return self.layer(x) * (self.act() or 1.0)
        return self.layer(x)


def _raise():
    raise KeyError("the user's own mistake")


def _leave_processes_behind():
    """One that is only forked keeps every descriptor of its parent."""
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(4)


def _take_most_of_the_device():
    """Of what the device has in all, so that it cannot be done twice."""
    total = torch.cuda.mem_get_info()[1]
    HELD.append(torch.empty(int(0.6 * total), dtype=torch.uint8, device="cuda"))


def _kill_the_trial():
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(1000)


def _hang():
    """From here on, which is said to whoever shall not wait to find out."""
    Path(__file__).with_name("hangs").touch()
    ctypes.CDLL(None).sleep(1000)


ACTS = {
    "healthy": lambda: None,
    "raises": _raise,
    "exits": lambda: os._exit(3),
    "exits_with_success": lambda: os._exit(0),
    "segfaults": lambda: ctypes.string_at(0),
    "is_killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "loses_its_loss": lambda: float("nan"),
    "hangs": _hang,
    "leaves_processes_behind": _leave_processes_behind,
    "runs_out_of_memory": lambda: torch.empty(2**44),
    "kills_the_trial": _kill_the_trial,
    "takes_most_of_the_device": _take_most_of_the_device,
}


def _job(act, step):
    return lambda: Workload(model=Fragile(act, step), example_input=torch.randn(4))


for name, act in ACTS.items():
    globals()[f"first_{name}"] = _job(act, 1)
    globals()[f"later_{name}"] = _job(act, 40)
