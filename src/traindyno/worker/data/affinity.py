"""Keep a trial and its loader workers on some of the CPUs."""

import os

import torch

from traindyno.core.errors import UsageError


def restrict_to_cpus(count: int) -> None:
    """Run on the first `count` of the CPUs allowed so far; threads and processes started from now on inherit it.

    torch gets as many threads, but never more than it had.
    """
    allowed = sorted(os.sched_getaffinity(0))
    if not 1 <= count <= len(allowed):
        raise UsageError(
            f"{count} CPUs were asked for, and {len(allowed)} may be used", f"give --cpus 1 to {len(allowed)}"
        )
    os.sched_setaffinity(0, allowed[:count])
    torch.set_num_threads(min(count, torch.get_num_threads()))
