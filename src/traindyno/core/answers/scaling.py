"""What is concluded about training on several devices."""

from traindyno.core.answers.interval import Interval
from traindyno.core.base import Record
from traindyno.core.records import Mode
from traindyno.core.scaling import Backend


class ScaleRow(Record, frozen=True):
    """One way to train: so many devices, with `batch_per_device` each and `batch_size` together.

    Both ratios are against the fewest devices that were measured (one, unless it was left out) with the same
    accumulation: `efficiency` is of as many times their throughput as there are more devices, with the same batch per
    device (weak scaling), `speedup` of their throughput with the same batch in all (strong scaling). Each is null where
    they were not measured so. Shares are of the step: `communication_share` what communication adds to the slowest
    rank's step, `hidden_share` what of communication goes on beside computing and costs nothing, `waiting_share` what
    ranks wait for the slowest on average, `load_share` what the slowest waits for its batches in training, and
    `load_hidden_share` what it would wait longer without communication, beside which they are loaded.
    `foretold_efficiency` is what was predicted for this row from those with fewer devices. `failure` says why there are
    no numbers.
    """

    devices: int
    nodes: int
    batch_per_device: int
    batch_size: int
    bucket_mib: float
    accumulation_steps: int
    examples_per_second: float | None = None
    ci95: Interval | None = None
    step_seconds: float | None = None
    efficiency: float | None = None
    efficiency_ci95: Interval | None = None
    speedup: float | None = None
    speedup_ci95: Interval | None = None
    communication_share: float | None = None
    communication_share_ci95: Interval | None = None
    hidden_share: float | None = None
    waiting_share: float | None = None
    load_share: float | None = None
    load_hidden_share: float | None = None
    foretold_efficiency: float | None = None
    peak_memory_bytes: int | None = None
    training_seconds: float | None = None
    training_ci95: Interval | None = None
    cost: float | None = None
    learning_rate: float | None = None
    steady: bool = True
    failure: str | None = None


class RankRow(Record, frozen=True):
    """One rank of the row with the most devices: its own step without communication, against the median of all.

    `straggles` where it is slower than the others by more than chance and 5 %; `because` says what it loses time with.
    """

    rank: int
    node: str
    device: str
    step_seconds: float
    ci95: Interval
    load_seconds: float | None
    against_median: float
    straggles: bool = False
    because: str | None = None


class BreakEven(Record, frozen=True):
    """The smallest batch in all at which so many devices are faster than the fewest measured, above all at which they
    are slower; null where they were at no batch.

    `slower_at` is the largest batch at which they were slower, null where they never were; `between` brackets the
    crossing where both were seen. At those `undecided_at`, which are larger than `slower_at`, chance would explain
    either.
    """

    devices: int
    batch_size: int | None
    slower_at: int | None = None
    between: tuple[int, int] | None = None
    undecided_at: tuple[int, ...] = ()

    @property
    def holds_above(self) -> bool:
        """Whether they were faster at every larger batch that was measured, too."""
        return self.batch_size is not None and self.batch_size > max(self.undecided_at, default=0)


class Link(Record, frozen=True):
    """How the devices exchange gradients, from all-reduces of several sizes: time = latency + bytes / bandwidth.

    Both are those of `devices` together. `error` is the largest by which the line misses a reading.
    """

    devices: int
    latency_seconds: float
    bytes_per_second: float
    error: float


class ScalePrediction(Record, frozen=True):
    """What more devices than were measured would do with the same batch each, if their links are like these.

    The interval is from hiding as much more of communication as computing may hide to hiding no more than now, widened
    by what the measured efficiency leaves open.
    """

    devices: int
    batch_per_device: int
    efficiency: float
    efficiency_range: Interval
    examples_per_second: float
    exchange_seconds: float


class ScaleAnswer(Record, frozen=True):
    """`rows` are all ways measured; `ranks` those of the row with the most devices and the largest batch.

    `break_even_batch` is that of the most devices. `ddp_cost` is by how much of the plain step the wrapper for several
    processes makes it longer on one device. `fastest` and `recommended` are positions in `rows`: the most examples per
    second, and the fewest devices within 3 % of it.
    """

    model: str
    mode: Mode
    device: str
    backend: Backend | None
    rows: tuple[ScaleRow, ...]
    ranks: tuple[RankRow, ...]
    break_even: tuple[BreakEven, ...]
    break_even_batch: int | None
    predicted: tuple[ScalePrediction, ...]
    link: Link | None = None
    gradient_bytes: int | None = None
    ddp_cost: float | None = None
    ddp_cost_ci95: Interval | None = None
    fastest: int | None = None
    recommended: int | None = None
    threads_per_device: int | None = None
    advice: tuple[str, ...] = ()
    verdicts: tuple[str, ...] = ()
    seconds: float = 0.0
    simulated: bool = False
