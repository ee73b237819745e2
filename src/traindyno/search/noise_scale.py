"""Gradient noise, then the step by batch size: runs of the recipe over seeds, and a curve as far as it can matter."""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.noise_runs import noises_of
from traindyno.analysis.noise_scale import noise_scale_of
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Budget, TrialRecord, TrialSpec
from traindyno.core.requests import NoiseScaleRequest
from traindyno.core.sweeps import LARGEST_ACCEPTED
from traindyno.search.strategy import Proposal
from traindyno.search.throughput import ThroughputSweep, doubling

SMALLEST_TIMED = 8
# Beyond so many noise scales a batch saves less than 2 % of the steps, however many examples it has.
WORTH_TIMING = 64
EXPECTED_SIZES = 10


class NoiseScaleStudy:
    """The strategy behind `noise-scale`. The template says workload, settings, device and limits.

    Without given sizes the curve doubles until steps can hardly become fewer; it is left out while there is no noise
    scale to use it with.
    """

    def __init__(self, template: TrialSpec, request: NoiseScaleRequest) -> None:
        self._template, self._request = template, request

    def ask(self, history: Sequence[TrialRecord]) -> Proposal | None:
        history = [record for record in history if record.outcome is not Outcome.INTERRUPTED]
        return self._next_run(history) or self._next_size(history)

    def _next_run(self, history: Sequence[TrialRecord]) -> Proposal | None:
        tried, seeds = {record.spec.key for record in history}, self._request.seeds
        for number in range(seeds):
            spec = self._run(number)
            if spec.key not in tried:
                expected = seeds + self._request.repeats * len(self._request.sizes or range(EXPECTED_SIZES))
                return Proposal(spec=spec, reason=f"gradients of run {number + 1} of {seeds}", expected_trials=expected)
        return None

    def _run(self, number: int) -> TrialSpec:
        request = self._request
        return msgspec.structs.replace(
            self._template,
            kind="noise",
            budget=Budget(),
            recipe=request.recipe,
            noise_plan=request.plan,
            seed=request.bench.seed + number,
        )

    def _next_size(self, history: Sequence[TrialRecord]) -> Proposal | None:
        noises = noises_of(history)
        noise = noise_scale_of(noises)
        if noise.value is None:
            return None
        template = msgspec.structs.replace(
            self._template, kind="speed", budget=Budget(seconds=self._request.trial_seconds)
        )
        sizes = self._request.sizes or self._doubling(noise.value, noises[0].training_examples)
        sweep = ThroughputSweep(template, sizes=sizes, repeats=self._request.repeats, seed=self._request.bench.seed)
        proposal = sweep.ask(history)
        if proposal is None:
            return None
        runs = sum(record.spec.kind == "noise" for record in history)
        return msgspec.structs.replace(
            proposal,
            reason=f"the step's time, {proposal.reason}",
            expected_trials=runs + proposal.expected_trials,
        )

    def _doubling(self, noise_scale: float, training_examples: int) -> tuple[int, ...]:
        """Doubles that the data can fill, and the batch that was asked about; all in as many parts as settings say."""
        own, parts = self._request.settings.batch_size, self._request.settings.accumulation_steps
        worth = max(WORTH_TIMING * noise_scale, 2 * own)
        largest = min(self._request.largest or LARGEST_ACCEPTED, 2 ** round(worth).bit_length(), training_examples)
        smallest = min(own, parts * -(-SMALLEST_TIMED // parts))
        return tuple(sorted({own, *(size for size in doubling(smallest, None) if size <= largest)}))
