"""Sweep of batch sizes for a throughput curve: rounds over all sizes, in fresh processes and random order.

The first round also finds out what fits. It begins with two anchor sizes whose memory foretells the limit,
goes on with the sizes that should fit in random order, and ends with the first that should not, so that the
curve shows where memory ends. Refinement adds sizes near the best and between the largest doubling and the
limit. Further rounds repeat what ran, so that intervals cover the differences between processes and over
time.
"""

import random
from collections.abc import Sequence

from traindyno.analysis.probes import counts, examples_in_data, larger_than_data
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.core.sweeps import LARGEST_ACCEPTED
from traindyno.search.first_round import FirstRound, read_first_round
from traindyno.search.refinement import refined_sizes
from traindyno.search.strategy import Proposal, at_batch_size

_GUESSED_REFINED = 3
_SMALLEST_WORTH_REFINING = 32


class ThroughputSweep:
    """The strategy behind `throughput`.

    Sizes are either given, or double from `smallest` to `largest` (or until memory is full). A size that
    fails is kept as a failure and not tried again. Sizes larger than one that ran out of memory or time are
    left out, and so are sizes larger than the data. Size 1 of a model whose batch normalisation needs two
    examples is dropped.
    """

    def __init__(
        self,
        template: TrialSpec,
        sizes: Sequence[int] | None = None,
        smallest: int = 1,
        largest: int | None = None,
        refine: bool = True,
        repeats: int = 3,
        seed: int = 0,
    ) -> None:
        self._template = template
        self._ladder = tuple(sorted(set(sizes))) if sizes is not None else doubling(smallest, largest)
        self._given = sizes is not None
        self._refine = refine and sizes is None
        self._repeats = max(1, repeats)
        self._seed = seed

    def ask(self, history: Sequence[TrialRecord]) -> Proposal | None:
        records = [record for record in history if self._concerns(record)]
        if any(record.outcome.stops_study and counts(record) for record in records):
            return None
        ladder = self._ladder_of(records)
        records = [record for record in records if not larger_than_data(record)]
        first = read_first_round(records, ladder, self._given)
        found = self._climb(first) or self._refinement(first, ladder) or self._repetition(records)
        if found is None:
            return None
        size, repeat, reason = found
        return Proposal(
            spec=at_batch_size(self._template, size, repeat=repeat),
            reason=reason,
            expected_trials=max(len(records) + 1, self._expected_trials(first, ladder)),
        )

    def _concerns(self, record: TrialRecord) -> bool:
        same = record.spec.kind == self._template.kind and record.spec.workload == self._template.workload
        return same and record.outcome is not Outcome.INTERRUPTED

    def _ladder_of(self, records: Sequence[TrialRecord]) -> tuple[int, ...]:
        """The sizes of which the data can fill a batch.

        Doubling ends with all of the data. Of given sizes the first that is too large is tried, for the record.
        """
        examples = examples_in_data(records)
        if examples is None or examples >= self._ladder[-1]:
            return self._ladder
        fitting = tuple(size for size in self._ladder if size <= examples)
        if self._given:
            refused = any(larger_than_data(record) for record in records)
            return fitting if refused else self._ladder[: len(fitting) + 1]
        return fitting if fitting[-1:] == (examples,) else (*fitting, examples)

    def _climb(self, first: FirstRound) -> tuple[int, int, str] | None:
        """The next of the sizes asked for, while the first round lasts."""
        if first.anchor is not None:
            return first.anchor, 0, "anchor that shows how memory grows"
        if first.fitting:
            return self._shuffled(first.fitting, 0)[0], 0, "should fit"
        if first.next_above is not None:
            return first.next_above, 0, "shows where memory ends"
        return None

    def _refinement(self, first: FirstRound, ladder: Sequence[int]) -> tuple[int, int, str] | None:
        pending = [
            size for size in self._refined(first, ladder) if size not in first.tried and first.below_barrier(size)
        ]
        return (self._shuffled(pending, 0)[0], 0, "closer look") if pending else None

    def _refined(self, first: FirstRound, ladder: Sequence[int]) -> tuple[int, ...]:
        return refined_sizes(first.ladder_records, ladder[-1]) if self._refine and ladder else ()

    def _repetition(self, records: Sequence[TrialRecord]) -> tuple[int, int, str] | None:
        """The next size of the first round that is not yet complete."""
        failed = {record.batch_size for record in records if not record.ok}
        ran = {record.batch_size for record in records if record.ok} - failed
        for repeat in range(1, self._repeats):
            done = {record.batch_size for record in records if record.spec.repeat == repeat}
            pending = sorted(ran - done)
            if pending:
                return self._shuffled(pending, repeat)[0], repeat, f"round {repeat + 1} of {self._repeats}"
        return None

    def _shuffled(self, sizes: Sequence[int], repeat: int) -> list[int]:
        """A random order that depends on the seed and the round alone, whichever sizes are left."""
        return sorted(sizes, key=lambda size: random.Random(f"{self._seed} {repeat} {size}").random())

    def _expected_trials(self, first: FirstRound, ladder: Sequence[int]) -> int:
        """The sizes still to come in the first round, then the rounds over all that run."""
        refined = set(self._refined(first, ladder)) - set(first.tried) if first.complete else set()
        to_come = len(refined) + (0 if first.complete else first.likely_left)
        worth_it = bool(ladder) and ladder[-1] >= _SMALLEST_WORTH_REFINING
        if self._refine and worth_it and not first.complete and first.below_barrier(_SMALLEST_WORTH_REFINING):
            to_come += _GUESSED_REFINED
        running = len(first.ran) + to_come
        return len(first.tried) + to_come + running * (self._repeats - 1)


def doubling(smallest: int, largest: int | None) -> tuple[int, ...]:
    """`smallest` and its doubles up to `largest`, which is included even when no double meets it."""
    last = LARGEST_ACCEPTED if largest is None else largest
    sizes = [smallest]
    while 2 * sizes[-1] <= last:
        sizes.append(2 * sizes[-1])
    if largest is not None and sizes[-1] < largest:
        sizes.append(largest)
    return tuple(sizes)
