"""Every worker count at every batch size, in random order: the table that people draw up by hand."""

import random
from collections.abc import Sequence

import msgspec

from traindyno.analysis.loader_budget import LoaderRoom, refuse_loader, with_data
from traindyno.core.loading import Feed
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Settings, TrialKind, TrialRecord, TrialSpec
from traindyno.search.strategy import Proposal


class LoaderGrid:
    """The strategy behind `loader --grid`: a probe, then each cell once. Cells that cannot fit are left out."""

    def __init__(
        self,
        template: TrialSpec,
        workers: Sequence[int],
        sizes: Sequence[int],
        *,
        with_model: bool = True,
        room: LoaderRoom | None = None,
        seed: int = 0,
    ) -> None:
        self._template = template
        self._cells = [(count, size) for size in sorted(set(sizes)) for count in sorted(set(workers))]
        self._kind: TrialKind = "feed" if with_model else "load"
        self._room = room or LoaderRoom()
        self._order = random.Random(seed)
        self._order.shuffle(self._cells)

    def ask(self, history: Sequence[TrialRecord]) -> Proposal | None:
        records = [
            record
            for record in history
            if record.spec.workload == self._template.workload and record.outcome is not Outcome.INTERRUPTED
        ]
        if any(record.outcome.stops_study for record in records):
            return None
        probe = next((record for record in records if record.spec.kind == "probe"), None)
        if probe is None:
            return self._proposal(self._probe(), "what each stage costs in one process", len(self._cells) + 1)
        tried = {record.spec for record in records}
        left = [spec for spec in self._specs(probe) if spec not in tried]
        if not left:
            return None
        workers, size = left[0].settings.num_workers, left[0].settings.batch_size
        return self._proposal(left[0], f"{workers} workers at batch {size}", len(records) + len(left))

    def _probe(self) -> TrialSpec:
        settings = msgspec.structs.replace(self._template.settings, num_workers=0)
        feed = Feed(supply="resident" if self._kind == "feed" else "loader")
        return msgspec.structs.replace(self._template, kind="probe", settings=settings, feed=feed)

    def _specs(self, probe: TrialRecord) -> list[TrialSpec]:
        per_example, room = _bytes_per_example(probe), with_data(self._room, probe)
        return [
            msgspec.structs.replace(self._template, kind=self._kind, settings=settings, feed=Feed(supply="loader"))
            for settings in (self._settings(count, size) for count, size in self._cells)
            if refuse_loader(settings, round(per_example * settings.batch_size), room) is None
        ]

    def _settings(self, workers: int, size: int) -> Settings:
        return msgspec.structs.replace(self._template.settings, num_workers=workers, batch_size=size)

    def _proposal(self, spec: TrialSpec, reason: str, expected: int) -> Proposal:
        return Proposal(spec=spec, reason=reason, expected_trials=expected)


def _bytes_per_example(probe: TrialRecord) -> float:
    told = probe.measurement.loading if probe.measurement else None
    return (told.batch_bytes or 0) / probe.batch_size if told else 0.0
