"""Whether trials of one and the same way to train agree.

Chance and instruments make a few percent. Trials that differ twofold ran under other conditions: other work on the
machine, heat, or files that were in memory in one and not in the other.
"""

from collections.abc import Iterable, Sequence

from traindyno.analysis.find.words import changes_in_words
from traindyno.analysis.sustained import sustained
from traindyno.core.records import TrialRecord
from traindyno.core.setups import Setup
from traindyno.core.units import format_rate

APART = 2.0
"""Trials whose rates differ by this factor do not belong together."""

Way = tuple[Setup, bool]
"""A way to train, and whether it was fed by its loader."""


def are_apart(rates: Sequence[float]) -> bool:
    return bool(rates) and max(rates) >= APART * min(rates)


def own_rate(record: TrialRecord) -> float | None:
    """Examples per second of a way to train as a whole; a step that was taken apart, without its instruments."""
    measurement, kind, is_fed = record.measurement, record.spec.kind, record.spec.feed.supply == "loader"
    if measurement is not None and (kind == "speed" or (kind == "feed" and is_fed)):
        return sustained(measurement).examples_per_second
    if measurement is None or measurement.anatomy is None or not is_fed:
        return None
    return measurement.batch_size / measurement.anatomy.plain_step_seconds


def ran_steadily(records: Iterable[TrialRecord], setup: Setup) -> bool:
    """Whether all trials of a way to train became steady, and agree."""
    own = [record for record in records if _setup(record) == setup and own_rate(record) is not None]
    steady = all(record.measurement is not None and record.measurement.steady for record in own)
    return steady and not any(are_apart(rates) for rates in _by_way(own).values())


def disagreements(records: Sequence[TrialRecord]) -> tuple[str, ...]:
    """A sentence for every way to train whose trials do not belong together; the first of all is the baseline's."""
    apart = {way: rates for way, rates in _by_way(records).items() if are_apart(rates)}
    return tuple(_sentence(_setup(records[0]), setup, rates) for (setup, _), rates in apart.items())


def _by_way(records: Iterable[TrialRecord]) -> dict[Way, list[float]]:
    found: dict[Way, list[float]] = {}
    for record in records:
        if (rate := own_rate(record)) is not None:
            found.setdefault((_setup(record), record.spec.kind != "speed"), []).append(rate)
    return found


def _sentence(baseline: Setup, setup: Setup, rates: Sequence[float]) -> str:
    what = changes_in_words(setup.changes(baseline)) or "the baseline"
    ends = f"{format_rate(min(rates))} to {format_rate(max(rates))} examples/s"
    return (
        f"Trials of the same settings disagree {max(rates) / min(rates):.2g}-fold ({what}: {ends}): other work on this "
        "machine, heat, or files that were not yet in memory. What is said of them means little."
    )


def _setup(record: TrialRecord) -> Setup:
    return Setup(data=record.spec.workload.data, settings=record.spec.settings)
