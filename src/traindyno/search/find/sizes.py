"""The batch side: how fast a larger batch would be, with the step as it is held and the loader that it needs.

Sizes are doubled on resident data while that gains something end to end; the smallest that reaches 97 % of the best is
taken, once it ran with the margin of memory held back.

Where the gradients' noise scale is known, a size is worth its rate over the examples that the same loss takes with it.
If none of the larger ones is worth more than the user's own, sizes are halved too, and of those near the best the one
nearest to the user's own is taken.
"""

import math
from collections.abc import Iterator

import msgspec

from traindyno.analysis.find.attempts import out_of_time
from traindyno.analysis.find.forecast import estimates_of
from traindyno.analysis.find.simpler import predicted_rate
from traindyno.analysis.find.words import times
from traindyno.analysis.steps_model import relative_examples
from traindyno.analysis.worker_choice import fewest_near_best
from traindyno.core.answers.find import Attempt
from traindyno.core.records import TrialRecord
from traindyno.core.setups import Setup, step_settings
from traindyno.core.units import format_percent
from traindyno.search.find.hunt import Hunt
from traindyno.search.find.margin import is_clearly_free
from traindyno.search.find.trials import changed
from traindyno.search.find.worker_trials import allowed_counts
from traindyno.search.replaying import Trying, Wanted

NEAR_BEST = 0.97
GAINS = 1.02
MOST_SIZES = 8
FEWEST_STEPS = 4
"""An epoch of fewer steps than this is not worth a larger batch."""
SMALLEST = 2
"""One example alone has nothing to be normalised with."""


