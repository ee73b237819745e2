"""The runs behind `accuracy`: what rates need first, then every size with one seed after the other.

Sizes take turns, so that a study which is cut leaves all of them with equally many seeds. The reference is the first
of them: it shows whether there is an accuracy to compare, and how many steps equal ones are. Rates are looked for with
seeds of their own: the best of many runs is better than it will be again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from traindyno.analysis.accuracy import AccuracyRuns, SizeRuns, learning_of, reference_size
from traindyno.analysis.accuracy_verdicts import others_than_reference
from traindyno.analysis.noise_runs import noises_of
from traindyno.analysis.noise_scale import NoiseEstimate, noise_scale_of
from traindyno.analysis.rate_rules import optimizer_for_rule, scaled_rate
from traindyno.core.learning import Noise
from traindyno.core.records import OptimizerName, TrialRecord, TrialSpec
from traindyno.core.requests import AccuracyRequest
from traindyno.search.accuracy_runs import cannot_run, end_of, has_accuracy, mean_seconds, recipe_at
from traindyno.search.rate_search import DIVERGED, Score, search_rate
from traindyno.search.replaying import Trying, Wanted, replay
from traindyno.search.strategy import Proposal, at_batch_size

APART = 1_000_000
"""Added to the seeds of runs that do not count."""
NOISE_RUNS = 2
USUAL_RATES = 5
"""That a search tries, for the plan."""
CHEAP_SECONDS = 60.0


@dataclass
class _Size:
    """What is known of one batch size so far."""

    batch_size: int
    learning_rate: float | None = None
    counted: list[TrialRecord] = field(default_factory=list)
    tuning: list[TrialRecord] = field(default_factory=list)
    rate_at_edge: bool = False
    given_up: bool = False


@dataclass
class _Found:
    sizes: tuple[_Size, ...]
    first: int
    noise: NoiseEstimate | None = None
    has_accuracy: bool = True
    steps: tuple[int, int] | None = None
    """Of the first run that came to its end: its batch size, and how many it had planned."""

    @property
    def going_on(self) -> Iterator[_Size]:
        """Those that are still worth a run, the `first` before the others."""
        ordered = sorted(self.sizes, key=lambda size: size.batch_size != self.first)
        return (size for size in ordered if self.has_accuracy and not size.given_up)

    def learn_from(self, record: TrialRecord) -> None:
        learning = learning_of(record)
        self.has_accuracy = self.has_accuracy and has_accuracy(record)
        if learning is not None and self.steps is None:
            self.steps = record.batch_size, learning.planned_steps


class AccuracyPlan:
    """The strategy behind `accuracy`. The template says workload, first seed, limits and all settings but the batch."""

    def __init__(self, template: TrialSpec, request: AccuracyRequest) -> None:
        self._template, self._request = template, request

    def ask(self, history: Sequence[TrialRecord]) -> Proposal | None:
        found = self._nothing()
        wanted = replay(self._study(found), history)
        if wanted is None:
            return None
        return Proposal(spec=wanted.spec, reason=wanted.reason, expected_trials=self._expected(found))

    def runs(self, history: Sequence[TrialRecord]) -> AccuracyRuns:
        """What the trials so far have shown."""
        found = self._nothing()
        replay(self._study(found), history)
        sizes = tuple(
            SizeRuns(
                batch_size=size.batch_size,
                learning_rate=size.learning_rate,
                counted=tuple(size.counted),
                tuning=tuple(size.tuning),
                rate_at_edge=size.rate_at_edge,
            )
            for size in found.sizes
        )
        return AccuracyRuns(sizes=sizes, noise=found.noise)

    @property
    def usual_tuning_runs(self) -> int:
        """About as many runs as the search for rates takes at one size."""
        return USUAL_RATES * self._request.tuning_seeds if self._request.rule == "tune" else 0

    @property
    def measures_noise(self) -> bool:
        request = self._request
        return request.rule == "gain" and request.noise_scale is None and bool(others_than_reference(request))

    def _nothing(self) -> _Found:
        sizes = tuple(_Size(batch_size) for batch_size in self._request.sizes)
        return _Found(sizes=sizes, first=reference_size(self._request))

    def _expected(self, found: _Found) -> int:
        return NOISE_RUNS * self.measures_noise + sum(
            len(size.tuning) + len(size.counted) if size.given_up else self._tuning_of(size) + self._request.seeds
            for size in found.sizes
        )

    def _tuning_of(self, size: _Size) -> int:
        is_known = self._request.rule != "tune" or size.learning_rate is not None
        return len(size.tuning) if is_known else max(self.usual_tuning_runs, len(size.tuning) + 1)

    def _study(self, found: _Found) -> Trying[None]:
        noise_scale, noises = self._request.noise_scale, list[Noise]()
        if self.measures_noise:
            yield from self._reference(found)
            if not found.has_accuracy:
                return
            noises = yield from self._noises()
            found.noise = noise_scale_of(noises)
            noise_scale = found.noise.value
            if noise_scale is None:
                return
        yield from self._rates(found, noise_scale, optimizer_for_rule(self._request.workload, noises))
        for number in range(self._request.seeds):
            for size in found.going_on:
                if len(size.counted) == number:
                    yield from self._counted(found, size, number)

    def _reference(self, found: _Found) -> Trying[None]:
        """The first run that counts, if it is at the batch whose rate is known."""
        for size in found.sizes:
            if size.batch_size == self._request.reference_batch:
                size.learning_rate = self._request.recipe.learning_rate
                yield from self._counted(found, size, 0)

    def _noises(self) -> Trying[list[Noise]]:
        request, records = self._request, list[TrialRecord]()
        for number in range(NOISE_RUNS):
            spec = at_batch_size(
                self._template, request.reference_batch, kind="noise", recipe=request.recipe,
                noise_plan=request.noise_plan, seed=self._template.seed + APART + number,
            )  # fmt: skip
            reason = f"noise scale, for the gain rule, run {number + 1} of {NOISE_RUNS}"
            records.append((yield Wanted(spec=spec, reason=reason)))
        return noises_of([record for record in records if record.ok])

    def _rates(self, found: _Found, noise_scale: float | None, optimizer: OptimizerName) -> Trying[None]:
        """By rule from the reference; a search begins where the rule leads from the rate found last."""
        request = self._request
        rate, batch = request.recipe.learning_rate, request.reference_batch
        for size in found.going_on:
            by_rule = rate
            if size.batch_size != batch:
                by_rule = scaled_rate(request.rule, rate, batch, size.batch_size, optimizer, noise_scale)
            if request.rule != "tune":
                size.learning_rate = by_rule
                continue
            yield from self._tuned(found, size, by_rule)
            if size.learning_rate is not None:
                rate, batch = size.learning_rate, size.batch_size

    def _tuned(self, found: _Found, size: _Size, first: float) -> Trying[None]:
        best = yield from search_rate(
            first, lambda rate: self._score(found, size, rate), lambda: mean_seconds(size.tuning) < CHEAP_SECONDS
        )
        if best is None:
            size.given_up = True
        else:
            size.learning_rate, size.rate_at_edge = best.rate, best.at_edge

    def _score(self, found: _Found, size: _Size, rate: float) -> Trying[Score | None]:
        """The mean over the tuning seeds; one that diverges or fails settles it, and one that cannot run ends it."""
        ends: list[Score] = []
        for number in range(self._request.tuning_seeds):
            spec = self._spec(found, size.batch_size, rate, APART + number)
            reason = f"looking for the rate: {rate:.3g}, seed {number + 1} of {self._request.tuning_seeds}"
            record = yield Wanted(spec=spec, reason=reason)
            size.tuning.append(record)
            found.learn_from(record)
            if not found.has_accuracy or cannot_run(record):
                return None
            ends.append(end_of(record))
            if ends[-1] == DIVERGED:
                return DIVERGED
        accuracy, preference = (sum(parts) / len(ends) for parts in zip(*ends, strict=True))
        return accuracy, preference

    def _counted(self, found: _Found, size: _Size, number: int) -> Trying[None]:
        assert size.learning_rate is not None
        spec = self._spec(found, size.batch_size, size.learning_rate, number)
        record = yield Wanted(
            spec=spec, reason=f"rate {size.learning_rate:.3g}, seed {number + 1} of {self._request.seeds}"
        )
        size.counted.append(record)
        size.given_up = cannot_run(record)
        found.learn_from(record)

    def _spec(self, found: _Found, batch_size: int, rate: float, seed: int) -> TrialSpec:
        # The size that showed how many steps there are goes on as it began.
        steps = None if found.steps is None or found.steps[0] == batch_size else found.steps[1]
        recipe = recipe_at(self._request, batch_size, rate, steps)
        return at_batch_size(self._template, batch_size, kind="learn", recipe=recipe, seed=self._template.seed + seed)
