"""Jobs that go wrong on a GPU."""

import torch
from torch import nn

from traindyno import Workload


class OnDevice(nn.Module):
    def __init__(self, act):
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.act = act

    def forward(self, x):
        self.act(x)
        return self.layer(x)


def _job(act):
    return Workload(model=OnDevice(act), example_input=torch.randn(4))


def healthy():
    return _job(lambda x: None)


def trips_a_device_assert():
    """An index beyond the table, as a wrong label gives."""
    return _job(lambda x: torch.zeros(3, device=x.device)[torch.full((8,), 99, device=x.device)].sum())


def fills_the_device():
    return _job(lambda x: [torch.empty(1 << 30, dtype=torch.uint8, device=x.device) for _ in range(10_000)])


def needs_most_of_the_device():
    """Takes 97 % of what is free when it starts."""

    def act(x):
        if not hasattr(act, "block"):
            free = torch.cuda.mem_get_info()[0]
            act.block = torch.empty(int(free * 0.97), dtype=torch.uint8, device=x.device)

    return _job(act)