class SizeSearch:
    """Finds the best batch beside the user's own."""

    def __init__(self, hunt: Hunt) -> None:
        self._goal, self._trials, self._findings, self._purse = hunt.goal, hunt.trials, hunt.findings, hunt.purse
        self._noise_scale = hunt.findings.noise_scale
        self._rates: dict[int, float] = {}

    def run(self) -> Trying[None]:
        own = self._findings.held.settings.batch_size
        own_rate = self._rate(own)
        if own_rate is None:
            return
        self._rates[own] = own_rate
        yield from self._explore(self._sizes(own))
        if self._noise_scale is not None and max(self._rates, key=self._worth) == own:
            yield from self._explore(self._smaller_sizes(own))
        for size in self._by_choice(own):
            if (yield from self._fits(size)):
                self._findings.free = self._setup(size)
                return

    def _sizes(self, own: int) -> Iterator[int]:
        """Twice as many again and again, up to what an epoch of few steps has, and the end of the range itself."""
        examples = self._findings.examples_in_data
        most = examples // FEWEST_STEPS if examples else None
        end = self._goal.batch_range[1] if self._goal.batch_range else None
        size = 2 * own
        while (most is None or size <= most) and (end is None or size < end):
            yield size
            size *= 2
        if end is not None and end != own and (most is None or end <= most):
            yield end

    def _smaller_sizes(self, own: int) -> Iterator[int]:
        """Half as many again and again, as long as they can be computed in as many parts."""
        least = max(SMALLEST, self._goal.batch_range[0] if self._goal.batch_range else SMALLEST)
        size, parts = own // 2, self._findings.held.settings.accumulation_steps
        while size >= least and size % parts == 0:
            yield size
            size //= 2

    def _explore(self, sizes: Iterator[int]) -> Trying[None]:
        """Go on while a size gains; one that does not may be chance, two are not."""
        idle = 0
        for size, _ in zip(sizes, range(MOST_SIZES), strict=False):
            if not self._purse.affords("speed"):
                self._findings.attempts.append(out_of_time("batch", f"batch_size={size}"))
                return
            best = max(self._rates, key=self._worth)
            reason = f"a batch of {size} on resident data"
            record = yield Wanted(spec=self._trials.resident(self._setup_as_held(size)), reason=reason)
            self._findings.note_resident(record)
            rate = self._rate(size)
            if rate is None or record.measurement is None:
                self._findings.attempts.append(_failed(size, record))
                return
            self._rates[size] = rate
            self._findings.attempts.append(self._attempt(size, record, best))
            idle = 0 if self._gains(size, best) else idle + 1
            if idle == 2:
                return

    def _rate(self, size: int) -> float | None:
        """Examples per second that this size should give end to end: simulated, or without data as measured."""
        setup = self._setup(size)
        return predicted_rate(self._findings, setup)

    def _worth(self, size: int) -> float:
        """Examples per second, less what a batch needs more of them for the same loss."""
        needed = 1.0 if self._noise_scale is None else relative_examples(size, self._noise_scale)
        return self._rates[size] / needed

    def _gains(self, size: int, best: int) -> bool:
        return self._worth(size) > GAINS * self._worth(best)

    def _attempt(self, size: int, record: TrialRecord, best: int) -> Attempt:
        slower = "not clearly faster" if self._worth(size) > self._worth(best) else "not faster"
        outcome = "faster" if self._gains(size, best) else slower
        if self._noise_scale is None:
            outcome = f"{outcome} than batch {best}"
        else:
            ratio = times(self._worth(size) / self._worth(best))
            outcome = f"{outcome} to the same loss: {ratio} as fast as batch {best}, predicted"
        return Attempt(
            side="batch",
            change=f"batch_size={size}",
            outcome=outcome,
            ratio=self._rates[size] / self._rates[best] if self._rates[best] > 0 else None,
            predicted=self._trials.has_data,
            trials=1,
            seconds=record.seconds,
        )

    def _by_choice(self, own: int) -> list[int]:
        """The size to take of those near the best, then smaller ones; none if that is the user's own."""
        allowed = [size for size in self._rates if self._is_allowed(size)]
        if not allowed:
            return []
        best = max(self._worth(size) for size in allowed)
        near = [size for size in allowed if self._worth(size) >= NEAR_BEST * best]
        chosen = min(near) if self._noise_scale is None else min(near, key=lambda size: abs(math.log(size / own)))
        fastest = max(allowed, key=self._worth)
        if self._noise_scale is None and chosen not in (own, fastest):
            self._say(chosen, f"and within {format_percent(1 - NEAR_BEST, 0)} of batch {fastest}, which is larger")
        return sorted((size for size in allowed if own < size <= chosen or size == chosen != own), reverse=True)

    def _say(self, size: int, more: str) -> None:
        """Add to what came of a size."""
        attempts = self._findings.attempts
        for number, attempt in enumerate(attempts):
            if attempt.side == "batch" and attempt.change == f"batch_size={size}":
                attempts[number] = msgspec.structs.replace(attempt, outcome=f"{attempt.outcome}, {more}")

    def _is_allowed(self, size: int) -> bool:
        low, high = self._goal.batch_range or (1, size)
        return low <= size <= high

    def _fits(self, size: int) -> Trying[bool]:
        """What a size held while it was timed may say that already."""
        if is_clearly_free(self._findings, self._setup(size).settings, self._goal.margin):
            return True
        if not self._purse.affords("fit"):
            self._findings.attempts.append(out_of_time("batch", f"batch_size={size} with the margin of memory"))
            return False
        spec = self._trials.fits(self._setup(size), self._goal.margin)
        record = yield Wanted(spec=spec, reason=f"a batch of {size} with the margin of memory held back")
        self._findings.fits[step_settings(spec.settings)] = record.measurement is not None
        if record.measurement is None:
            outcome = "does not fit with the margin of memory held back"
            self._findings.attempts.append(Attempt(side="batch", change=f"batch_size={size}", outcome=outcome))
        return record.measurement is not None

    def _setup_as_held(self, size: int) -> Setup:
        return changed(self._findings.held, {"batch_size": size})

    def _setup(self, size: int) -> Setup:
        """What is held at another size, with the fewest workers that suffice there."""
        setup = self._setup_as_held(size)
        if size == self._findings.held.settings.batch_size or not self._goal.may_change("num_workers"):
            return setup
        estimates = estimates_of(self._findings, setup, allowed_counts(self._goal, self._findings, setup))
        return setup if not estimates else changed(setup, {"num_workers": fewest_near_best(estimates).num_workers})


def _failed(size: int, record: TrialRecord) -> Attempt:
    why = record.failure.message if record.failure is not None else record.outcome
    return Attempt(side="batch", change=f"batch_size={size}", outcome=f"failed: {why}", trials=1)
