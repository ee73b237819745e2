"""What the kinds of trial that load examples have in common: opening the data, and telling what was left out."""

import contextlib
import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from traindyno.analysis.intervals import median
from traindyno.core.loading import BatchIntervals
from traindyno.core.records import Budget, TrialSpec
from traindyno.core.units import format_bytes
from traindyno.worker.channel import Channel
from traindyno.worker.data.bad import SkippedExamples
from traindyno.worker.data.loadable import Loadable, loadable
from traindyno.worker.job import open_source

RAW_INTERVALS = 1000
DISK_BYTES_PER_EXAMPLE = 1024


def open_loadable(spec: TrialSpec, channel: Channel) -> Loadable:
    """The data of a trial without its model."""
    channel.phase("data")
    return loadable(open_source(spec.workload, lambda _done, _total: channel.step(0)))


def budget_of(spec: TrialSpec) -> Budget:
    """The trial's own; a loader takes all its time: to end once blocks agree would choose one without late batches."""
    if spec.feed.supply != "loader":
        return spec.budget
    return msgspec.structs.replace(spec.budget, relative_interval=0.0)


def skipping(spec: TrialSpec) -> AbstractContextManager[SkippedExamples | None]:
    """Where bad examples are counted, if they are to be left out."""
    return SkippedExamples() if spec.workload.skip_bad else contextlib.nullcontext()


def bad_of(skipped: SkippedExamples | None) -> dict[str, Any]:
    """The fields of `Loading` for examples that were left out."""
    return {} if skipped is None else {"bad_examples": skipped.count, "bad_names": skipped.names}


def intervals_of(seconds: Sequence[float]) -> BatchIntervals:
    """The usual, the slow and the slowest."""
    ordered = sorted(seconds)
    place = min(len(ordered) - 1, math.ceil(0.95 * len(ordered)) - 1)
    return BatchIntervals(
        median=median(ordered),
        p95=ordered[place],
        longest=ordered[-1],
        samples=len(ordered),
        raw=tuple(seconds[:RAW_INTERVALS]),
    )


def disk_note(spec: TrialSpec, disk_bytes: int | None, batches: int) -> tuple[str, ...]:
    """Data that was meant to be in memory and was read from disk; a few pages of something else do not count."""
    unnoticed = DISK_BYTES_PER_EXAMPLE * spec.settings.batch_size * batches
    if spec.feed.cold or disk_bytes is None or disk_bytes <= unnoticed:
        return ()
    return (f"{format_bytes(disk_bytes)} were read from disk while the clock ran: the data was not all in memory",)
