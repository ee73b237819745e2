"""Search for the largest batch that runs: two small probes, a jump to what memory foretells, then closing in.

The first jump goes to the size that should be safe, run with the margin enforced and an evaluation step, so
that the answer's headline is known after three probes. The second goes to the predicted limit. What remains
is a bracket between the largest size that ran and the smallest that did not, closed by prediction and, where
that fails, by bisection.
"""

import math
from collections.abc import Sequence

from traindyno.analysis.probes import Probes, counts, needs_two_examples, ran_out, read_probes
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Record, TrialRecord, TrialSpec
from traindyno.core.sweeps import LARGEST_ACCEPTED
from traindyno.search.bracket import size_inside
from traindyno.search.memory_forecast import MemoryForecast, forecast_memory
from traindyno.search.strategy import Proposal, at_batch_size

_FIRST_PROBE = 16
_SECOND_PROBE = 64
_FARTHEST_JUMP = 1024
_AIM_LOW = 0.985
_WORTH_ANOTHER_SAFE_PROBE = 1.03
_MOST_SAFE_PROBES = 8
_FAILED_JUMPS = 2
_CLEARLY_BELOW = 0.984
_STEPS_DOWN = (0.96, 0.92, 0.85, 0.7, 0.5, 0.25, 0.1)


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
    records: tuple[TrialRecord, ...]


