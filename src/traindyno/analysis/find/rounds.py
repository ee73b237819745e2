"""The last rounds: ways to train that took turns end to end, each time in a fresh process."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from traindyno.analysis.find.rates import Rate, faster_by, rate_of, sustained
from traindyno.core.answers.find import Finalist
from traindyno.core.answers.interval import Interval
from traindyno.core.records import TrialRecord
from traindyno.core.setups import Setup

FIRST_ROUND = 1000
"""Repeats from here on belong to the last rounds."""

BASELINE = "baseline"


@dataclass
class Entry:
    """A way to train that takes part in the rounds, with its records by round. After a failure it is out."""

    name: str
    setup: Setup
    predicted_examples_per_second: float | None = None
    records: dict[int, TrialRecord] = field(default_factory=dict)

    @property
    def measured(self) -> list[TrialRecord]:
        return [record for record in self.records.values() if record.measurement is not None]

    @property
    def failure(self) -> TrialRecord | None:
        return next((record for record in self.records.values() if record.measurement is None), None)

    @property
    def rates(self) -> dict[int, Rate]:
        told = {number: record.measurement for number, record in self.records.items()}
        return {number: sustained(measurement) for number, measurement in told.items() if measurement is not None}


def speedup_of(entry: Entry, baseline: Entry) -> tuple[float, Interval] | None:
    """How many times as fast as the baseline, by the rounds they have in common."""
    return (1.0, (1.0, 1.0)) if entry.setup == baseline.setup else faster_by(entry.rates, baseline.rates)


def finalists(entries: Sequence[Entry]) -> tuple[Finalist, ...]:
    """What the rounds say of each; the baseline is the first. Who failed, or has not run yet, is left out."""
    baseline = entries[0]
    return tuple(
        finalist(entry, baseline.setup, entry.measured, gain)
        for entry in entries
        if entry.failure is None and entry.measured and (gain := speedup_of(entry, baseline)) is not None
    )


def finalist(
    entry: Entry,
    baseline: Setup,
    records: Sequence[TrialRecord],
    gain: tuple[float, Interval],
    *,
    confirmed: bool = True,
) -> Finalist:
    """A way to train with its rate over these processes and its gain over the baseline."""
    rate, settings = rate_of(records), entry.setup.settings
    return Finalist(
        name=entry.name,
        data=entry.setup.data,
        settings=msgspec.to_builtins(settings),
        changes=entry.setup.changes(baseline),
        batch_size=settings.batch_size,
        examples_per_second=rate.examples_per_second,
        ci95=rate.interval,
        step_seconds=rate.step_seconds,
        speedup=gain[0],
        speedup_ci95=gain[1],
        confirmed=confirmed,
        processes=len(records),
        peak_memory_bytes=max(peak_bytes(record) for record in records),
        predicted_examples_per_second=entry.predicted_examples_per_second,
    )


def peak_bytes(record: TrialRecord) -> int:
    """What a trial took of the device's memory: on a GPU with what the allocator held."""
    assert record.measurement is not None
    memory = record.measurement.memory
    return memory.peak_bytes if memory.peak_reserved_bytes is None else memory.peak_reserved_bytes
