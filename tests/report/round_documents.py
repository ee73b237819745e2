"""Documents of tuning rounds as studies leave them."""

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from report.machines import bench, machine
from report.round_runs import record_of, runs_of, the_round
from traindyno.core.answers import (
    ArmRow,
    BestFound,
    BestOfK,
    Check,
    Document,
    Importance,
    IsolationRow,
    Origin,
    RangeProposal,
    RoundAnswer,
)
from traindyno.core.learning import Recipe
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.requests import RoundRequest
from traindyno.core.rounds import Round, RoundTrial
from traindyno.report.document import trial_entry


def arm_row(told: Round, arm: str, runs: Sequence[RoundTrial]) -> ArmRow:
    own = [run for run in runs if run.draw.arm == arm and run.draw.phase == "search"]
    scored = [run for run in own if run.feasible and run.score is not None]
    sign = 1 if told.metric.higher_is_better else -1
    best = max(scored, key=lambda run: sign * (run.score or 0.0), default=None)
    failed = [run.ending for run in own if not run.feasible]
    return ArmRow(
        arm=arm,
        trials=len(own),
        feasible=len(scored),
        infeasible={ending: failed.count(ending) for ending in dict.fromkeys(failed)},
        best_score=None if best is None else best.score,
        best_values={} if best is None else best.draw.values,
        best_index=None if best is None else best.draw.index,
        best_branch="",
        seconds=None if best is None else best.seconds,
        examples_per_second=None if best is None else best.examples_per_second,
    )


CHECKS = (
    Check(name="gate", state="passed", text="The incumbent learns: 97.1 % against 10 % by chance"),
    Check(
        name="boundary",
        state="failed",
        subject="learning_rate",
        text="5 of the best 8 runs of mlp:64x64x64 lie at the upper edge of learning_rate",
        next_step="widen learning_rate to 0.003 … 3 and add 8 trials",
    ),
    Check(name="boundary", state="passed", subject="momentum", text="The best runs lie inside of momentum"),
    Check(name="boundary", state="passed", subject="label_smoothing", text="All choices were tried"),
    Check(
        name="curves",
        state="warning",
        subject="mlp:64x64x64 search 7",
        text="The best run still improves at its end, by 0.8 points in the last fifth",
        next_step="train longer: epochs = 15",
    ),
    Check(name="infeasible", state="passed", text="4 of 48 runs have no score"),
    Check(name="spread", state="unknown", text="One seed shows no spread", next_step="set seeds.gate = 3"),
)
VERDICTS = (
    "A deeper network seems to help: with 15 draws each, mlp:64x64x64 is expected to reach 98.53 %, "
    "1.21 points above mlp:64 (0.80 to 1.62); `round adopt` would prove it",
    "Of the 1.5 points above the incumbent, 0.4 come from tuning its nuisances again",
)


def round_answer(told: Round | None = None, trials: int = 16, ready: bool = True, **changes: Any) -> RoundAnswer:
    told = told or the_round()
    runs = changes.pop("runs", runs_of(told, trials))
    arms = [str(value) for value in told.target.values] if told.target is not None else [""]
    rows = tuple(arm_row(told, arm, runs) for arm in arms)
    scored = [row for row in rows if row.best_score is not None]
    draws = min((row.feasible for row in scored), default=0)
    sign = 1 if told.metric.higher_is_better else -1
    best = max(scored, key=lambda row: sign * (row.best_score or 0.0), default=None)
    worse = 0.002 * sign

    def expected(row: ArmRow) -> float:
        return (row.best_score or 0.0) - worse

    isolation = tuple(
        IsolationRow(
            arm=row.arm,
            k=draws,
            expected_best=expected(row),
            ci95=(expected(row) - 0.004, expected(row) + 0.004),
            difference=None if row is scored[0] else expected(row) - expected(scored[0]),
            difference_ci95=None
            if row is scored[0]
            else (expected(row) - expected(scored[0]) - 0.004, expected(row) - expected(scored[0]) + 0.004),
        )
        for row in scored
    )
    gains = [sign * 0.03 * (1 - math.exp(-k / 4)) for k in range(1, draws + 1)]
    best_of_k = tuple(
        BestOfK(
            arm=row.arm,
            expected=tuple(expected(row) - sign * 0.03 + gain for gain in gains),
            low=tuple(expected(row) - sign * 0.03 + gain - 0.004 for gain in gains),
            high=tuple(expected(row) - sign * 0.03 + gain + 0.004 for gain in gains),
            saturated=None if draws < 8 else place != 1,
        )
        for place, row in enumerate(scored)
    )
    importance = tuple(
        Importance(
            parameter=each.name,
            arm=row.arm,
            importance=0.62 / (place + 1),
            ci95=(0.4 / (place + 1), 0.8 / (place + 1)),
            stable=0.96 - 0.2 * place % 0.5,
            is_important=place == 0,
        )
        for row in scored
        for place, each in enumerate(told.searched)
    )
    given: dict[str, Any] = {
        "round": told.name,
        "campaign": told.campaign,
        "goal": told.goal.kind,
        "question": told.goal.question,
        "metric": told.metric.name,
        "higher_is_better": told.metric.higher_is_better,
        "target": None if told.target is None else told.target.name,
        "ready": ready,
        "checks": tuple(each for each in CHECKS if not ready or each.state != "failed"),
        "arms": rows,
        "isolation": isolation,
        "best_of_k": best_of_k,
        "importance": importance,
        "proposals": (
            RangeProposal(
                parameter="learning_rate",
                kind="narrow",
                reason="all runs within 0.5 points of the best lie there",
                low=0.03,
                high=0.6,
            ),
            RangeProposal(parameter="label_smoothing", kind="fix", reason="it explains nothing", value=0.0),
            RangeProposal(parameter="momentum", kind="keep", reason="its best values lie across the range"),
        ),
        "incumbent": told.incumbent,
        "incumbent_scores": tuple(run.score for run in runs if run.draw.phase == "gate" and run.score is not None),
        "best": None
        if best is None
        else BestFound(
            arm=best.arm,
            score=best.best_score or 0.0,
            configuration={**told.job.values, **best.best_values},
            index=best.best_index or 0,
            branch="",
        ),
        "origin": Origin(incumbent=0.971, retuned=0.975, best=0.986, text="0.4 of 1.5 points come from tuning again"),
        "runs": runs,
        "planned_trials": len(runs),
        "verdicts": VERDICTS if ready and scored else (),
        "seconds": 431.0,
    }
    return RoundAnswer(**given | changes)


def request_of(told: Round) -> RoundRequest:
    return RoundRequest(
        workload=WorkloadSpec(model="mlp:64", data="digits:"),
        bench=bench(device="cpu"),
        settings=Settings(batch_size=64),
        round=told,
        recipe=Recipe(learning_rate=0.1, schedule="constant"),
    )


def round_document(
    told: Round | None = None, trials: int = 16, command: str = "round run", answer: Any = None, **changes: Any
) -> Document:
    told = told or the_round()
    answer = answer or round_answer(told, trials, **changes)
    return Document(
        command=command,
        study=told.name,
        answer=answer,
        trials=tuple(trial_entry(record_of(run)) for run in answer.runs),
        machine=machine(),
        request=msgspec.to_builtins(request_of(told)),
        created="2025-06-01T12:00:00Z",
        state="done",
        hint="traindyno round adopt depth",
    )


def undecided_round_document() -> Document:
    """A check forbids the conclusion."""
    return round_document(ready=False)
