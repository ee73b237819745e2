"""The ways to load that there are: other decoders, other sources, the GPU's decoder, and a prepared set."""

from collections.abc import Iterator

import msgspec

from traindyno.analysis.find.forecast import pinned_share, supplier_of
from traindyno.analysis.loader_trials import decodes
from traindyno.core.loading import GPU_DECODER
from traindyno.core.setups import Setup
from traindyno.search.find.hunt import Hunt
from traindyno.search.find.trials import changed


class Ways:
    """Each with the rest as it is held, as far as the goal allows it and it was not seen to fail."""

    def __init__(self, hunt: Hunt) -> None:
        self._goal, self._findings = hunt.goal, hunt.findings

    def decoders(self, setup: Setup) -> Iterator[Setup]:
        """Other decoders of the host; that of the GPU once it has been probed."""
        if self._goal.may_change("decoder") and self._decodes(setup):
            others = (each for each in self._goal.decoders if each != setup.settings.decoder)
            ways = (self.pinned(changed(setup, {"decoder": decoder})) for decoder in others)
            yield from (each for each in ways if each.settings.decoder != GPU_DECODER or self.is_probed(each))

    def sources(self, setup: Setup) -> Iterator[Setup]:
        """Other sources; from one that holds pixels with the decoder of the baseline, which has nothing to do there."""
        if self._goal.may_change("data"):
            others = (source for source in self._goal.also if source != setup.data)
            yield from (self.pinned(self._from(source, setup)) for source in others)

    def pinned(self, setup: Setup) -> Setup:
        """Pinned, where it is known that this makes the copy to the device shorter: a loader is tried as it would be
        used.
        """
        may_pin = self._goal.on_gpu and self._goal.may_change("pin_memory")
        return changed(setup, {"pin_memory": True}) if may_pin and pinned_share(self._findings) < 1 else setup

    def decoded_on_gpu(self) -> Setup | None:
        held, allowed = self._findings.held, self._goal.may_change("decoder") and GPU_DECODER in self._goal.decoders
        on_gpu = self.pinned(changed(held, {"decoder": GPU_DECODER}))
        return on_gpu if allowed and self._decodes(held) and self._findings.is_usable(supplier_of(on_gpu)) else None

    def prepared(self) -> Setup | None:
        """The set that must be prepared first; null where there is none, or it is held."""
        held, goal = self._findings.held, self._goal
        if goal.prepare in (None, held.data) or not goal.may_change("data"):
            return None
        prepared = self.pinned(self._with_own_decoder(msgspec.structs.replace(held, data=goal.prepare)))
        return prepared if self._findings.is_usable(supplier_of(prepared)) else None

    def is_probed(self, setup: Setup) -> bool:
        """Whether it is known what it costs, and it may serve."""
        supplier = supplier_of(setup)
        return supplier in self._findings.probes and self._findings.is_usable(supplier)

    def _from(self, source: str, setup: Setup) -> Setup:
        moved = msgspec.structs.replace(setup, data=source)
        return self._with_own_decoder(moved) if source in self._goal.pixels else moved

    def _with_own_decoder(self, setup: Setup) -> Setup:
        return changed(setup, {"decoder": self._goal.baseline.settings.decoder})

    def _decodes(self, setup: Setup) -> bool:
        """Whether a decoder has anything to do with this source, as far as it is known."""
        if setup.data in self._goal.pixels:
            return False
        probes, own = self._findings.probes, supplier_of(self._findings.baseline)
        alike = (probe for supplier, probe in probes.items() if supplier[0] == setup.data)
        probe = next(alike, probes.get(own))
        told = probe.measurement.loading if probe is not None and probe.measurement is not None else None
        return told is not None and decodes(told.stages)
