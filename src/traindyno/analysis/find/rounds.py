"""The last rounds: ways to train that took turns end to end, each time in a fresh process."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from traindyno.analysis.find.rates import faster_by, rate_of
from traindyno.analysis.find.steadiness import ran_steadily
from traindyno.analysis.find.words import changes_in_words
from traindyno.analysis.sustained import Rate, sustained
from traindyno.core.answers.find import Finalist
from traindyno.core.answers.interval import Interval
from traindyno.core.records import TrialRecord
from traindyno.core.setups import Setup

FIRST_ROUND = 1000
"""Repeats from here on belong to the last rounds."""

FEWEST_ROUNDS = 2
"""One round says nothing about how far processes differ."""

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


def finalists(entries: Sequence[Entry]) -> tuple[Finalist, ...]:
    """What the rounds say of each; the baseline is the first.

    Who failed, or has not run yet, is left out; but rounds in which the baseline did run still count after it failed.
    """
    if not entries or not entries[0].measured:
        return ()
    baseline = entries[0]
    repeated = len(baseline.measured) >= FEWEST_ROUNDS
    found = [finalist(baseline, baseline.setup, baseline.measured, (1.0, (1.0, 1.0)), confirmed=repeated)]
    for entry in entries[1:]:
        gain, common = faster_by(entry.rates, baseline.rates), entry.rates.keys() & baseline.rates.keys()
        if entry.failure is not None or gain is None:
            continue
        slower = _slower_of_two(entry, baseline) if len(common) == 2 and gain[1][0] <= 1.0 else None
        if slower is None:
            found.append(finalist(entry, baseline.setup, entry.measured, gain, confirmed=len(common) >= FEWEST_ROUNDS))
        else:
            number, gain = slower
            found.append(finalist(entry, baseline.setup, [entry.records[number]], gain, confirmed=False))
    return tuple(found)


def _slower_of_two(entry: Entry, baseline: Entry) -> tuple[int, tuple[float, Interval]] | None:
    """The slower of two rounds with its gain, if that is shown within its processes and more than the two differ by.

    The interval of two is thirteen standard errors wide, and may hold 1 where both gained much. That must not say less
    than the slower one of them would alone.
    """
    rounds = {number: faster_by({number: rate}, baseline.rates) for number, rate in entry.rates.items()}
    gains = sorted((gain, number) for number, gain in rounds.items() if gain is not None)
    (slower, number), (faster, _) = gains
    is_clear = slower[1][0] > 1.0 and slower[0] ** 2 > faster[0]
    return (number, slower) if is_clear else None


def in_doubt(entries: Sequence[Entry], found: Finalist) -> str:
    """What a sentence about a gain ends with: nothing where it was confirmed, else why it was not."""
    if found.confirmed:
        return ""
    rounds = next((each.rates.keys() & entries[0].rates.keys() for each in entries[1:] if each.name == found.name), ())
    if len(rounds) < FEWEST_ROUNDS:
        return " It was not confirmed by repeated rounds."
    return " It was not confirmed: its rounds differ, and the slower one is told."


def failures(entries: Sequence[Entry]) -> Iterator[str]:
    """Who failed in the rounds, and how."""
    for entry in entries:
        told = None if entry.failure is None else entry.failure.failure
        if told is not None:
            what = changes_in_words(entry.setup.changes(entries[0].setup)) or BASELINE
            yield f"{what} failed in the last rounds: {told.message}"


def finalist(
    entry: Entry,
    baseline: Setup,
    records: Sequence[TrialRecord],
    gain: tuple[float, Interval],
    *,
    confirmed: bool,
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
        steady=ran_steadily(records, entry.setup),
    )


def peak_bytes(record: TrialRecord) -> int:
    """What a trial took of the device's memory: on a GPU with what the allocator held."""
    assert record.measurement is not None
    memory = record.measurement.memory
    return memory.peak_bytes if memory.peak_reserved_bytes is None else memory.peak_reserved_bytes
