"""A learner that exists only on paper: accuracy falls with the distance of the rate from the best one for its batch."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from search.fake_device import failed
from traindyno.core.learning import Evaluation, Learning, Noise, NoiseReading, Recipe
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure, Measurement, Memory, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.requests import AccuracyRequest, Bench
from traindyno.search.accuracy import AccuracyPlan

EXAMPLES = 1000


@dataclass
class FakeLearner:
    """`best_rate` by batch; a rate of more than eight times it diverges. `seed_spread` moves accuracies."""

    best_rate: Callable[[int], float] = lambda batch_size: 0.01 * batch_size
    top: float = 0.9
    seed_spread: float = 0.0
    noise_scale: float | None = 100.0
    seconds: float = 1.0
    has_classes: bool = True
    preconditioned: bool = False
    norm_examples: Callable[[int], int | None] = lambda batch_size: None
    failures: dict[tuple[int, int], Failure] = field(default_factory=dict)

    def run(self, spec: TrialSpec) -> TrialRecord:
        assert spec.recipe is not None
        if (why := self.failures.get((spec.settings.batch_size, spec.seed))) is not None:
            return failed(spec, why)
        shown = self._noise(spec) if spec.kind == "noise" else self._learning(spec, spec.recipe)
        measurement = Measurement(
            batch_size=spec.settings.batch_size, steps=1, step_seconds=1.0, ci95=(1.0, 1.0), steady=True, blocks=(),
            memory=Memory(peak_bytes=1), start_up_seconds=0.0, first_step_seconds=0.0, warm_up_seconds=0.0,
            warm_up_steps=0, **{spec.kind.replace("learn", "learning"): shown},
        )  # fmt: skip
        return TrialRecord(spec=spec, outcome=Outcome.OK, seconds=self.seconds, measurement=measurement)

    def _learning(self, spec: TrialSpec, recipe: Recipe) -> Learning:
        size = spec.settings.batch_size
        steps = recipe.steps or max(1, round(recipe.epochs * EXAMPLES / size))
        distance = math.log2(recipe.learning_rate / self.best_rate(size))
        diverged = distance > 3
        chance = random.Random(f"{size} {spec.seed}").gauss(0, self.seed_spread)
        end = 0.1 if diverged else self.top - 0.02 * distance**2 + chance
        on_the_way = end + 0.05
        made = steps // 2 if diverged else steps
        return Learning(
            evaluations=(
                _evaluation(max(1, made - 1), size, on_the_way),
                _evaluation(made, size, end, self.has_classes),
            ),
            steps=made,
            planned_steps=steps,
            examples=made * size,
            seconds=made * 0.01,
            evaluation_seconds=0.1,
            training_examples=EXAMPLES,
            evaluation_examples=500,
            classes=10 if self.has_classes else None,
            norm_examples=self.norm_examples(size),
            diverged=diverged,
        )

    def _noise(self, spec: TrialSpec) -> Noise:
        scale = self.noise_scale
        reading = NoiseReading(step=0, examples=0, loss=1.0, gradient_squared=1.0, noise_trace=scale or 0.0)
        readings = (reading,) * 40 if scale is not None else ()
        return Noise(
            readings=readings,
            micro_batch=8,
            micro_batches=16,
            preconditioned=self.preconditioned,
            training_examples=EXAMPLES,
            steps=40,
        )


def _evaluation(step: int, size: int, accuracy: float, has_classes: bool = True) -> Evaluation:
    return Evaluation(
        step=step, examples=step * size, seconds=step * 0.01, loss=3 - accuracy,
        accuracy=min(1.0, accuracy) if has_classes else None, training_loss=1.0, learning_rate=0.1,
    )  # fmt: skip


def asked(**changes: object) -> AccuracyRequest:
    given: dict[str, object] = {
        "workload": WorkloadSpec(model="mlp:64", data="digits:"),
        "bench": Bench(),
        "settings": Settings(batch_size=32),
        "sizes": (32, 64, 128),
        "recipe": Recipe(learning_rate=0.32, epochs=10.0),
        "reference_batch": 32,
        "rule": "linear",
        **changes,
    }
    return AccuracyRequest(**given)  # type: ignore[arg-type]


def plan_of(request: AccuracyRequest) -> AccuracyPlan:
    template = TrialSpec(kind="fit", workload=request.workload, settings=request.settings, seed=request.bench.seed)
    return AccuracyPlan(template, request)


def trained(request: AccuracyRequest, learner: FakeLearner, most: int = 300) -> list[TrialRecord]:
    """Let the plan ask until it has enough."""
    plan, history = plan_of(request), []
    while (proposal := plan.ask(history)) is not None:
        assert len(history) < most, "the plan does not come to an end"
        history.append(learner.run(proposal.spec))
    return history
