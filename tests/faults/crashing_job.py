"""A job that goes wrong at one batch size only, in a way that the test chooses."""

import ctypes
import os
import time

import torch
from torch import nn

from traindyno import Workload


class Fragile(nn.Module):
    def __init__(self, act):
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.act = act

    def forward(self, x):
        if len(x) == 8:
            self.act()
        return self.layer(x)


def _workload(act):
    return Workload(model=Fragile(act), example_input=torch.randn(4))


def crash():
    return _workload(lambda: ctypes.string_at(0))


def killed():
    return _workload(lambda: os._exit(9))


def hang():
    return _workload(lambda: time.sleep(1000))


def nonfinite():
    workload = _workload(lambda: None)
    return Workload(
        model=workload.model,
        example_input=torch.randn(4),
        training_step=lambda model, x: model(x).sum() * (float("nan") if len(x) == 8 else 1.0),
    )
