"""What a way to train should give end to end, simulated from parts that were measured separately.

The loader's part is known for a supplier (source and decoder), the step's for its settings and batch. Both may come
from different trials, so that ways to train which never ran can be ruled out.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import msgspec

from traindyno.analysis.find.findings import Findings, Supplier
from traindyno.analysis.intervals import median
from traindyno.analysis.loader_fit import read_parts, with_pinning
from traindyno.analysis.loader_parts import LoaderParts
from traindyno.analysis.sustained import sustained
from traindyno.analysis.worker_estimates import Estimate, Known, estimate_counts
from traindyno.core.records import Settings, TrialRecord
from traindyno.core.setups import Setup, step_settings

BOUND_BY_DATA = 1.1
"""Training that would gain this much without waiting has its data searched first."""

FASTER_STEP = 1 / 3
"""How much faster a step may become at best, when it is asked whether a faster step would help at all."""


HEADROOM = 2.0
"""How many times as long as it should loading may take without holding up a step on a GPU: workers that are idle cost
next to nothing there, and a lone one was seen to take 1.5 times as long from one run to the next."""


class EpochEdge(NamedTuple):
    """What an epoch takes longer because its workers begin it with nothing ahead, and what of a loader's start is the
    load of its first batch. The rest of that is starting the workers.
    """

    end_seconds: float = 0.0
    first_batch_seconds: float = 0.0


def supplier_of(setup: Setup) -> Supplier:
    return setup.data, setup.settings.decoder


def parts_of(findings: Findings, setup: Setup, step_seconds: float | None = None) -> LoaderParts | None:
    """The parts of a way to train; null as long as its supplier or its step is not known, or told.

    A probe without the model says nothing of the step and of the way to the device; these are the baseline's then. What
    launching a step takes is known of the probe's step, and taken for the same share of any other. Batches that are
    pinned, and were not when they were probed, take the share of the way's time that an anatomy has seen.
    """
    first, probe = findings.probes.get(supplier_of(findings.baseline)), findings.probes.get(supplier_of(setup))
    step_seconds = step_seconds or findings.resident_seconds(setup.settings)
    if first is None or probe is None or step_seconds is None:
        return None
    base = read_parts((first, *_fed(findings, findings.baseline)), findings.usable_cpus)
    own = read_parts((probe, *_fed(findings, setup), *findings.loads.get(supplier_of(setup), ())), findings.usable_cpus)
    if base is None or own is None:
        return None
    parts, moved = (own, probe) if _with_model(probe) else (_filled_up(own, base), first)
    parts = with_pinning(parts, chain.from_iterable(findings.feeds.values()))
    grown = setup.settings.batch_size / parts.batch_size
    return msgspec.structs.replace(
        parts,
        batch_size=setup.settings.batch_size,
        load_seconds=grown * parts.load_seconds,
        transfer_seconds=grown * parts.transfer_seconds * _moved_in(findings, setup, moved),
        decode_seconds=grown * parts.decode_seconds,
        hand_off_seconds=max(1.0, grown) * parts.hand_off_seconds,
        batch_bytes=None if parts.batch_bytes is None else round(grown * parts.batch_bytes),
        step_seconds=step_seconds,
        launch_seconds=parts.launch_seconds * min(1.0, step_seconds / (parts.step_seconds or step_seconds)),
    )


def forecast_seconds(
    findings: Findings, setup: Setup, faster: float = 1.0, step_seconds: float | None = None
) -> float | None:
    """Seconds per step, with the step at a share of what it takes; null where too little is known."""
    parts = parts_of(findings, setup, step_seconds)
    return None if parts is None else _with_step(parts, faster).forecast(setup.settings, alone=False).step_seconds


def _with_step(parts: LoaderParts, share: float) -> LoaderParts:
    """The same with a step that takes a share of what it takes, and as small a share of the way to the device.

    Where the step is about to become faster, its batches are about to be pinned.
    """
    step = None if parts.step_seconds is None else share * parts.step_seconds
    return msgspec.structs.replace(
        parts,
        step_seconds=step,
        launch_seconds=share * parts.launch_seconds,
        transfer_seconds=share * parts.transfer_seconds,
    )


def best_seconds(findings: Findings, setup: Setup, counts: Sequence[int], faster: float = 1.0) -> float | None:
    """Seconds per step at the best of these worker counts; null where too little is known."""
    parts = parts_of(findings, setup)
    if parts is None or not counts:
        return None
    parts = _with_step(parts, faster)
    tried = (msgspec.structs.replace(setup.settings, num_workers=count) for count in counts)
    return min(parts.forecast(settings, alone=False).step_seconds for settings in tried)


def estimates_of(
    findings: Findings, setup: Setup, counts: Sequence[int], faster: float = 1.0
) -> tuple[Estimate, ...] | None:
    """What each worker count should give with the rest as it is; null where too little is known.

    For a step that takes a share of what it takes, runs with the step as it is say nothing. On a GPU, as long as no run
    says anything, loading counts as slow as it may turn out to be.
    """
    parts = parts_of(findings, setup)
    if parts is None:
        return None
    loads = tuple(record for record in findings.loads.get(supplier_of(setup), ()) if record.measurement is not None)
    fed = tuple(_fed(findings, setup)) if faster == 1.0 else ()
    parts = _with_step(parts, faster)
    if parts.asynchronous and not fed:
        parts = msgspec.structs.replace(parts, load_seconds=HEADROOM * parts.load_seconds)
    known = Known(parts=parts, loads=loads, goal=fed, alone=False)
    return estimate_counts(known, counts, setup.settings)


def waiting_gain(findings: Findings, setup: Setup) -> float:
    """How many times as fast training would be if it never waited for a batch: measured, or else foretold."""
    measured = [record.measurement for record in findings.runs(setup) if record.measurement is not None]
    if measured:
        told = [(sustained(each).step_seconds, each.loading) for each in measured]
        ratios = [
            seconds / loading.resident_step_seconds
            for seconds, loading in told
            if loading is not None and loading.resident_step_seconds
        ]
        return max(1.0, median(ratios)) if ratios else 1.0
    foretold, resident = forecast_seconds(findings, setup), findings.resident_seconds(setup.settings)
    return 1.0 if foretold is None or resident is None else max(1.0, foretold / resident)


def step_gain(findings: Findings, loaders: Mapping[Setup, Sequence[int]]) -> float:
    """How many times as fast training would be if its step took a third; without a loader, three times.

    Each with the best of these sources and decoders, and of their worker counts: what is held now may be the best for
    the step as it is, and hold back a faster one.
    """
    foretold = [
        (best_seconds(findings, setup, counts), best_seconds(findings, setup, counts, FASTER_STEP))
        for setup, counts in loaders.items()
    ]
    known = [(now, then) for now, then in foretold if now is not None and then is not None]
    if not known:
        return 1 / FASTER_STEP
    return _falls_short(findings) * min(now for now, _ in known) / min(then for _, then in known)


def _falls_short(findings: Findings) -> float:
    """How many times as long as foretold what is held takes: loader and step that take equally long hold each other up,
    and a faster step would end that. Training that waits for its data much longer falls short by its loader alone.
    """
    measured, foretold = findings.rate(findings.held), forecast_seconds(findings, findings.held)
    if measured is None or foretold is None or waiting_gain(findings, findings.held) >= BOUND_BY_DATA:
        return 1.0
    return max(1.0, measured.step_seconds / foretold)


def epoch_edge(findings: Findings, setup: Setup, examples: int) -> EpochEdge:
    """What the edge of an epoch of so many examples should cost; nothing is said where nobody knows."""
    parts, batches = parts_of(findings, setup), examples // setup.settings.batch_size
    if parts is None or not batches:
        return EpochEdge()
    return EpochEdge(
        end_seconds=parts.epoch_end_seconds(setup.settings, batches),
        first_batch_seconds=parts.first_batch_seconds(setup.settings),
    )


def preparing_seconds(findings: Findings) -> float | None:
    """What preparing all examples should take, each read and decoded once, on all CPUs; null where nobody knows."""
    probe = findings.probes.get(supplier_of(findings.baseline))
    told = None if probe is None else probe.measurement
    if told is None or told.examples_in_data is None:
        return None
    return told.step_seconds / told.batch_size * told.examples_in_data / max(1.0, findings.usable_cpus)


def like_but_workers(findings: Findings, setup: Setup) -> list[Setup]:
    """What ran end to end and differs from this way to train in the worker count alone."""
    return [
        other
        for other in findings.feeds
        if supplier_of(other) == supplier_of(setup) and _but_workers(other.settings) == _but_workers(setup.settings)
    ]


def _fed(findings: Findings, setup: Setup) -> list[TrialRecord]:
    records = [record for other in like_but_workers(findings, setup) for record in findings.feeds[other]]
    return [record for record in records if record.measurement is not None and record.spec.kind == "feed"]


def _but_workers(settings: Settings) -> tuple[Settings, bool, int]:
    return step_settings(settings), settings.pin_memory, settings.prefetch_factor


def _moved_in(findings: Findings, setup: Setup, probe: TrialRecord) -> float:
    """How many times as long a batch takes to the device as it took in the probe; the same where that is not known."""
    pinned, was_pinned = setup.settings.pin_memory, probe.spec.settings.pin_memory
    if pinned == was_pinned:
        return 1.0
    share = pinned_share(findings)
    return share if pinned else 1 / share


def pinned_share(findings: Findings) -> float:
    """The share of a copy's time that it takes from pinned memory, as an anatomy has seen; 1 where none has."""
    told = [record.measurement.anatomy for record in findings.anatomies.values() if record.measurement is not None]
    for each in (anatomy for anatomy in told if anatomy is not None):
        seconds = {transfer.pinned: transfer.seconds for transfer in each.transfers}
        if seconds.get(True) and seconds.get(False):
            return seconds[True] / seconds[False]
    return 1.0


def _with_model(probe: TrialRecord) -> bool:
    return probe.spec.feed.supply == "resident"


def _filled_up(own: LoaderParts, base: LoaderParts) -> LoaderParts:
    return msgspec.structs.replace(
        own,
        step_seconds=base.step_seconds,
        step_threads=base.step_threads,
        step_sensitivity=base.step_sensitivity,
        launch_seconds=base.launch_seconds,
        transfer_seconds=base.transfer_seconds,
    )
