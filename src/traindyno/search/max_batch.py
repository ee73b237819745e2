"""Search for the largest batch that runs: two small probes, a jump to what memory foretells, then closing in.

Three limits are found one after the other. First the largest size that runs at all, as a bracket between one that ran
and one that did not. Then the safe size, a little below it, run with the margin enforced and an evaluation step. Last,
where the allocator had to free its cache and try again, a size at which it had not.
"""

import math
from collections.abc import Sequence

from traindyno.analysis.probes import Probes, counts, examples_in_data, needs_two_examples, ran_out, read_probes
from traindyno.core.base import Record
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.core.sweeps import LARGEST_ACCEPTED
from traindyno.search.bracket import Aim, closing_step, size_inside
from traindyno.search.memory_forecast import MemoryForecast, forecast_memory
from traindyno.search.strategy import Proposal, at_batch_size

_FIRST_PROBE = 16
_SECOND_PROBE = 64
_FARTHEST_JUMP = 1024
# Allocated memory foretells one or two percent too much: caching, fragments and libraries also take some.
_AIM_FROM_AFAR = 0.98
_AIM_FROM_NEAR = 0.995
_NEAR = 0.5
_MOST_SAFE_PROBES = 8
_SAFE_AIM = 0.985
_SAFE_STEPS_DOWN = (0.97, 0.94, 0.88, 0.75, 0.5, 0.25, 0.1)
_QUIET_SHARES_OF_SAFE = (0.9, 0.75, 0.55, 0.35)
_QUIET_ENOUGH = 0.9
_COARSE = 0.01


class Probe(Record, frozen=True):
    """A size to try; a safe probe has the margin enforced and an evaluation step."""

    size: int
    reason: str
    safe: bool = False


class View(Record, frozen=True):
    """What one decision rests on."""

    probes: Probes
    forecast: MemoryForecast | None
    low: int
    high: int | None
    floor: int
    limit: int
    records: tuple[TrialRecord, ...]


