"""Training on several devices at once: who takes part in a trial, and what the parts of its step took."""

from typing import Literal

from traindyno.core.base import Record

Backend = Literal["nccl", "gloo"]

USUAL_BUCKET_MIB = 25.0
"""How much of the gradients torch sends at a time, unless it is told otherwise."""


class Group(Record, frozen=True):
    """The processes of one trial, one per device, that train together.

    They are spread evenly over `nodes`. Gradients are sent in buckets of at most `bucket_mib`.
    """

    devices: int
    nodes: int = 1
    bucket_mib: float = USUAL_BUCKET_MIB


class Meeting(Record, frozen=True):
    """Where the processes of a trial find each other: not part of what is measured.

    `captain` is where every rank tells how it fares, `rendezvous` where torchrun's agents meet, under an `id` of this
    trial alone. `node` is this machine's number; node 0 has the captain.
    """

    captain: str
    rendezvous: str
    id: str
    node: int = 0


class RankReading(Record, frozen=True):
    """One process of the group. Without communication a step took it `step_seconds`, of which it waited
    `load_seconds` for its batch; in steps as training does them, with communication, it waited
    `together_load_seconds`. Both are null where data was resident.
    """

    rank: int
    node: str
    device: str
    step_seconds: float
    ci95: tuple[float, float]
    load_seconds: float | None = None
    together_load_seconds: float | None = None
    peak_memory_bytes: int | None = None


class ExchangeReading(Record, frozen=True):
    """An all-reduce of so many bytes with nothing beside it."""

    bytes: int
    seconds: float
    ci95: tuple[float, float]


class Turn(Record, frozen=True):
    """Seconds per step of one block with communication, and of the block beside it without.

    `alone` is what the slowest rank of each step took, on average: nobody can be faster together. What a rank's loader
    brings while it waits for another, it is not charged with. `mean` is what all took on average.
    """

    together: float
    alone: float
    mean: float


class Scaling(Record, frozen=True):
    """What a group's trial found besides the time of its step.

    `exposed_seconds` is by how much communication makes the step longer than its slowest rank without it;
    `exchange_seconds` is the same communication, gradients and buffers, with nothing beside it, null where the user's
    own hook sends the gradients or nothing is sent. `exchanges` are all-reduces of several sizes. Alone, a group of one
    has no communication: its step is the plain one, and `ddp_ratio` tells by how much the wrapper makes it longer.
    """

    devices: int
    nodes: int
    backend: Backend | None
    ranks: tuple[RankReading, ...]
    turns: tuple[Turn, ...]
    alone_seconds: float
    alone_ci95: tuple[float, float]
    exposed_seconds: float
    exposed_ci95: tuple[float, float]
    gradient_bytes: int
    bucket_bytes: tuple[int, ...] = ()
    exchange_seconds: float | None = None
    exchange_ci95: tuple[float, float] | None = None
    exchanges: tuple[ExchangeReading, ...] = ()
    ddp_ratio: float | None = None
    ddp_ratio_ci95: tuple[float, float] | None = None
    threads: int | None = None
