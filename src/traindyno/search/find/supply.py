"""The data side: which source and decoder, and how many workers, so that the step as it is now waits least.

Decoders and sources are probed in one process each and the rest is simulated; the supplier that should be the best is
then tried end to end at a few worker counts. What needs the GPU, or a set that has yet to be prepared, comes last, and
only while training still waits.
"""

from collections.abc import Iterator

import msgspec

from traindyno.analysis.find.attempts import not_tried, ruled_out, unprobed
from traindyno.analysis.find.forecast import (
    best_seconds,
    forecast_seconds,
    preparing_seconds,
    supplier_of,
    waiting_gain,
)
from traindyno.analysis.loader_trials import decodes
from traindyno.core.setups import Setup
from traindyno.core.units import format_seconds
from traindyno.search.find.hunt import Hunt
from traindyno.search.find.trials import changed
from traindyno.search.find.worker_trials import WORTH_ADOPTING, WorkerTrials, allowed_counts
from traindyno.search.replaying import Trying, Wanted

WAITS = 1.03
"""Training that would gain less than this without waiting does not wait for data."""

GPU_DECODER = "nvjpeg"


class SupplySearch:
    """Improves what is held by its loader. Everything found goes into the findings."""

    def __init__(self, hunt: Hunt) -> None:
        self._goal, self._trials, self._findings, self._purse = hunt.goal, hunt.trials, hunt.findings, hunt.purse
        self._workers = WorkerTrials(hunt)

    @property
    def waits(self) -> bool:
        return waiting_gain(self._findings, self._findings.held) > WAITS

    def improve(self) -> Trying[None]:
        best = self._findings.held
        for others in (self._decoders, self._sources):
            best = yield from self._fastest((best, *others(best)))
        yield from self._workers.run(best)
        if self.waits and (on_gpu := self._decoded_on_gpu()) is not None:
            yield from self._try_later(on_gpu)
        if self.waits and (prepared := self._prepared()) is not None:
            yield from self._try_later(prepared)

    def _decoders(self, setup: Setup) -> Iterator[Setup]:
        if self._goal.may_change("decoder") and self._decodes():
            others = (each for each in self._goal.decoders if each not in (setup.settings.decoder, GPU_DECODER))
            yield from (changed(setup, {"decoder": decoder}) for decoder in others)

    def _sources(self, setup: Setup) -> Iterator[Setup]:
        if self._goal.may_change("data"):
            others = (source for source in self._goal.also if source != setup.data)
            yield from (msgspec.structs.replace(setup, data=source) for source in others)

    def _decoded_on_gpu(self) -> Setup | None:
        allowed = self._goal.may_change("decoder") and GPU_DECODER in self._goal.decoders
        return changed(self._findings.held, {"decoder": GPU_DECODER}) if allowed and self._decodes() else None

    def _prepared(self) -> Setup | None:
        """The set that must be prepared first, if there is time for it."""
        held, goal = self._findings.held, self._goal
        if goal.prepare is None or goal.prepare == held.data or not goal.may_change("data"):
            return None
        seconds = 0.0 if goal.is_prepared else preparing_seconds(self._findings)
        if self._purse.affords("probe", extra_seconds=seconds):
            plain = {"decoder": goal.baseline.settings.decoder}
            return changed(msgspec.structs.replace(held, data=goal.prepare), plain)
        why = f"preparing the data would take about {format_seconds(seconds)}, and the time budget does not reach"
        attempt = not_tried("data", f"data={goal.prepare}", why)
        if attempt not in self._findings.attempts:
            self._findings.attempts.append(attempt)
        return None

    def _try_later(self, setup: Setup) -> Trying[None]:
        yield from self._probe_all((setup,))
        if supplier_of(setup) in self._findings.probes:
            yield from self._workers.run(setup)

    def _decodes(self) -> bool:
        probe = self._findings.probes.get(supplier_of(self._findings.baseline))
        told = probe.measurement.loading if probe is not None and probe.measurement is not None else None
        return told is not None and decodes(told.stages)

    def _probe_all(self, setups: tuple[Setup, ...]) -> Trying[None]:
        for setup in setups:
            supplier = supplier_of(setup)
            if supplier in self._findings.probes or supplier in self._findings.unusable:
                continue
            if not self._affords_probe(setup):
                continue
            with_model = setup.settings.decoder == GPU_DECODER
            reason = f"what an example costs from {setup.data}, decoded by {setup.settings.decoder}"
            record = yield Wanted(spec=self._trials.probe(setup, with_model=with_model), reason=reason)
            if record.measurement is None:
                self._findings.unusable.add(supplier)
                self._findings.attempts.append(unprobed(setup, self._findings.held, record))
            else:
                self._findings.probes[supplier] = record

    def _affords_probe(self, setup: Setup) -> bool:
        """A probe is only worth its time if a run end to end can follow."""
        if self._purse.affords("probe", extra_seconds=self._purse.feed_cost(forecast_seconds(self._findings, setup))):
            return True
        self._findings.attempts.append(unprobed(setup, self._findings.held, None))
        return False

    def _fastest(self, setups: tuple[Setup, ...]) -> Trying[Setup]:
        """The supplier that should be the fastest with the workers it needs; in doubt the first."""
        yield from self._probe_all(setups)
        counts = {setup: allowed_counts(self._goal, self._findings, setup) for setup in setups}
        best_of = {setup: best_seconds(self._findings, setup, counts[setup]) for setup in setups}
        foretold = {setup: seconds for setup, seconds in best_of.items() if seconds is not None}
        if setups[0] not in foretold:
            return setups[0]
        best = min(foretold, key=lambda setup: foretold[setup])
        best = best if foretold[setups[0]] > WORTH_ADOPTING * foretold[best] else setups[0]
        for setup, seconds in foretold.items():
            attempt = ruled_out(setup, self._findings.held, foretold[best], seconds)
            self._findings.forget_prediction(attempt.change)
            if setup not in (best, setups[0]):
                self._findings.attempts.append(attempt)
        return best
