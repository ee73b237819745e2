"""What is concluded about the step itself: its anatomy, the switches that change it, and many of them in a row."""

from typing import Any

from traindyno.core.answers.interval import Interval
from traindyno.core.base import Record
from traindyno.core.records import Mode


class PhaseCost(Record, frozen=True):
    """One phase of the step: seconds with interval over processes, and its share of the step with instruments."""

    seconds: float
    ci95: Interval
    share: float
    seconds_per_example: float
    host_seconds: float


class TransferCost(Record, frozen=True):
    pinned: bool
    seconds: float
    ci95: Interval
    seconds_per_example: float
    bytes_per_second: float


class Utilization(Record, frozen=True):
    """Achieved shares of what this device was measured to do; null with a reason where it cannot be counted."""

    flops_per_second: float | None = None
    flops_per_second_ceiling: float | None = None
    flops_share: float | None = None
    bytes_per_second: float | None = None
    bytes_per_second_ceiling: float | None = None
    bytes_share: float | None = None
    unknown_because: str | None = None


class AnatomySize(Record, frozen=True):
    """The step at one batch size. `coverage` and `instrument_cost` are null in answers from before they were told."""

    batch_size: int
    step_seconds: float
    ci95: Interval
    phases: dict[str, PhaseCost]
    transfers: tuple[TransferCost, ...]
    idle_share: float | None
    host_share: float | None
    bound: str
    utilization: Utilization
    examples_per_second: float
    coverage: float | None = None
    instrument_cost: float | None = None


class AnatomyAnswer(Record, frozen=True):
    """`phases` and what follows are those of `batch_size`; `sizes` has every batch size measured.

    `host_wait_seconds` is what the host waited for a batch, `stall_seconds` what the device stood still for it.
    """

    model: str
    mode: Mode
    batch_size: int
    phases: dict[str, PhaseCost]
    step_seconds: float
    ci95: Interval
    coverage: float
    instrument_cost: float
    instrument_cost_ci95: Interval
    bound: str
    utilization: Utilization
    host_wait_seconds: float
    stall_seconds: float
    idle_share: float | None
    host_share: float | None
    sizes: tuple[AnatomySize, ...]
    trace: str | None = None
    verdicts: tuple[str, ...] = ()
    seconds: float = 0.0
    simulated: bool = False


class SwitchEffect(Record, frozen=True):
    """One switch alone against the interleaved baseline. `ratio` above 1 is faster, `memory_ratio` below 1 is less.

    `warm_up_seconds` is what starting takes longer than the baseline's (compiling for the first time), and
    `warm_up_seconds_again` the same once the compiler's results are on disk; `pays_back_after_steps` is from when on
    the whole run is shorter. `loss_agrees` is null where it was not looked at, for the reason in `loss_note`.
    `with_copies` is true where both arms moved a batch to the device in every step: such a switch is no part of the
    answer's `speedup`.
    """

    switch: str
    value: str
    ratio: float | None = None
    ci95: Interval | None = None
    memory_ratio: float | None = None
    loss_agrees: bool | None = None
    loss_difference: float | None = None
    loss_note: str | None = None
    warm_up_seconds: float | None = None
    warm_up_seconds_again: float | None = None
    pays_back_after_steps: int | None = None
    adopted: bool = False
    skipped_because: str | None = None
    failed_because: str | None = None
    with_copies: bool = False


class Combination(Record, frozen=True):
    """One step of the greedy combination: what was tried on top of what was held, and what came of it."""

    tried: str
    settings: dict[str, Any]
    ratio: float
    ci95: Interval
    kept: bool


class SwitchesAnswer(Record, frozen=True):
    """`recommended` are the settings that differ from the baseline's; `speedup` was measured against the baseline.

    `loss_spread` is how far the baseline's own losses lie apart over seeds.
    """

    model: str
    mode: Mode
    batch_size: int
    baseline: dict[str, Any]
    effects: tuple[SwitchEffect, ...]
    combinations: tuple[Combination, ...]
    recommended: dict[str, Any]
    speedup: float
    speedup_ci95: Interval
    memory_ratio: float | None
    baseline_examples_per_second: float
    examples_per_second: float
    loss_spread: float | None = None
    verdicts: tuple[str, ...] = ()
    seconds: float = 0.0
    simulated: bool = False


class Throttle(Record, frozen=True):
    """What held the clocks: the share of the run each reason was seen, and the counters' seconds where there are any.

    `known` is false where the driver does not tell.
    """

    known: bool
    thermal: bool | None = None
    power_cap: bool | None = None
    shares: dict[str, float] = {}  # noqa: RUF012 - msgspec copies it
    seconds: dict[str, float] = {}  # noqa: RUF012 - msgspec copies it


class SoakAnswer(Record, frozen=True):
    """`drift_percent_per_minute` is of throughput after the first epoch or minute; below zero it grew slower.

    `ends_ratio` is the rate of the last fifth of that by the rate of the first, where it changed along no line. Where
    it changed all at once, after `change_seconds` of the run and to `change_ratio` of what it was, the drift is what
    there is besides.
    """

    model: str
    mode: Mode
    batch_size: int
    examples_per_second: float
    drift_percent_per_minute: float | None
    ci95: Interval | None
    throttle: Throttle
    energy_joules_per_example: float | None
    energy_joules_per_epoch: float | None
    cost_per_epoch: float | None
    first_epoch_ratio: float | None
    epoch_pause_seconds: float | None
    epochs: int
    run_seconds: float
    sampling_cost: float | None
    ends_ratio: float | None = None
    change_ratio: float | None = None
    change_seconds: float | None = None
    ranges: dict[str, Interval] = {}  # noqa: RUF012 - msgspec copies it
    verdicts: tuple[str, ...] = ()
    seconds: float = 0.0
    simulated: bool = False
