"""Ways to train that are simpler than what is held and should be nearly as fast.

Where training waits for its data, much of what makes a step faster changes nothing end to end.
"""

from collections.abc import Iterator

import msgspec

from traindyno.analysis.find.findings import Findings
from traindyno.analysis.find.forecast import estimates_of, forecast_seconds, like_but_workers
from traindyno.analysis.find.rounds import Entry
from traindyno.analysis.worker_choice import alike, fewest_workers
from traindyno.core.setups import Setup

NEAR_EQUAL = 0.97
MOST = 2
WORTH_SAVING = 1 / 8
"""Of all CPUs: fewer workers than that are not worth the rounds of another way to train."""
_COSTLY_CHANGES = ("data", "decoder", "compile", "precision", "memory_format", "optimizer_kernel", "cudnn_benchmark")
"""Changes of code or of arithmetic that one would rather do without, the most costly first."""

Simpler = tuple[str, Setup, float | None]
"""A name, a way to train, and what its step should take; null where that is known."""


def near_equals(findings: Findings, may_change_workers: bool) -> list[Entry]:
    """At most two, by what the simulation foretells; without a loader, by what the steps took."""
    held = findings.held
    now = predicted_rate(findings, held)
    if now is None or held == findings.baseline:
        return []
    found = list(_fewer_workers(findings)) if may_change_workers and findings.has_data else []
    found += [*_without_idle_changes(findings, now), *_without_a_change(findings)]
    near: dict[Setup, Entry] = {}
    for name, setup, step_seconds in found:
        rate = predicted_rate(findings, setup, step_seconds)
        if rate is not None and rate >= NEAR_EQUAL * now and setup not in (held, findings.baseline):
            near.setdefault(setup, Entry(name=name, setup=setup, predicted_examples_per_second=rate))
    return list(near.values())[:MOST]


def predicted_rate(findings: Findings, setup: Setup, step_seconds: float | None = None) -> float | None:
    """Examples per second that a way to train should give, where that is known without running it."""
    seconds = forecast_seconds(findings, setup, step_seconds=step_seconds)
    if not findings.has_data:
        seconds = step_seconds or findings.resident_seconds(setup.settings)
    return None if seconds is None else setup.settings.batch_size / seconds


def _fewer_workers(findings: Findings) -> Iterator[Simpler]:
    """The fewest workers that should reach 97 % of what is held, if that saves some of the CPUs."""
    held = findings.held
    workers = held.settings.num_workers
    failed = {other.settings.num_workers for other in like_but_workers(findings, held) if findings.rate(other) is None}
    counts = [count for count in range(fewest_workers(held.settings.decoder), workers + 1) if count not in failed]
    estimates = estimates_of(findings, held, counts) if workers else None
    if not estimates:
        return
    best = estimates[-1].seconds
    fewest = next(each.num_workers for each in estimates if each.seconds * NEAR_EQUAL <= best)
    if not alike(fewest, workers) and workers - fewest >= WORTH_SAVING * findings.usable_cpus:
        stay = held.settings.persistent_workers if fewest else findings.baseline.settings.persistent_workers
        settings = msgspec.structs.replace(held.settings, num_workers=fewest, persistent_workers=stay)
        words = f"with {fewest} worker{'' if fewest == 1 else 's'}"
        yield words, Setup(data=held.data, settings=settings), None


def _without_idle_changes(findings: Findings, now: float) -> Iterator[Simpler]:
    """What is held without all the switches that should together gain next to nothing end to end."""
    simpler, seconds, dropped = findings.held, findings.resident_seconds(findings.held.settings), list[str]()
    changes = findings.held.changes(findings.baseline)
    for name in [name for name in _COSTLY_CHANGES if name in findings.ratios and name in changes]:
        fewer, slower = _without(findings, simpler, name, seconds)
        rate = predicted_rate(findings, fewer, slower)
        if slower is not None and rate is not None and rate >= NEAR_EQUAL * now:
            simpler, seconds = fewer, slower
            dropped.append(name)
    if len(dropped) > 1:
        yield f"without {', '.join(dropped[:-1])} and {dropped[-1]}", simpler, seconds


def _without_a_change(findings: Findings) -> Iterator[Simpler]:
    held, baseline = findings.held, findings.baseline
    changes = held.changes(baseline)
    for name in _COSTLY_CHANGES:
        if name == "data" and name in changes:
            yield f"from {baseline.data}", Setup(data=baseline.data, settings=held.settings), None
        elif name in changes:
            known = findings.resident_seconds(held.settings)
            yield f"without {name}={changes[name]}", *_without(findings, held, name, known)


def _without(findings: Findings, setup: Setup, name: str, step_seconds: float | None) -> tuple[Setup, float | None]:
    """The same without one change, and its step: measured, or reckoned from what the change gained when it came in."""
    value = getattr(findings.baseline.settings, name)
    simpler = Setup(data=setup.data, settings=msgspec.structs.replace(setup.settings, **{name: value}))
    known, gained = findings.resident_seconds(simpler.settings), findings.ratios.get(name)
    if known is not None or step_seconds is None or gained is None:
        return simpler, known
    return simpler, step_seconds * gained
