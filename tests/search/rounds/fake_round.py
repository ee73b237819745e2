"""A round that exists only on paper: the score falls with the distance of the learning rate from the best one."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from search.fake_device import failed
from traindyno.core.learning import Evaluation, Learning, Recipe
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure, Measurement, Memory, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.requests import Bench, RoundRequest
from traindyno.core.rounds import Draw, Goal, Parameter, Range, Round, RoundBudget, RoundJob, Seeds, Value
from traindyno.search.strategy import SharedStrategy

SEED = 7


def nuisance(name: str, low: float, high: float, scale: str = "linear", **others: Any) -> Parameter:
    whole = others.pop("integer", False)
    return Parameter(name=name, role="nuisance", range=Range(low=low, high=high, scale=scale, integer=whole), **others)


RATE = nuisance("learning_rate", 0.001, 1.0, "log")
DECAY = nuisance("weight_decay", 0.0, 0.01)
DEPTH = Parameter(name="model", role="target", values=("mlp:64", "mlp:64x64", "mlp:64x64x64"))
OPTIMIZER = Parameter(name="optimizer", role="nuisance", values=("sgd", "adam"))
MOMENTUM = nuisance("sgd_momentum", 0.0, 0.95, sets="momentum", under=("optimizer", "sgd"))


def a_round(*parameters: Parameter, **changes: Any) -> Round:
    given: dict[str, Any] = {
        "name": "depth",
        "goal": Goal(kind="helps"),
        "job": RoundJob(model="mlp:64", data="digits:", values={"batch_size": 64, "schedule": "constant"}),
        "parameters": parameters or (DEPTH, RATE, DECAY),
        "budget": RoundBudget(trials=6),
        "seeds": Seeds(gate=2),
        "incumbent": {"learning_rate": 0.1},
    }
    return Round(**{**given, **changes})


def request_for(round: Round) -> RoundRequest:
    return RoundRequest(
        workload=WorkloadSpec(model=round.job.function or round.job.model or "mlp:64", data=round.job.data),
        bench=Bench(seed=SEED, device="cuda", precision="bf16"),
        settings=Settings(batch_size=64),
        round=round,
        recipe=None if round.job.function else Recipe(learning_rate=0.5),
    )


def template_for(request: RoundRequest) -> TrialSpec:
    return TrialSpec(
        kind="fit", workload=request.workload, settings=Settings(batch_size=1, device="cuda", precision="bf16")
    )


def score(values: dict[str, Value]) -> float:
    """Best at a rate of 0.1; the rest hardly matters."""
    return 0.95 - 0.05 * abs(math.log10(float(values["learning_rate"]) / 0.1))


def ran(spec: TrialSpec, scored: Callable[[dict[str, Value]], float] = score, **learnt: Any) -> TrialRecord:
    """The trial with its end: a curve that rises to its score."""
    recipe = spec.recipe
    assert recipe is not None
    end = scored({"learning_rate": recipe.learning_rate, "momentum": recipe.momentum})
    evaluations = tuple(_evaluation(10 * step, end * step / 4, 2.5 - 0.5 * step) for step in range(1, 5))
    shown: dict[str, Any] = {
        "evaluations": evaluations, "steps": 40, "planned_steps": 40, "examples": 2560, "seconds": 4.0,
        "evaluation_seconds": 0.4, "training_examples": 1000, "evaluation_examples": 500, "classes": 10,
    }  # fmt: skip
    measurement = Measurement(
        batch_size=spec.settings.batch_size, steps=40, step_seconds=0.1, ci95=(0.1, 0.1), steady=True, blocks=(),
        memory=Memory(peak_bytes=1), start_up_seconds=0.0, first_step_seconds=0.0, warm_up_seconds=0.0,
        warm_up_steps=0, learning=Learning(**{**shown, **learnt}),
    )  # fmt: skip
    return TrialRecord(spec=spec, outcome=Outcome.OK, seconds=5.0, measurement=measurement)


def _evaluation(step: int, accuracy: float, loss: float) -> Evaluation:
    return Evaluation(
        step=step, examples=64 * step, seconds=0.1 * step, loss=loss, accuracy=accuracy, training_loss=loss,
        learning_rate=0.1,
    )  # fmt: skip


def crashed(spec: TrialSpec, outcome: Outcome = Outcome.CRASH) -> TrialRecord:
    return failed(spec, Failure(outcome=outcome, message="it ended", remedy="none"))


def run_through(
    strategy: SharedStrategy,
    history: Sequence[TrialRecord] = (),
    ends: Callable[[TrialSpec], TrialRecord] = ran,
    most: int = 1000,
) -> list[TrialRecord]:
    """The whole study after a history, one run after the other."""
    records = list(history)
    while len(records) < most and (proposal := strategy.ask(records, [])) is not None:
        records.append(ends(proposal.spec))
    return records


def draws_of(records: Sequence[TrialRecord], *phases: str) -> list[Draw]:
    draws = [record.spec.draw for record in records if record.spec.draw is not None]
    return [draw for draw in draws if not phases or draw.phase in phases]
