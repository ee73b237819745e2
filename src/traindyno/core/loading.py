"""How examples come to the device: what a trial is fed with, and what loading was seen to cost."""

from typing import Final, Literal

from traindyno.core.base import Record

Decoder = Literal["pil", "torchvision", "simplejpeg", "nvjpeg"]
GPU_DECODER: Final = "nvjpeg"
Supply = Literal["resident", "cached", "loader"]
Depth = Literal["bytes", "pixels", "examples"]
StageName = Literal["fetch", "decode", "augment", "example", "collate"]


class Feed(Record, frozen=True):
    """Where the batches of a trial come from.

    `resident`: one batch that stays on the device. `cached`: finished batches in host memory, moved each step.
    `loader`: the loader itself. `depth` says how far a loader goes: `bytes` reads and does nothing more, `pixels` also
    decodes, `examples` does everything. `cold` empties the page cache of the data first. `cpus` restricts the trial
    to so many CPUs.
    """

    supply: Supply = "loader"
    depth: Depth = "examples"
    cold: bool = False
    cpus: int | None = None


class StageCost(Record, frozen=True):
    """What one stage costs per example in one process: wall seconds (median, with interval) and CPU seconds.

    `example` stands for a whole item of the user's own dataset, whose inside is not known.
    """

    stage: StageName
    seconds: float
    ci95: tuple[float, float]
    cpu_seconds: float


class BatchIntervals(Record, frozen=True):
    """Seconds from one batch to the next, for one who always asks: what stragglers do.

    Where a step is fed, it is what the step waited for its batch. `raw` are the first thousand of them, in order.
    """

    median: float
    p95: float
    longest: float
    samples: int
    raw: tuple[float, ...] = ()


class Loading(Record, frozen=True):
    """What loading cost in one trial. Unknown is null, never zero.

    `start_up_seconds` runs from asking for the first batch to having it; `next_epoch_seconds` is the same at the start
    of a later epoch; `fill_seconds` is the part of it that a shuffle buffer took. `resident_step_seconds` and
    `wait_seconds`, what a step waited for its batch, are means over all steps; `resident_drift` is how many times as
    long the step by itself took after its loader had run as before. `worker_cpu_seconds` is what the workers together
    computed per batch. `cached_share` is the share of the data's pages found in the page cache when the clock
    started; of several cold passes, the largest. `most_workers` is how many workers can share the data, where that is
    limited. `own_batch_size` and `own_workers` are what a loader of the user's own has, whatever the trial had.
    """

    start_up_seconds: float | None = None
    next_epoch_seconds: float | None = None
    fill_seconds: float | None = None
    intervals: BatchIntervals | None = None
    batch_bytes: int | None = None
    stages: tuple[StageCost, ...] = ()
    resident_step_seconds: float | None = None
    resident_ci95: tuple[float, float] | None = None
    resident_drift: float | None = None
    transfer_seconds: float | None = None
    hand_off_seconds: float | None = None
    wait_seconds: float | None = None
    worker_cpu_seconds: float | None = None
    step_cpu_seconds: float | None = None
    bad_examples: int = 0
    bad_names: tuple[str, ...] = ()
    cached_share: float | None = None
    most_workers: int | None = None
    own_batch_size: int | None = None
    own_workers: int | None = None
