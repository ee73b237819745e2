"""The best that was found before the last rounds, for a search that was cut short."""

import math

import msgspec

from traindyno.analysis.find.findings import Effect, Findings
from traindyno.analysis.find.rates import faster_by
from traindyno.analysis.find.rounds import BASELINE, Entry, finalist
from traindyno.core.answers.find import Finalist
from traindyno.core.errors import NothingMeasuredError
from traindyno.core.records import TrialRecord
from traindyno.core.setups import Setup, step_settings

BEST_SO_FAR = "best so far"
UNCHECKED = "its losses were not compared with the baseline's"


def baseline_alone(findings: Findings) -> Finalist:
    """The baseline as it ran in the beginning."""
    records = _measured(findings, findings.baseline)
    if not records:
        raise NothingMeasuredError("not even the baseline was measured", "give it more time with --time-budget")
    entry = Entry(name=BASELINE, setup=findings.baseline)
    return finalist(entry, findings.baseline, records, (1.0, (1.0, 1.0)), confirmed=False)


def best_single_run(findings: Findings) -> Finalist | None:
    """The fastest at the user's batch that ran end to end once; null if nothing is faster than the baseline.

    What failed in the rounds, did not leave the margin of memory or has other losses is no candidate. Without data to
    load, a pair of steps is a run end to end.
    """
    baseline = findings.rate(findings.baseline)
    failed = {_at_work(entry.setup) for entry in findings.entries if entry.failure is not None}
    rates = {
        setup: rate
        for setup in findings.feeds
        if setup != findings.baseline
        and _at_work(setup) not in failed
        and findings.agrees(setup.settings) is not False
        and findings.fits.get(step_settings(setup.settings)) is not False
        and (rate := findings.rate(setup)) is not None
    }
    if baseline is None:
        return None
    if not rates or not findings.has_data:
        return None if findings.has_data or _at_work(findings.held) in failed else _by_pairs(findings)
    best = max(rates, key=lambda setup: rates[setup].examples_per_second)
    gain = faster_by({0: rates[best]}, {0: baseline})
    assert gain is not None
    return _told(findings, best, _measured(findings, best), gain)


def _by_pairs(findings: Findings) -> Finalist | None:
    """What is held, by the product of what its switches gained in pairs."""
    held, records = findings.held, _measured(findings, findings.baseline)
    if not findings.effects or not records or findings.agrees(held.settings) is False:
        return None
    gain = _product(findings.effects)
    found = _told(findings, held, records, gain)
    low, high = found.ci95
    return msgspec.structs.replace(
        found,
        examples_per_second=gain[0] * found.examples_per_second,
        ci95=(gain[0] * low, gain[0] * high),
        step_seconds=found.step_seconds / gain[0],
    )


def _product(gains: list[Effect]) -> Effect:
    """Of independent ratios: the distances to the ends of their intervals are added in quadrature."""
    ratio = math.prod(gain for gain, _ in gains)
    below = math.hypot(*(math.log(gain / low) if low > 0 else math.inf for gain, (low, _) in gains))
    above = math.hypot(*(math.log(high / gain) for gain, (_, high) in gains))
    return ratio, (ratio * math.exp(-below), ratio * math.exp(min(700.0, above)))


def _told(findings: Findings, setup: Setup, records: list[TrialRecord], gain: Effect) -> Finalist:
    entry = Entry(name=BEST_SO_FAR, setup=setup)
    found = finalist(entry, findings.baseline, records, gain, confirmed=False)
    unchecked = findings.agrees(setup.settings) is None
    return msgspec.structs.replace(found, warnings=(UNCHECKED,)) if unchecked else found


def _measured(findings: Findings, setup: Setup) -> list[TrialRecord]:
    return [record for record in findings.feeds.get(setup, ()) if record.measurement is not None]


def _at_work(setup: Setup) -> Setup:
    """The same way to train as far as it matters while it runs: workers may persist or not."""
    settings = msgspec.structs.replace(setup.settings, persistent_workers=False)
    return Setup(data=setup.data, settings=settings)