class MaxBatchSearch:
    """The strategy behind `max-batch`, for one workload.

    `limit` bounds the sizes tried, and so does the length of the data once a trial has told it. A trial that fails for
    another reason than memory or time counts as "does not run" at its size if some smaller one ran; otherwise
    nothing can be learnt and the search ends. Sizes are tried at most once with the margin and once without. A
    `tolerance` of nothing is `exact`.
    """

    def __init__(
        self,
        template: TrialSpec,
        tolerance: float = 0.01,
        exact: bool = False,
        limit: int | None = None,
        margin: float = 0.05,
        smallest: int = 1,
    ) -> None:
        self._template = template
        self._tolerance = tolerance
        self._exact = exact or tolerance == 0
        self._limit = LARGEST_ACCEPTED if limit is None else limit
        self._margin = margin
        self._smallest = smallest

    def ask(self, history: Sequence[TrialRecord]) -> Proposal | None:
        records = [record for record in history if self._concerns(record)]
        if _cannot_go_on(records):
            return None
        view = self._view(records)
        if view.floor > view.limit:
            return None
        probe = self._first_probes(view) if view.low == 0 else self._next_probe(view)
        if probe is None:
            return None
        changes = {"evaluate": probe.safe, "margin": self._margin if probe.safe else 0.0}
        return Proposal(
            spec=at_batch_size(self._template, probe.size, **changes),
            reason=probe.reason,
            expected_trials=len(records) + self._remaining(view, probe),
        )

    def _concerns(self, record: TrialRecord) -> bool:
        return record.spec.kind == self._template.kind and record.spec.workload == self._template.workload

    def _view(self, records: Sequence[TrialRecord]) -> View:
        probes = read_probes(records)
        needs_two = any(needs_two_examples(record) for record in records)
        return View(
            probes=probes,
            forecast=forecast_memory(records),
            low=probes.largest_ran or 0,
            high=probes.smallest_failed_above,
            floor=max(self._smallest, 2 if needs_two else 1),
            limit=min(self._limit, examples_in_data(records) or self._limit),
            records=tuple(record for record in records if counts(record)),
        )

    def _first_probes(self, view: View) -> Probe | None:
        """Until something runs: 16, then the smallest size there is."""
        first = min(max(_FIRST_PROBE, view.floor), view.limit)
        for size in (first, view.floor):
            if size not in view.probes.plain_tried:
                return Probe(size=size, reason="a small size first" if size == first else "the smallest size")
        return None

    def _next_probe(self, view: View) -> Probe | None:
        return self._second_probe(view) or self._limit_probe(view) or self._safe_probe(view) or self._quiet_probe(view)

    def _second_probe(self, view: View) -> Probe | None:
        """A second size, so that the growth of memory can be seen."""
        if len(view.probes.ran) > 1 or view.low >= view.limit:
            return None
        if view.high is None:
            size = min(max(_SECOND_PROBE, 2 * view.low), view.limit)
            return Probe(size=size, reason="shows how memory grows")
        size = 2 * view.low if view.low == view.floor else max(view.floor, view.low // 4)
        if size >= view.high or size in view.probes.plain_tried:
            return None
        return Probe(size=size, reason="shows how memory grows")

    def _limit_probe(self, view: View) -> Probe | None:
        closed = 1 if self._exact else closing_step(self._tolerance, view.low)
        if view.low >= view.limit or (view.high is not None and view.high - view.low <= closed):
            return None
        if view.high is None:
            return self._upwards(view)
        tolerance = max(self._tolerance, _COARSE) if self._exact else self._tolerance
        nearly_closed = view.high - view.low <= closing_step(tolerance, view.low)
        aim = None if nearly_closed else self._aim(view)
        size = size_inside(view.records, aim, view.low, view.high, tolerance)
        return Probe(size=size, reason=f"between {view.low} and {view.high}")

    def _upwards(self, view: View) -> Probe:
        """Nothing failed yet: where memory should end if that is far, else a step above what ran."""
        step, aim = closing_step(max(self._tolerance, _COARSE), view.low), self._aim(view)
        if aim is None:
            size, reason = 2 * view.low, "twice the largest that ran"
        elif aim.size > view.low + 2 * step:
            size, reason = aim.size, "where memory should end"
        else:
            beyond = sum(record.ok and record.batch_size > aim.predicted for record in view.records)
            size, reason = view.low + step * 2**beyond, "just above the largest that ran"
        size = min(size, _FARTHEST_JUMP * view.low, view.limit)
        return Probe(size=size, reason=reason, safe=size == view.limit and self._ample(view))

    def _ample(self, view: View) -> bool:
        """Whether the user's limit should run even with the margin enforced: then one probe shows both."""
        if view.forecast is None or view.probes.safe_failed:
            return False
        return view.forecast.largest_batch(1 - self._margin) * _AIM_FROM_AFAR >= view.limit

    def _aim(self, view: View) -> Aim | None:
        """The predicted end of memory, aimed lower the farther away it is."""
        if view.forecast is None:
            return None
        predicted = view.forecast.largest_batch()
        share = _AIM_FROM_NEAR if view.low >= _NEAR * predicted else _AIM_FROM_AFAR
        return Aim(predicted=predicted, size=math.floor(predicted * share))

    def _safe_probe(self, view: View) -> Probe | None:
        failed = view.probes.safe_failed
        if view.probes.safe_ran or len(failed) >= _MOST_SAFE_PROBES:
            return None
        size = self._first_safe_size(view)
        if failed:
            share = _SAFE_STEPS_DOWN[min(len(failed), len(_SAFE_STEPS_DOWN)) - 1]
            size = min(math.floor(max(failed) * share), failed[0] - 1)
        if failed and failed[0] > view.floor:
            size = max(size, view.floor)
        if size < view.floor:
            return None
        return Probe(size=size, safe=True, reason=f"runs with {self._margin:.0%} of the memory held back?")

    def _first_safe_size(self, view: View) -> int:
        """The margin's share of the largest that ran, or what memory foretells if that is less."""
        size = view.low if view.high is None else math.floor(view.low * (1 - self._margin) * _SAFE_AIM)
        if view.forecast is not None:
            size = min(size, math.floor(view.forecast.largest_batch(1 - self._margin) * _AIM_FROM_NEAR))
        return max(size, view.floor)

    def _quiet_probe(self, view: View) -> Probe | None:
        """The allocator retried at every large size: find one where it does not."""
        safe = max(view.probes.safe_ran, default=0)
        quiet = max(view.probes.without_retries, default=0)
        if not view.probes.reports_retries or quiet >= _QUIET_ENOUGH * safe:
            return None
        for share in _QUIET_SHARES_OF_SAFE:
            size = max(view.floor, math.floor(safe * share))
            if size <= quiet:
                return None
            if size not in view.probes.plain_tried:
                return Probe(size=size, reason="runs without allocator retries?")
        return None

    def _remaining(self, view: View, probe: Probe) -> int:
        """A guess: the ideal path while nothing failed, the halvings of the bracket once something has."""
        safe_left = 0 if view.probes.safe_ran else 1
        if probe.safe or view.probes.safe_ran:
            return 1
        if view.high is not None and view.low:
            closed = 1 if self._exact else closing_step(self._tolerance, view.low)
            halvings = math.log2(max(2.0, (view.high - view.low) / closed))
            return max(1, min(4, math.ceil(halvings))) + safe_left
        small_left = max(0, 2 - len(view.probes.ran))
        large_left = 0 if probe.size >= view.limit else (1 if view.low > _SECOND_PROBE else 2)
        return max(1, small_left + safe_left + large_left)


def _cannot_go_on(records: Sequence[TrialRecord]) -> bool:
    """A mistake to mend first, or a failure other than of memory or time with nothing smaller that ran."""
    smallest_ran = min((record.batch_size for record in records if record.ok), default=LARGEST_ACCEPTED)
    for record in records:
        if record.ok or ran_out(record) or not counts(record):
            continue
        if record.outcome.stops_study or record.outcome is Outcome.INFRASTRUCTURE:
            return True
        if record.batch_size <= smallest_ran:
            return True
    return False
