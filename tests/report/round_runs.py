"""A tuning round and its runs, from a learner on paper."""

import math
from typing import Any

from traindyno.core.learning import Evaluation, Learning, Recipe
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure, Measurement, Memory, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.rounds import (
    CurvePlace,
    Draw,
    Ending,
    Goal,
    Parameter,
    Range,
    Round,
    RoundBudget,
    RoundJob,
    RoundMetric,
    RoundTrial,
    Value,
)

ARMS = ("mlp:64", "mlp:64x64", "mlp:64x64x64")
QUESTION = "Does a deeper network help?"
INCUMBENT: dict[str, Value] = {"model": "mlp:64", "learning_rate": 0.1, "momentum": 0.9, "label_smoothing": 0.0}
GOLDEN = 0.6180339887


def parameter(name: str, low: float, high: float, scale: Any = "log", **changes: Any) -> Parameter:
    return Parameter(name=name, role="nuisance", range=Range(low=low, high=high, scale=scale), **changes)


def the_round(**changes: Any) -> Round:
    given: dict[str, Any] = {
        "name": "depth",
        "campaign": "digits",
        "goal": Goal(kind="helps", question=QUESTION),
        "job": RoundJob(model="mlp:64", data="digits:", values={"epochs": 10, "batch_size": 64}),
        "parameters": (
            Parameter(name="model", role="target", values=ARMS),
            parameter("learning_rate", 0.003, 1.0),
            parameter("momentum", 0.0, 0.98, "linear"),
            Parameter(name="label_smoothing", role="nuisance", values=(0.0, 0.05, 0.1)),
            Parameter(name="weight_decay", role="fixed", value=0.0, caveat="the answer holds without weight decay"),
        ),
        "budget": RoundBudget(trials=16),
        "metric": RoundMetric(),
        "incumbent": INCUMBENT,
        "minimum_gain": 0.002,
    }
    return Round(**given | changes)


def values_of(told: Round, arm: str, index: int) -> dict[str, Value]:
    """A point of the space, spread as a search would spread it."""
    values: dict[str, Value] = {} if told.target is None else {told.target.name: arm}
    for place, each in enumerate(told.searched, start=1):
        unit = (index * GOLDEN * place + 0.37 * place + 0.11 * len(arm)) % 1
        if each.range is None:
            values[each.name] = each.values[int(unit * len(each.values))]
        elif each.range.scale == "log":
            values[each.name] = math.exp(
                math.log(each.range.low) + unit * (math.log(each.range.high) - math.log(each.range.low))
            )
        else:
            values[each.name] = each.range.low + unit * (each.range.high - each.range.low)
    return values


def run_of(told: Round, arm: str, index: int, phase: Any = "search") -> RoundTrial:
    """Best at a rate of 0.15 without much momentum; the deeper the better, and hot runs diverge."""
    values = values_of(told, arm, index) if phase == "search" else dict(INCUMBENT)
    rate = values.get("learning_rate", 0.1)
    hot = float(rate) / (1 - 0.9 * float(values.get("momentum", 0.0)))
    depth = ARMS.index(arm) if arm in ARMS else 0
    score = 0.975 + 0.006 * depth - 0.02 * math.log10(hot / 0.4) ** 2 + 0.004 * math.sin(7.3 * index + depth)
    ending: Ending = "diverged" if hot > 2.5 else "out_of_memory" if index == 11 and depth == 2 else "ok"
    accurate = told.metric.name == "accuracy"
    score = max(0.1, min(1.0, score)) if accurate else max(0.01, 8 * (1 - score))
    shares = [each / 10 for each in range(1, 11)]
    curve = tuple(
        CurvePlace(
            share=share,
            value=score * (1 - 0.4 * math.exp(-6 * share)) if accurate else score * (1 + 3 * math.exp(-5 * share)),
            loss=0.15 + 2 * math.exp(-5 * share),
            training_loss=0.1 + 2 * math.exp(-6 * share),
        )
        for share in shares
    )
    return RoundTrial(
        draw=Draw(phase=phase, arm=arm, index=index, values=values),
        ending=ending,
        score=score if ending == "ok" else None,
        curve=curve if ending != "out_of_memory" else (),
        seed=index if phase == "gate" else 1000 + index,
        seconds=2.1 + 0.4 * depth,
        examples_per_second=9500.0 - 1200 * depth,
        classes=10,
        evaluation_examples=360,
        message="the loss is not finite" if ending == "diverged" else None,
    )


def runs_of(told: Round, trials: int) -> tuple[RoundTrial, ...]:
    arms = [str(value) for value in told.target.values] if told.target is not None else [""]
    gate = [run_of(told, arms[0], index, "gate") for index in range(told.seeds.gate)]
    return (*gate, *(run_of(told, arm, index) for index in range(trials) for arm in arms))


def record_of(run: RoundTrial) -> TrialRecord:
    """What the ledger has of a run."""
    spec = TrialSpec(
        kind="learn",
        workload=WorkloadSpec(model=str(run.draw.values.get("model", "mlp:64")), data="digits:"),
        settings=Settings(batch_size=64),
        seed=run.seed,
        recipe=Recipe(learning_rate=float(run.draw.values.get("learning_rate", 0.1)), schedule="constant"),
        draw=run.draw,
    )
    if run.ending == "out_of_memory":
        told = Failure(outcome=Outcome.OUT_OF_HOST_MEMORY, message="no memory left", remedy="take a smaller batch")
        return TrialRecord(spec=spec, outcome=Outcome.OUT_OF_HOST_MEMORY, seconds=1.0, failure=told)
    evaluations = tuple(
        Evaluation(
            step=round(220 * place.share),
            examples=round(14080 * place.share),
            seconds=run.seconds * place.share,
            loss=place.loss or 0.0,
            accuracy=place.value,
            training_loss=place.training_loss or 0.0,
            learning_rate=0.1,
        )
        for place in run.curve
    )
    learning = Learning(
        evaluations=evaluations,
        steps=220,
        planned_steps=220,
        examples=14080,
        seconds=run.seconds,
        evaluation_seconds=0.1,
        training_examples=1437,
        evaluation_examples=360,
        classes=10,
        diverged=run.ending == "diverged",
        pruned=run.ending == "pruned",
    )
    measurement = Measurement(
        batch_size=64,
        steps=220,
        step_seconds=run.seconds / 220,
        ci95=(run.seconds / 220, run.seconds / 220),
        steady=True,
        blocks=(),
        memory=Memory(peak_bytes=10**8),
        start_up_seconds=0.5,
        first_step_seconds=0.1,
        warm_up_seconds=0.0,
        warm_up_steps=0,
        learning=learning,
    )
    return TrialRecord(spec=spec, outcome=Outcome.OK, seconds=run.seconds + 1, measurement=measurement)
