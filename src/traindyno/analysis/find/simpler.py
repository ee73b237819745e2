"""Ways to train that are simpler than what is held and should be as fast, or nearly so.

Where training waits for its data, much of what makes a step faster changes nothing end to end.
"""

from collections.abc import Iterator

import msgspec

from traindyno.analysis.find.findings import Findings, step_settings
from traindyno.analysis.find.forecast import estimates_of, forecast_seconds
from traindyno.analysis.find.rounds import Entry
from traindyno.core.setups import Setup

NEAR_EQUAL = 0.97
MOST = 2
_COSTLY_CHANGES = ("data", "decoder", "compile", "precision", "memory_format", "optimizer_kernel", "cudnn_benchmark")
"""Changes of code or of arithmetic that one would rather do without, the most costly first."""


def near_equals(findings: Findings, may_change_workers: bool) -> list[Entry]:
    """At most two, by what the simulation foretells; without a loader, by what the steps took."""
    held = findings.held
    now = _rate(findings, held)
    if now is None or held == findings.baseline:
        return []
    found = list(_fewer_workers(findings)) if may_change_workers else []
    found += [*_without_idle_changes(findings), *_without_a_change(findings)]
    near = [
        Entry(name=name, setup=setup, predicted_examples_per_second=rate)
        for name, setup in found
        if setup != findings.baseline and (rate := _rate(findings, setup)) is not None and rate >= NEAR_EQUAL * now
    ]
    return near[:MOST]


def predicted_rate(findings: Findings, setup: Setup) -> float | None:
    """Examples per second that a way to train should give, where that is known without running it."""
    return _rate(findings, setup)


def _rate(findings: Findings, setup: Setup) -> float | None:
    seconds = forecast_seconds(findings, setup)
    if seconds is None and not findings.probes:
        seconds = findings.resident_seconds(setup.settings)
    return None if seconds is None else setup.settings.batch_size / seconds


def _fewer_workers(findings: Findings) -> Iterator[tuple[str, Setup]]:
    """The fewest workers that should reach 97 % of what is held."""
    held = findings.held
    workers = held.settings.num_workers
    estimates = estimates_of(findings, held, range(workers + 1)) if workers else None
    if not estimates:
        return
    best = estimates[-1].seconds
    fewest = next(each.num_workers for each in estimates if each.seconds * NEAR_EQUAL <= best)
    if fewest < workers:
        settings = msgspec.structs.replace(held.settings, num_workers=fewest)
        yield f"with {fewest} worker{'' if fewest == 1 else 's'}", Setup(data=held.data, settings=settings)


def _without_idle_changes(findings: Findings) -> Iterator[tuple[str, Setup]]:
    """What is held without all the switches that should together gain next to nothing end to end."""
    simpler, dropped = findings.held, list[str]()
    before = _rate(findings, simpler)
    for name in [name for name in _COSTLY_CHANGES if name in findings.ratios and before is not None]:
        fewer = _without(findings, simpler, name)
        rate = _rate(findings, fewer)
        if rate is not None and before is not None and rate >= NEAR_EQUAL * before:
            simpler = fewer
            dropped.append(name)
    if len(dropped) > 1:
        yield f"without {', '.join(dropped[:-1])} and {dropped[-1]}", simpler


def _without_a_change(findings: Findings) -> Iterator[tuple[str, Setup]]:
    held, baseline = findings.held, findings.baseline
    changes = held.changes(baseline)
    for name in _COSTLY_CHANGES:
        if name == "data" and name in changes:
            yield f"from {baseline.data}", Setup(data=baseline.data, settings=held.settings)
        elif name in changes:
            yield f"without {name}={changes[name]}", _without(findings, held, name)


def _without(findings: Findings, setup: Setup, name: str) -> Setup:
    """The same without one change. What its step takes is reckoned from what the change gained when it came in."""
    value = getattr(findings.baseline.settings, name)
    simpler = Setup(data=setup.data, settings=msgspec.structs.replace(setup.settings, **{name: value}))
    known, gained = findings.resident_seconds(setup.settings), findings.ratios.get(name)
    if known is not None and gained is not None:
        findings.resident.setdefault(step_settings(simpler.settings), known * gained)
    return simpler
