"""Requests and fresh runs for tests of decisions, with all filled in that a test does not care about."""

from collections.abc import Mapping, Sequence

from traindyno.core.learning import Evaluation, Learning, Recipe
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Measurement, Memory, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.requests import AdoptRequest, Bench, Candidate
from traindyno.core.rounds import Configuration, Draw, Goal, Parameter, Phase, Round, RoundBudget, RoundJob, RoundMetric

INCUMBENT: Configuration = {"model": "mlp:64", "learning_rate": 0.1, "weight_decay": 0.001}
Scores = Mapping[str, Sequence[float | None]]


def adoption(
    scores: Scores,
    *,
    looks: tuple[int, ...] | None = None,
    minimum_gain: float = 0.0,
    metric: str = "accuracy",
    changes: Mapping[str, Configuration] | None = None,
    search_score: float | None = None,
) -> AdoptRequest:
    """One candidate for each name but the first, which is the incumbent's."""
    first, *others = scores
    named = {label: (changes or {}).get(label, {"model": label}) for label in others}
    return AdoptRequest(
        workload=WorkloadSpec(model="mlp:64", data="digits:"),
        bench=Bench(),
        settings=Settings(batch_size=64),
        round=Round(
            name="depth",
            goal=Goal(kind="helps", question="Does a deeper network help?"),
            job=RoundJob(model="mlp:64", data="digits:"),
            parameters=(Parameter(name="model", role="target", values=("mlp:64", "mlp:64x64")),),
            budget=RoundBudget(trials=8),
            metric=RoundMetric(name=metric, higher_is_better=metric != "loss"),
            minimum_gain=minimum_gain,
        ),
        round_study="depth",
        candidates=(
            Candidate(label=first, values=INCUMBENT),
            *(
                Candidate(label=label, values={**INCUMBENT, **new}, changes=new, search_score=search_score)
                for label, new in named.items()
            ),
        ),
        looks=looks or (len(scores[first]),),
        first_seed=1_000_000,
        recipe=Recipe(learning_rate=0.1),
    )


def fresh_runs(scores: Scores, *, metric: str = "accuracy", examples: int = 360) -> list[TrialRecord]:
    """Runs of every candidate; null is one that diverged."""
    return [
        run(label, index, score, metric=metric, examples=examples)
        for label, several in scores.items()
        for index, score in enumerate(several)
    ]


def run(
    label: str,
    index: int,
    score: float | None,
    *,
    phase: Phase = "confirm",
    metric: str = "accuracy",
    examples: int = 360,
    outcome: Outcome = Outcome.OK,
) -> TrialRecord:
    spec = TrialSpec(
        kind="learn",
        workload=WorkloadSpec(model="mlp:64", data="digits:"),
        settings=Settings(batch_size=64),
        seed=1_000_000 + index,
        draw=Draw(phase=phase, arm=label, index=index, values={}),
    )
    if outcome is not Outcome.OK:
        return TrialRecord(spec=spec, outcome=outcome, seconds=2.0)
    learning = Learning(
        evaluations=(
            Evaluation(
                step=100,
                examples=6400,
                seconds=1.0,
                loss=(score or 0.0) if metric == "loss" else 0.5,
                accuracy=0.1 if score is None else score if metric == "accuracy" else 0.9,
                training_loss=0.4,
                learning_rate=0.1,
            ),
        ),
        steps=100,
        planned_steps=100,
        examples=6400,
        seconds=1.0,
        evaluation_seconds=0.1,
        training_examples=1437,
        evaluation_examples=examples,
        classes=10,
        diverged=score is None,
    )
    measurement = Measurement(
        batch_size=64,
        steps=100,
        step_seconds=0.01,
        ci95=(0.009, 0.011),
        steady=True,
        blocks=(),
        memory=Memory(peak_bytes=10**8),
        start_up_seconds=0.1,
        first_step_seconds=0.1,
        warm_up_seconds=0.0,
        warm_up_steps=0,
        learning=learning,
    )
    return TrialRecord(spec=spec, outcome=Outcome.OK, seconds=2.0, measurement=measurement)
