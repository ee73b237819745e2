"""The step taken apart at some batch sizes: rounds over all of them, in fresh processes and random order.

The size that the answer is about comes first, so that there is an answer early on.
"""

import random
from collections.abc import Sequence

import msgspec

from traindyno.analysis.anatomy_sizes import answer_size
from traindyno.analysis.probes import counts, larger_than_data, ran_out
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.search.strategy import Proposal, at_batch_size


class AnatomyPlan:
    """The strategy behind `anatomy`. The template says workload, settings, feed, budget, and where a trace goes.

    Its batch size is the one that the answer is about; should that not fit, it is the largest that does. Only the
    first trial of that size writes the trace. A size that fails is not repeated, and none larger than one that ran
    out of memory, time or data is tried.
    """

    def __init__(self, template: TrialSpec, *, sizes: Sequence[int] = (), repeats: int = 3, seed: int = 0) -> None:
        self._template = template
        self._sizes = tuple(sorted({template.settings.batch_size, *sizes}))
        self._repeats = max(1, repeats)
        self._seed = seed

    def ask(self, history: Sequence[TrialRecord]) -> Proposal | None:
        records = [record for record in history if self._concerns(record)]
        if any(record.outcome.stops_study and counts(record) for record in records):
            return None
        left = self._left(records)
        for repeat in range(self._repeats):
            done = {record.batch_size for record in records if record.spec.repeat == repeat}
            waiting = [size for size in self._round(left, repeat) if size not in done]
            if waiting:
                return self._proposal(waiting[0], repeat, left, records)
        return None

    def _concerns(self, record: TrialRecord) -> bool:
        return record.spec.kind == self._template.kind and record.outcome is not Outcome.INTERRUPTED

    def _left(self, records: Sequence[TrialRecord]) -> tuple[int, ...]:
        """The sizes of which no trial failed, and which are not ruled out by a smaller one."""
        failed = {record.batch_size for record in records if not record.ok}
        beyond = [record.batch_size for record in records if ran_out(record) or larger_than_data(record)]
        return tuple(size for size in self._sizes if size not in failed and size < min(beyond, default=size + 1))

    def _round(self, left: Sequence[int], repeat: int) -> list[int]:
        """The sizes of one round, in an order that depends on the seed and the round alone; the first round's is led
        by the size that the answer is about."""
        first = answer_size(self._template.settings.batch_size, left) if repeat == 0 else None
        return sorted(left, key=lambda size: (size != first, random.Random(f"{self._seed} {repeat} {size}").random()))

    def _proposal(self, size: int, repeat: int, left: Sequence[int], records: Sequence[TrialRecord]) -> Proposal:
        spec = at_batch_size(self._template, size, repeat=repeat)
        if repeat > 0 or size != answer_size(self._template.settings.batch_size, left):
            spec = msgspec.structs.replace(spec, trace_path=None)
        failed = sum(not record.ok for record in records)
        return Proposal(
            spec=spec,
            reason=f"batch {size}, round {repeat + 1} of {self._repeats}",
            expected_trials=max(len(records) + 1, failed + len(left) * self._repeats),
        )
