"""Documents of tuning rounds as studies leave them, from a learner on paper."""

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from report.machines import bench, machine
from traindyno.core.answers import (
    AdoptAnswer,
    ArmRow,
    BestFound,
    BestOfK,
    CandidateRow,
    Check,
    Document,
    Importance,
    IsolationRow,
    LedgerAnswer,
    LedgerEntry,
    Origin,
    RangeProposal,
    RoundAnswer,
)
from traindyno.core.learning import Evaluation, Learning, Recipe
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure, Measurement, Memory, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.requests import AdoptRequest, Candidate, RoundRequest
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
from traindyno.report.document import trial_entry

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


CANDIDATES = (
    CandidateRow(
        label="incumbent",
        configuration=INCUMBENT,
        changes={},
        scores=(0.9694, 0.9722, 0.9667, 0.975, 0.9722, 0.9694),
        mean=0.9708,
        sd=0.0029,
        seconds=2.1,
    ),
    CandidateRow(
        label="mlp:64x64",
        configuration=INCUMBENT | {"model": "mlp:64x64"},
        changes={"model": "mlp:64x64"},
        scores=(0.9722, 0.975, 0.9667, 0.9778, 0.0, 0.9722),
        mean=0.9728,
        sd=0.0041,
        failed=1,
        gain=0.002,
        ci95=(-0.0021, 0.0061),
        p_value=0.31,
        test="exact permutation",
        verdict="undecided",
        search_score=0.9806,
        seconds=2.4,
    ),
    CandidateRow(
        label="mlp:64x64x64",
        configuration=INCUMBENT | {"model": "mlp:64x64x64", "learning_rate": 0.1834},
        changes={"model": "mlp:64x64x64", "learning_rate": 0.1834},
        scores=(0.9833, 0.9861, 0.9806, 0.9833, 0.9861, 0.9806),
        mean=0.9833,
        sd=0.0025,
        gain=0.0125,
        ci95=(0.0091, 0.0159),
        p_value=0.0043,
        test="exact permutation",
        verdict="adopt",
        search_score=0.9889,
        seconds=2.9,
    ),
)


def adopt_answer(**changes: Any) -> AdoptAnswer:
    given: dict[str, Any] = {
        "round": "depth",
        "campaign": "digits",
        "goal": "helps",
        "question": QUESTION,
        "metric": "accuracy",
        "higher_is_better": True,
        "verdict": "adopt",
        "winner": "mlp:64x64x64",
        "p_value": 0.0043,
        "gain": 0.0125,
        "ci95": (0.0091, 0.0159),
        "seeds": 6,
        "needed_seeds": None,
        "minimum_gain": 0.002,
        "level": 0.05,
        "spent": 0.0,
        "rows": CANDIDATES,
        "configuration": CANDIDATES[2].configuration,
        "commit": "1f0c9e2a7b+",
        "verdicts": (
            "Adopt mlp:64x64x64: it gains 1.25 points (0.91 to 1.59) over 6 fresh seeds, p = 0.0043",
            "The search had seen 98.89 %, 0.56 points more than the fresh seeds show: it had picked its best run",
        ),
        "seconds": 88.0,
    }
    return AdoptAnswer(**given | changes)


def adopt_document(told: Round | None = None, **changes: Any) -> Document:
    answer = adopt_answer(**changes)
    request = AdoptRequest(
        workload=WorkloadSpec(model="mlp:64", data="digits:"),
        bench=bench(device="cpu"),
        settings=Settings(batch_size=64),
        round=told or the_round(),
        round_study="depth",
        candidates=tuple(
            Candidate(label=row.label, values=row.configuration, changes=row.changes) for row in answer.rows
        ),
        looks=(6,),
        first_seed=1_000_000,
        recipe=Recipe(learning_rate=0.1, schedule="constant"),
    )
    return Document(
        command="round adopt",
        study="depth.adopt",
        answer=answer,
        machine=machine(),
        request=msgspec.to_builtins(request),
        created="2025-06-01T13:00:00Z",
        state="done",
        hint="traindyno round next depth",
    )


def entry(name: str, verdict: Any, mean: float | None, gain: float | None, **changes: Any) -> LedgerEntry:
    given: dict[str, Any] = {
        "round": name,
        "study": f"{name}.adopt",
        "decided": "2025-06-01T13:00:00Z",
        "verdict": verdict,
        "question": QUESTION,
        "changes": {"model": "mlp:64x64x64", "learning_rate": 0.1834} if verdict == "adopt" else {},
        "configuration": INCUMBENT,
        "gain": gain,
        "ci95": None if gain is None else (gain - 0.004, gain + 0.004),
        "p_value": 0.0043,
        "seeds": 6,
        "mean": mean,
        "sd": 0.003,
        "metric": "accuracy",
        "commit": "1f0c9e2a7b",
        "command": f"traindyno round adopt {name} --seeds 6",
    }
    return LedgerEntry(**given | changes)


ENTRIES = (
    entry("initial", "adopt", 0.941, 0.02, stale="the batch size changed from 64 to 128"),
    entry("depth", "adopt", 0.9833, 0.0125),
    entry("optimizer", "keep", 0.9833, -0.004),
    entry("regularisation", "undecided", 0.9833, 0.001, question=None, commit=None),
)


def ledger_document(**changes: Any) -> Document:
    given: dict[str, Any] = {
        "campaign": "digits",
        "entries": ENTRIES,
        "configuration": INCUMBENT | {"model": "mlp:64x64x64"},
        "verdicts": ("1 of 2 adopted results is stale: tune initial again",),
    }
    return Document(command="round ledger", study=None, answer=LedgerAnswer(**given | changes))
