"""What limits a step, by rules on its parts."""

from collections.abc import Mapping

from traindyno.core.answers import PhaseCost, Utilization

DATA, TRANSFER, LAUNCH = "data-bound", "transfer-bound", "launch-bound"
COMPUTE, MEMORY = "compute-bound", "memory-bound"

EXPOSED_FROM = 0.10
"""A stall or a transfer above this share of the step is the limit, whatever the rest of it does."""

HOST_FROM, IDLE_FROM = 0.9, 0.05
"""The host is the limit if it is busy for this share of the step, and the device is idle for that share."""

MOSTLY_IDLE_FROM = 0.5
"""A device that is idle for this share of the step, and not for want of its batch, can only be waiting for its host."""

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

    - `launch-bound`: queueing the step, and copying what it does not copy meanwhile, keeps the host busy for at least
      90 % of the step, and the device is idle for 5 % or more. Beside a stall or a transfer of more than 10 %, only if
      it is idle for longer than that, without the stall. Also, however fast the host was seen to queue, if the device
      is idle for half of the step without the stall.
    - `data-bound`: the device stands still for its batch for more than 10 % of the step, and no less than the transfer
      takes; `transfer-bound`: likewise of moving the batch.
    - `memory-bound`: the step moves at least half the bytes per second of a large copy on this device, and that share
      is 1.5 times its share of a matrix product's arithmetic.
    - `compute-bound`: otherwise.

    On a CPU, which is its own host and moves nothing to itself, it is data or computing.
    """
    load, transfer = (phases[name].share if name in phases else 0.0 for name in ("load", "transfer"))
    if on_cpu:
        return DATA if load > EXPOSED_FROM else COMPUTE
    exposed, idle = max(load, transfer), idle_share or 0.0
    # While it stands still for its batch the device is idle, too; while a batch is moved it is not.
    idle_for_work = idle - load
    host_limits = (host_share or 0.0) + copying_share(phases) >= HOST_FROM and idle >= IDLE_FROM
    if host_limits and (exposed <= EXPOSED_FROM or idle_for_work > exposed):
        return LAUNCH
    if idle_for_work >= MOSTLY_IDLE_FROM:
        return LAUNCH
    if exposed > EXPOSED_FROM:
        return DATA if load >= transfer else TRANSFER
    return MEMORY if _moves_more_than_it_computes(utilization) else COMPUTE


def copying_share(phases: Mapping[str, PhaseCost]) -> float:
    """The share of the step for which the host is held up by a copy: none where it goes on meanwhile."""
    transfer = phases.get("transfer")
    if transfer is None or transfer.seconds <= 0:
        return 0.0
    return transfer.share * min(1.0, transfer.host_seconds / transfer.seconds)


def _moves_more_than_it_computes(utilization: Utilization) -> bool:
    moved, computed = utilization.bytes_share, utilization.flops_share
    if moved is None or computed is None:
        return False
    return moved >= BANDWIDTH_FROM and moved >= BANDWIDTH_OVER_FLOPS * computed
