"""Which way to train reaches a target first: runs of all contenders, seed by seed.

A first run shows about where the target is, so that all are evaluated after equally many examples, and often enough.
What the contenders rest on comes next: the noise scale of the gradients for rates by the gain rule, and the step by
batch size where a predicted batch is verified. Then every seed is run by all before the next begins, in an order of
its own, because machines drift.
"""

import random
from collections.abc import Iterable, Sequence

import msgspec

from traindyno.analysis.target_runs import is_given_up
from traindyno.analysis.target_settling import (
    first_run,
    first_run_specs,
    lacks_accuracy,
    largest_timed,
    needs_noise,
    noise_of,
    run_specs,
    training_examples_of,
)
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Budget, TrialRecord, TrialSpec
from traindyno.core.requests import TargetRequest
from traindyno.search.strategy import Proposal, at_batch_size
from traindyno.search.throughput import ThroughputSweep

NOISE_RUNS = 2
SMALLEST_TIMED, TIMED_REPEATS, TIMED_SECONDS = 2, 2, 2.0
EXPECTED_SIZES = 10
VERIFIED = 3


class TargetPlan:
    """The strategy behind `target`. The template says workload, device, seed and limits."""

    def __init__(self, template: TrialSpec, request: TargetRequest) -> None:
        self._template, self._request = template, request

    def ask(self, history: Sequence[TrialRecord]) -> Proposal | None:
        history = [record for record in history if record.outcome is not Outcome.INTERRUPTED]
        if lacks_accuracy(self._request, history):
            return None
        found = self._preparation(history) or self._next_run(history)
        if found is None:
            return None
        spec, reason = found
        return Proposal(spec=spec, reason=reason, expected_trials=self._expected_trials(history))

    def _preparation(self, history: Sequence[TrialRecord]) -> tuple[TrialSpec, str] | None:
        tried = {record.spec.key for record in history}
        for spec, reason in (*self._first_runs(history), *self._noise_runs()):
            if spec.key not in tried:
                return spec, reason
        return self._timing(history) if self._request.verify else None

    def _noise_runs(self) -> Iterable[tuple[TrialSpec, str]]:
        """Runs at the reference batch whose seeds no counted run has."""
        request = self._request
        for number in range(NOISE_RUNS if needs_noise(request) else 0):
            spec = msgspec.structs.replace(
                self._at_reference(),
                kind="noise",
                recipe=request.recipe,
                noise_plan=request.noise_plan,
                seed=request.bench.seed + request.seeds + number,
            )
            yield spec, f"noise of the gradients, run {number + 1} of {NOISE_RUNS}"

    def _first_runs(self, history: Sequence[TrialRecord]) -> Iterable[tuple[TrialSpec, str]]:
        """Not counted, and not needed where it was said how often to evaluate, unless an epoch's length is.

        That of the reference needs no noise scale.
        """
        request = self._request
        epoch_needed = request.verify and not needs_noise(request) and training_examples_of(history) is None
        if epoch_needed or (request.recipe.evaluation_examples is None and first_run(history) is None):
            for spec in first_run_specs(request, self._at_reference(), history):
                yield spec, "shows about where the target is"

    def _at_reference(self) -> TrialSpec:
        """The template with the settings of the batch that the recipe's rate is meant for, on one device."""
        request = self._request
        settings = msgspec.structs.replace(request.settings or request.contenders[0].settings, devices=1)
        spec = msgspec.structs.replace(self._template, settings=settings, budget=Budget())
        return at_batch_size(spec, request.reference_batch or settings.batch_size)

    def _timing(self, history: Sequence[TrialRecord]) -> tuple[TrialSpec, str] | None:
        examples = training_examples_of(history)
        if examples is None or noise_of(self._request, history).value is None:
            return None
        template = msgspec.structs.replace(self._at_reference(), kind="speed", budget=Budget(seconds=TIMED_SECONDS))
        sweep = ThroughputSweep(
            template,
            smallest=SMALLEST_TIMED,
            largest=largest_timed(examples),
            refine=False,
            repeats=TIMED_REPEATS,
            seed=self._request.bench.seed,
        )
        proposal = sweep.ask(history)
        return None if proposal is None else (proposal.spec, f"the step's time, {proposal.reason}")

    def _next_run(self, history: Sequence[TrialRecord]) -> tuple[TrialSpec, str] | None:
        """The first run in the order of seeds that is not there, of those that have not been given up."""
        done = {record.spec.key: record for record in history}
        runs = run_specs(self._request, self._template, history)
        for number in range(self._request.seeds):
            for label in self._shuffled(runs, number):
                failed = [done[spec.key] for spec in runs[label] if spec.key in done and not done[spec.key].ok]
                if runs[label][number].key not in done and not is_given_up(failed):
                    return runs[label][number], f"{label}, seed {number + 1} of {self._request.seeds}"
        return None

    def _shuffled(self, labels: Iterable[str], number: int) -> list[str]:
        seed = self._request.bench.seed
        return sorted(labels, key=lambda label: random.Random(f"{seed} {number} {label}").random())

    def _expected_trials(self, history: Sequence[TrialRecord]) -> int:
        runs = self._request.seeds * (VERIFIED if self._request.verify else len(self._request.contenders))
        timed = sum(record.spec.kind == "speed" for record in history)
        times = max(timed, EXPECTED_SIZES * TIMED_REPEATS) if self._request.verify else 0
        noises, first = len([*self._noise_runs()]), any(self._first_runs([]))
        return max(len(history) + 1, noises + first + times + runs)