class MaxBatchSearch:
    """The strategy behind `max-batch`, for one workload.

    `limit` bounds the sizes tried (the length of the data, or the user's wish). A trial that fails for
    another reason than memory or time counts as "does not run" at its size if some smaller one ran; otherwise
    nothing can be learnt and the search ends. Sizes are tried at most once with the margin and once without.
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
        self._exact = exact
        self._limit = LARGEST_ACCEPTED if limit is None else limit
        self._margin = margin
        self._smallest = smallest

    def ask(self, history: Sequence[TrialRecord]) -> Proposal | None:
        records = [record for record in history if self._concerns(record)]
        if _cannot_go_on(records):
            return None
        view = self._view(records)
        if view.floor > self._limit:
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
            records=tuple(record for record in records if counts(record)),
        )

    def _first_probes(self, view: View) -> Probe | None:
        """Until something runs: 16, then the smallest size there is."""
        first = min(max(_FIRST_PROBE, view.floor), self._limit)
        for size in (first, view.floor):
            if size not in view.probes.plain_tried:
                return Probe(size=size, reason="a small size first" if size == first else "the smallest size")
        return None

    def _next_probe(self, view: View) -> Probe | None:
        return (
            self._second_probe(view)
            or self._safe_jump(view)
            or self._limit_probe(view)
            or self._safe_probe(view)
            or self._retry_check(view)
        )

    def _second_probe(self, view: View) -> Probe | None:
        """A second size, so that the growth of memory can be seen."""
        if len(view.probes.ran) > 1 or view.low >= self._limit:
            return None
        if view.high is None:
            return Probe(
                size=min(max(_SECOND_PROBE, 2 * view.low), self._limit), reason="shows how memory grows"
            )
        size = 2 * view.low if view.low == view.floor else max(view.floor, view.low // 4)
        if size >= view.high or size in view.probes.plain_tried:
            return None
        return Probe(size=size, reason="shows how memory grows")

    def _safe_jump(self, view: View) -> Probe | None:
        """The safe size comes first while memory can be foretold and nothing but safe probes has failed."""
        if view.high is not None or view.forecast is None:
            return None
        failures = 0 if view.probes.safe_ran else len(view.probes.safe_failed)
        if failures > _FAILED_JUMPS:
            return None
        if failures == _FAILED_JUMPS and view.probes.safe_failed[0] > 2.2 * view.low:
            return Probe(size=view.probes.safe_failed[0] // 2, reason="shows how memory grows at large sizes")
        return self._safe_probe(view)

    def _safe_probe(self, view: View) -> Probe | None:
        tried = view.probes.safe_ran + view.probes.safe_failed
        if len(tried) >= _MOST_SAFE_PROBES:
            return None
        size = self._better_safe_size(view) if view.probes.safe_ran else self._first_safe_size(view)
        if size is None or size < view.floor or size in tried:
            return None
        return Probe(size=size, safe=True, reason=f"runs with {self._margin:.0%} of the memory held back?")

    def _first_safe_size(self, view: View) -> int:
        """The predicted safe size, or the largest that ran; if that has failed, ever further below it."""
        size = min(self._predicted_safe_size(view) or view.low, self._safe_ceiling(view))
        failed = view.probes.safe_failed
        if failed and size > _CLEARLY_BELOW * failed[0]:
            factor = _STEPS_DOWN[min(len(failed), len(_STEPS_DOWN)) - 1]
            size = min(math.floor(failed[0] * factor), failed[0] - 1)
        return max(size, view.floor) if not failed or failed[0] > view.floor else 0

    def _better_safe_size(self, view: View) -> int | None:
        """Another safe probe, if the readings promise at least 3 % more than the one that ran."""
        predicted = self._predicted_safe_size(view)
        if predicted is None:
            return None
        safe = view.probes.safe_ran[-1]
        failed = [size for size in view.probes.safe_failed if size > safe]
        size = min(predicted, self._safe_ceiling(view))
        if failed and size >= failed[0]:
            size = (safe + failed[0]) // 2
        return size if size > _WORTH_ANOTHER_SAFE_PROBE * safe else None

    def _predicted_safe_size(self, view: View) -> int | None:
        if view.forecast is None:
            return None
        predicted = view.forecast.largest_reserved_batch(1 - self._margin, below=view.high)
        return max(view.floor, math.ceil(predicted * _AIM_LOW))

    def _safe_ceiling(self, view: View) -> int:
        """Nothing above the user's limit, a farthest jump, or where even an unbounded probe failed."""
        return min(self._limit, _FARTHEST_JUMP * view.low, view.low if view.high is not None else self._limit)

    def _limit_probe(self, view: View) -> Probe | None:
        step = self._closing_step(view.low)
        if view.low >= self._limit or (view.high is not None and view.high - view.low <= step):
            return None
        if view.high is None:
            return self._upwards(view, step)
        size = size_inside(view.records, view.forecast, view.low, view.high, step)
        return Probe(size=size, reason=f"between {view.low} and {view.high}")

    def _upwards(self, view: View, step: int) -> Probe:
        """Nothing failed yet: the predicted limit, halfway to what allocation allows, then doubling steps."""
        size, reason = 2 * view.low, "twice the largest that ran"
        if view.forecast is not None:
            aimed = view.forecast.largest_reserved_batch() - step // 2
            allocated = view.forecast.largest_batch()
            if aimed > view.low + step // 2:
                size, reason = aimed, "where memory should end"
            elif allocated > view.low + 2 * step:
                size, reason = (view.low + allocated) // 2, "nearer to where memory should end"
            else:
                size, reason = view.low + step * 2 ** self._successes(view), "just above the largest that ran"
        size = min(max(size, view.low + step), _FARTHEST_JUMP * view.low, self._limit)
        return Probe(size=size, reason=reason)

    def _successes(self, view: View) -> int:
        """How many probes ran beyond the first at the predicted limit: it is too low, so go faster."""
        safe = max(view.probes.safe_ran, default=_SECOND_PROBE)
        beyond = [record for record in view.records if record.ok and record.batch_size > safe]
        return max(0, len(beyond) - 1)

    def _retry_check(self, view: View) -> Probe | None:
        """The allocator retried under the margin: does it without one?"""
        safe = max(view.probes.safe_ran, default=0)
        quiet = max(view.probes.without_retries, default=0)
        if not view.probes.reports_retries or quiet >= safe or safe in view.probes.plain_tried:
            return None
        return Probe(size=safe, reason="runs without allocator retries?")

    def _closing_step(self, low: int) -> int:
        return 1 if self._exact else max(1, math.floor(self._tolerance * low))

    def _remaining(self, view: View, probe: Probe) -> int:
        """A guess: the ideal path while nothing failed, the halvings of the bracket once something has."""
        safe_left = 0 if view.probes.safe_ran else 1
        if view.high is not None and view.low:
            halvings = math.log2(max(1.0, (view.high - view.low) / self._closing_step(view.low)))
            return max(1, math.ceil(halvings) + safe_left)
        small_left = max(0, 2 - len(view.probes.ran))
        at_the_limit = bool(view.probes.safe_ran) and view.low > view.probes.safe_ran[-1]
        large_left = 0 if probe.size >= self._limit else (1 if at_the_limit else 2)
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
