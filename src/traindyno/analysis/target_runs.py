"""What the runs of each contender have shown, seed by seed; a run that missed the target counts as infinite."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from traindyno.analysis.probes import larger_than_data
from traindyno.analysis.survival import median_time
from traindyno.analysis.target_standing import Crossings
from traindyno.analysis.training import never_finite
from traindyno.core.base import Record
from traindyno.core.learning import Evaluation, Learning, Target
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord, TrialSpec


class Entrant(Record, frozen=True):
    """One contender and its runs over the seeds that all have; null is a run that could not be made.

    `spec` is that of the first. `first_step_seconds` is what the first step of a run usually took, compiling and all.
    `failure` says why the last that failed did.
    """

    label: str
    spec: TrialSpec
    runs: tuple[Learning | None, ...]
    first_step_seconds: float | None = None
    failure: str | None = None

    @property
    def learning_rate(self) -> float:
        assert self.spec.recipe is not None
        return self.spec.recipe.learning_rate

    @property
    def seconds(self) -> Crossings:
        """Training time until the target, the clock having stood still in evaluations."""
        return self._until(lambda evaluation: evaluation.seconds)

    @property
    def examples(self) -> Crossings:
        return self._until(lambda evaluation: evaluation.examples)

    @property
    def steps(self) -> Crossings:
        return self._until(lambda evaluation: evaluation.step)

    @property
    def device_seconds(self) -> Crossings:
        """The time of all devices together."""
        devices = self.spec.settings.devices
        return self._until(lambda evaluation: devices * evaluation.seconds)

    @property
    def norm_examples(self) -> int | None:
        """Those that batch normalisation saw at once; null where there is none, or where nothing was run."""
        return next((run.norm_examples for run in self.runs if run is not None), None)

    @property
    def reached(self) -> int:
        return sum(math.isfinite(time) for time in self.seconds.seen)

    @property
    def diverged(self) -> int:
        return sum(run is not None and run.diverged for run in self.runs)

    @property
    def never_finite(self) -> int:
        """How many of those never had a loss that was a number, so that their rate is not at fault."""
        return sum(run is not None and never_finite(run) for run in self.runs)

    @property
    def missing(self) -> int:
        return sum(run is None for run in self.runs)

    @property
    def first_evaluations(self) -> int:
        """How many runs were there at their first evaluation, so that nobody knows when."""
        return sum(
            run is not None and run.reached is not None and run.reached == run.evaluations[0] for run in self.runs
        )

    @property
    def resolution_seconds(self) -> float | None:
        """What usually lies between two evaluations."""
        spans = [run.seconds / len(run.evaluations) for run in self.runs if run is not None and run.evaluations]
        return median_time(spans) if spans else None

    def best_metric(self, target: Target) -> float | None:
        """The best that any evaluation of any run has shown."""
        values = [value for run in self.runs if run is not None for value in _metrics(run, target)]
        return (max if target.metric == "accuracy" else min)(values, default=None)

    def _until(self, read: Callable[[Evaluation], float]) -> Crossings:
        assert self.spec.recipe is not None
        ends = [_crossing(run, read, self.spec.recipe.evaluation_examples or 1) for run in self.runs]
        return Crossings(seen=tuple(seen for _, seen in ends), not_before=tuple(before for before, _ in ends))


def is_given_up(failed: Sequence[TrialRecord]) -> bool:
    """Whether more runs of a contender make no sense: too large for memory or data once, or failed twice."""
    return len(failed) > 1 or any(record.outcome.out_of_memory or larger_than_data(record) for record in failed)


def entrants_of(specs: Mapping[str, Sequence[TrialSpec]], records: Sequence[TrialRecord]) -> tuple[Entrant, ...]:
    """All contenders over the seeds that each of them has run; one that was given up has missed all that are left."""
    done = {record.spec.key: record for record in records if record.outcome is not Outcome.INTERRUPTED}
    found = {label: [done.get(spec.key) for spec in of_label] for label, of_label in specs.items()}
    seeds = min((_run_seeds(of_label) for of_label in found.values()), default=0)
    if seeds == 0:
        return ()
    return tuple(_entrant(label, specs[label][0], found[label][:seeds]) for label in specs)


def _run_seeds(found: Sequence[TrialRecord | None]) -> int:
    """How many seeds in a row have ended, in whichever way."""
    if is_given_up([record for record in found if record is not None and not record.ok]):
        return len(found)
    return next((number for number, record in enumerate(found) if record is None), len(found))


def _entrant(label: str, spec: TrialSpec, found: Sequence[TrialRecord | None]) -> Entrant:
    failures = [record.failure.message for record in found if record is not None and record.failure is not None]
    measured = [None if record is None else record.measurement for record in found]
    first_steps = [each.first_step_seconds for each in measured if each is not None]
    return Entrant(
        label=label,
        spec=spec,
        runs=tuple(None if each is None else each.learning for each in measured),
        first_step_seconds=median_time(first_steps) if first_steps else None,
        failure=failures[-1] if failures else None,
    )


def _crossing(run: Learning | None, read: Callable[[Evaluation], float], every: int) -> tuple[float, float]:
    """The evaluations between which the run crossed.

    The first of them came with the first batch that completed a multiple of `every` examples. What that batch had too
    many of is left out, or else a smaller batch would seem to be sooner.
    """
    if run is None or run.reached is None:
        return math.inf, math.inf
    before = [each for each in run.evaluations if each.step < run.reached.step][-1:]
    whole = [read(each) * (each.examples - each.examples % every) / each.examples for each in before]
    return (whole[0] if whole else 0.0), float(read(run.reached))


def _metrics(run: Learning, target: Target) -> Iterator[float]:
    for each in run.evaluations:
        value = each.accuracy if target.metric == "accuracy" else each.loss
        if value is not None and math.isfinite(value):
            yield value
