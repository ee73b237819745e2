"""Documents of adoptions and of the ledger as they are left by proofs."""

from typing import Any

import msgspec

from report.machines import bench, machine
from report.round_runs import INCUMBENT, QUESTION, the_round
from traindyno.core.answers import AdoptAnswer, CandidateRow, Document, LedgerAnswer, LedgerEntry
from traindyno.core.learning import Recipe
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.requests import AdoptRequest, Candidate
from traindyno.core.rounds import Round

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
