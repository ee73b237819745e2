"""A job that goes wrong at some batch sizes, at each in another way."""

import ctypes
import os
import time
from pathlib import Path

import torch
from torch import nn

from traindyno import Workload

NONFINITE = 16


def hang():
    """From here on, which is said to whoever shall not wait to find out."""
    Path(__file__).with_name("hangs").touch()
    time.sleep(1000)


ENDINGS = {4: lambda: ctypes.string_at(0), 8: lambda: os._exit(9), 128: hang}


class Fragile(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        ENDINGS.get(len(x), lambda: None)()
        return self.layer(x)


def fragile():
    return Workload(
        model=Fragile(),
        example_input=torch.randn(4),
        training_step=lambda model, x: model(x).sum() * (float("nan") if len(x) == NONFINITE else 1.0),
    )
