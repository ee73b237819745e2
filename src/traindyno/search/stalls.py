"""Runs that differ in one thing each, in rounds of random order: their differences tell what training waits for.

A probe of every source comes first. Each round then runs resident, cached and loaded batches and the other sources;
the cold run takes part in the first three rounds, and the runs that only divide the stall in the first.
"""

import random
from collections.abc import Sequence

import msgspec

from traindyno.analysis.loader_trials import decodes
from traindyno.analysis.probes import counts
from traindyno.analysis.stall_runs import (
    BYTES_ONLY,
    COLD,
    DECODE_ONLY,
    HALVED_BATCH,
    HOST_CACHED,
    LOADER_ALONE,
    PROBE,
    READ_FROM_FILES,
    RESIDENT,
    WARM,
    measured,
    sort_runs,
    source_name,
)
from traindyno.core.loading import Feed
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.search.strategy import Proposal

COLD_ROUNDS = 3
_DIVIDING = (BYTES_ONLY, DECODE_ONLY, LOADER_ALONE)


class StallsPlan:
    """The strategy behind `stalls`. The template says workload, settings, budget; a run that fails is not repeated."""

    def __init__(
        self,
        template: TrialSpec,
        *,
        also: Sequence[str] = (),
        cold: bool = True,
        repeats: int = 3,
        seed: int = 0,
    ) -> None:
        self._template = template
        self._also = tuple(also)
        self._cold = cold and template.workload.data.startswith(READ_FROM_FILES)
        self._repeats = max(1, repeats)
        self._seed = seed

    def ask(self, history: Sequence[TrialRecord]) -> Proposal | None:
        if any(record.outcome.stops_study and counts(record) for record in history):
            return None
        workload, size = self._template.workload, self._template.settings.batch_size
        runs = sort_runs(history, workload.data, size, self._also)
        for name, spec in self._probes().items():
            if name not in runs:
                return self._proposal(spec, "what each stage costs in one process", history, runs)
        failed = {name for name, records in runs.items() if any(not record.ok for record in records)}
        for repeat in range(self._repeats):
            done = {name for name, records in runs.items() if any(each.spec.repeat == repeat for each in records)}
            left = [name for name in self._round(repeat, runs) if name not in done | failed]
            if left:
                spec = msgspec.structs.replace(self._specs()[left[0]], repeat=repeat)
                reason = f"{left[0].replace('_', ' ')}, round {repeat + 1} of {self._repeats}"
                return self._proposal(spec, reason, history, runs)
        return None

    def _proposal(
        self, spec: TrialSpec, reason: str, history: Sequence[TrialRecord], runs: dict[str, tuple[TrialRecord, ...]]
    ) -> Proposal:
        rounds = sum(len(self._round(repeat, runs)) for repeat in range(self._repeats))
        expected = max(len(history) + 1, len(self._probes()) + rounds)
        return Proposal(spec=spec, reason=reason, expected_trials=expected)

    def _round(self, repeat: int, runs: dict[str, tuple[TrialRecord, ...]]) -> list[str]:
        """The runs of one round, in an order that depends on the seed and the round alone."""
        names = [RESIDENT, HOST_CACHED, WARM, *(source_name(source, self._also) for source in self._also)]
        if self._cold and repeat < COLD_ROUNDS:
            names.append(COLD)
        if self._template.settings.batch_size > 1:
            names.append(HALVED_BATCH)
        if repeat == 0:
            names += [name for name in _DIVIDING if self._tells(name, runs)]
        return sorted(names, key=lambda name: random.Random(f"{self._seed} {repeat} {name}").random())

    def _tells(self, name: str, runs: dict[str, tuple[TrialRecord, ...]]) -> bool:
        """Whether a dividing run can be made: the data must have the stage."""
        if name == LOADER_ALONE:
            return True
        probes = measured(runs, PROBE)
        told = probes[0].measurement.loading if probes and probes[0].measurement else None
        if told is None:
            return False
        if name == DECODE_ONLY:
            return decodes(told.stages) and self._template.settings.decoder != "nvjpeg"
        return any(stage.stage == "fetch" for stage in told.stages)

    def _probes(self) -> dict[str, TrialSpec]:
        alone = msgspec.structs.replace(self._template.settings, num_workers=0)
        probe = msgspec.structs.replace(
            self._template, kind="probe", settings=alone, feed=Feed(supply="resident"), repeat=0
        )
        others = {f"{PROBE} {source_name(each, self._also)}": self._of(probe, each) for each in self._also}
        return {PROBE: probe, **others}

    def _specs(self) -> dict[str, TrialSpec]:
        template = self._template
        settings = template.settings
        halved = msgspec.structs.replace(settings, batch_size=max(1, settings.batch_size // 2))
        warm = msgspec.structs.replace(template, kind="feed", feed=Feed(supply="loader"))
        resident = msgspec.structs.replace(template, kind="speed", feed=Feed(supply="resident"))
        return {
            RESIDENT: resident,
            HALVED_BATCH: msgspec.structs.replace(resident, settings=halved),
            HOST_CACHED: msgspec.structs.replace(template, kind="feed", feed=Feed(supply="cached")),
            WARM: warm,
            COLD: msgspec.structs.replace(template, kind="feed", feed=Feed(supply="loader", cold=True)),
            BYTES_ONLY: msgspec.structs.replace(template, kind="load", feed=Feed(supply="loader", depth="bytes")),
            DECODE_ONLY: msgspec.structs.replace(template, kind="load", feed=Feed(supply="loader", depth="pixels")),
            LOADER_ALONE: msgspec.structs.replace(template, kind="load", feed=Feed(supply="loader")),
            **{source_name(source, self._also): self._of(warm, source) for source in self._also},
        }

    def _of(self, spec: TrialSpec, source: str) -> TrialSpec:
        return msgspec.structs.replace(spec, workload=msgspec.structs.replace(spec.workload, data=source))
