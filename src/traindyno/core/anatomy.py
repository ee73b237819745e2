"""What one step is made of, as one trial saw it."""

from typing import Literal

from traindyno.core.base import Record

PhaseName = Literal["load", "transfer", "forward", "backward", "optimizer", "communication", "other"]


class Phase(Record, frozen=True):
    """Seconds per step of one phase, with interval: on the device's own timeline, or the host's on a CPU.

    `host_seconds` is how long the host was in the phase: waiting for a batch, or queueing work for the device.
    """

    phase: PhaseName
    seconds: float
    ci95: tuple[float, float]
    host_seconds: float


class Transfer(Record, frozen=True):
    """Moving one batch to the device, from memory that is pinned or not."""

    pinned: bool
    seconds: float
    ci95: tuple[float, float]
    bytes: int


class Work(Record, frozen=True):
    """What a step computes and moves, and the most that this device was seen to do. Not countable is null.

    `bytes_per_step` counts what each operation reads and writes once; operations fused by a compiler cannot be counted.
    The ceilings are those of a large matrix product in the step's precision and of a large copy within the device.
    """

    flops_per_step: float | None = None
    bytes_per_step: float | None = None
    flops_per_second_ceiling: float | None = None
    bytes_per_second_ceiling: float | None = None
    uncounted_because: str | None = None


class Anatomy(Record, frozen=True):
    """`plain_step_seconds` is the step without instruments, in turns with the one with them.

    `load` and `other` among the phases are what the device saw; `load_wait_seconds` is what the host waited in `next`.
    The host takes at most `host_step_seconds` to queue one step on a device that has nothing to do: in a step of more
    than about a thousand launches, waiting for room in the queue is in it. `busy_seconds` is how long the device
    computed per step. Both are null on a CPU.
    """

    phases: tuple[Phase, ...]
    plain_step_seconds: float
    plain_ci95: tuple[float, float]
    instrumented_step_seconds: float
    instrument_cost: float
    instrument_cost_ci95: tuple[float, float]
    load_wait_seconds: float
    host_step_seconds: float | None = None
    busy_seconds: float | None = None
    transfers: tuple[Transfer, ...] = ()
    work: Work = Work()
