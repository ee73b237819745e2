"""What limits a step, by rules on its parts."""

from collections.abc import Mapping

from traindyno.core.answers import PhaseCost, Utilization

DATA, TRANSFER, LAUNCH = "data-bound", "transfer-bound", "launch-bound"
COMPUTE, MEMORY = "compute-bound", "memory-bound"

EXPOSED_FROM = 0.10
"""A stall or a transfer above this share of the step is the limit, whatever the rest of it does."""

HOST_FROM, IDLE_FROM = 0.9, 0.05
"""The host is the limit if it needs this share of the step to queue it, and the device is idle for that share."""

BANDWIDTH_FROM, BANDWIDTH_OVER_FLOPS = 0.5, 1.5
"""Memory is the limit from this share of a copy's rate on, if it is so many times the share of arithmetic."""


def bound_of(
    phases: Mapping[str, PhaseCost],
    idle_share: float | None,
    host_share: float | None,
    utilization: Utilization,
    on_cpu: bool,
) -> str:
    """The first of these that holds.

    - `data-bound`: the device stands still for its batch for more than 10 % of the step, and no less than the transfer
      takes; `transfer-bound`: likewise of moving the batch.
    - `launch-bound`: the host needs at least 90 % of the step to queue it, and the device is idle for 5 % or more.
    - `memory-bound`: the step moves at least half the bytes per second of a large copy on this device, and that share
      is 1.5 times its share of a matrix product's arithmetic.
    - `compute-bound`: otherwise.

    On a CPU, which is its own host and moves nothing to itself, it is data or computing.
    """
    load, transfer = (phases[name].share if name in phases else 0.0 for name in ("load", "transfer"))
    if on_cpu:
        return DATA if load > EXPOSED_FROM else COMPUTE
    if max(load, transfer) > EXPOSED_FROM:
        return DATA if load >= transfer else TRANSFER
    if (host_share or 0.0) >= HOST_FROM and (idle_share or 0.0) >= IDLE_FROM:
        return LAUNCH
    return MEMORY if _moves_more_than_it_computes(utilization) else COMPUTE


def _moves_more_than_it_computes(utilization: Utilization) -> bool:
    moved, computed = utilization.bytes_share, utilization.flops_share
    if moved is None or computed is None:
        return False
    return moved >= BANDWIDTH_FROM and moved >= BANDWIDTH_OVER_FLOPS * computed
