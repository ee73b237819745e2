"""From a round that was run to the proof that its best ones need: which candidates, and how many fresh seeds."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from traindyno.analysis.rounds.adoption_runs import completed_looks
from traindyno.analysis.rounds.candidates import candidates_of
from traindyno.app.rounds.adopt_checks import passed_over
from traindyno.app.rounds.adopt_looks import check_price, check_seeds, looks_of
from traindyno.app.rounds.analyse import analysed
from traindyno.app.rounds.commit import commit_of
from traindyno.core.answers.rounds import RoundAnswer
from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.requests import AdoptRequest, Bench, Candidate, RoundRequest
from traindyno.core.rounds import Round
from traindyno.store.ledger import Ledger, StudyRow

FRESH = 1_000_000
"""Added to the round's first seed; no search is so long that it comes there."""
APART, PLACES = 1000, 1_000_000
"""Every round has its own place for so many fresh seeds: on the same ones an incumbent would keep its luck."""


def adopt_name(round_study: str) -> str:
    """The study in which the best of a round are proved."""
    return f"{round_study}.adopt"


def first_fresh_seed(round_: Round, round_study: str, seed: int) -> int:
    """Where a round's fresh seeds begin: the same whenever it is asked, and other than those of other rounds."""
    place = int.from_bytes(hashlib.sha256(f"{round_.campaign}/{round_study}".encode()).digest()[:8]) % PLACES
    return seed + FRESH + APART * place


def adopt_request(
    store: str,
    round_study: str,
    *,
    seeds: int | None = None,
    arms: Sequence[str] = (),
    despite_checks: bool = False,
    minimum_gain: float | None = None,
    bench: Mapping[str, Any] | None = None,
) -> tuple[AdoptRequest, tuple[str, ...]]:
    """The request, and remarks on what is left out of it. `bench` are its fields that are to be other than the round's.

    A proof that was begun keeps its candidates; more seeds are a further look at it. One that is finished can be shown
    again whatever the round's checks say by now.
    """
    with Ledger.open_to_read(store) as ledger:
        begun = _begun(ledger, adopt_name(round_study))
        records = [] if begun is None else ledger.trials(begun.id)
    searched = analysed(round_study, store)
    request, answer = searched.request, searched.answer
    before = None if begun is None else _request_of(begun)
    check_price(before, records, minimum_gain)
    looks = (seeds or request.round.seeds.adopt,) if before is None else looks_of(before, records, seeds)
    is_finished = before is not None and completed_looks(before, records) == looks
    failed = () if is_finished else passed_over(answer, round_study, despite_checks=despite_checks)
    candidates, remarks = _candidates(request, answer, arms, before)
    check_seeds(looks, len(candidates) - 1)
    asked = AdoptRequest(
        workload=request.workload,
        bench=proof_bench(request.bench, bench or {}),
        settings=request.settings,
        round=_priced(request.round if before is None else before.round, minimum_gain),
        round_study=round_study,
        candidates=candidates,
        looks=looks,
        first_seed=before.first_seed
        if before is not None
        else first_fresh_seed(request.round, round_study, request.bench.seed),
        recipe=request.recipe,
        commit=commit_of(request.workload),
        arms=tuple(arms) if before is None else before.arms,
        failed_checks=failed or (() if before is None else before.failed_checks),
    )
    return asked, tuple(remarks)


def _priced(round_: Round, minimum_gain: float | None) -> Round:
    """The round with another price of complexity, if one was named."""
    return round_ if minimum_gain is None else msgspec.structs.replace(round_, minimum_gain=minimum_gain)


def _left_out(arms: Sequence[str]) -> list[str]:
    if not arms:
        return []
    return [f"Left out, for the search saw better ones: {', '.join(arms)}. Name them with --arm to prove them too."]


def _others_since(before: AdoptRequest, found: Sequence[Candidate]) -> list[str]:
    now = {candidate.arm: candidate.values for candidate in found}
    if all(now.get(candidate.arm, candidate.values) == candidate.values for candidate in before.candidates):
        return []
    return [
        "The round has found other best ones since this proof was begun; it goes on with those that it had. Ask about "
        "the new ones in a round of their own."
    ]


def _begun(ledger: Ledger, name: str) -> StudyRow | None:
    return next((row for row in ledger.studies() if row.name == name and isinstance(row.request, AdoptRequest)), None)


def _request_of(begun: StudyRow) -> AdoptRequest:
    assert isinstance(begun.request, AdoptRequest)
    return begun.request


def _candidates(
    request: RoundRequest, answer: RoundAnswer, arms: Sequence[str], before: AdoptRequest | None
) -> tuple[tuple[Candidate, ...], list[str]]:
    """Those to prove, and what there is to say of them: a proof that was begun keeps its own, or what is named."""
    known = [row.arm for row in answer.arms]
    for arm in arms:
        if arm not in known:
            raise UsageError(f"the round has no arm {arm!r}", f"it has {', '.join(each or 'none' for each in known)}")
    found, left_out = candidates_of(request.round, answer, arms)
    if before is not None and (not arms or set(arms) == set(before.arms)):
        return before.candidates, _left_out(left_out) if before.candidates == found else _others_since(before, found)
    if len(found) == 1:
        raise TraindynoError(
            "the best that the search has found is the incumbent itself", "there is nothing to prove: ask another round"
        )
    return found, _left_out(left_out)


def proof_bench(bench: Bench, changes: Mapping[str, Any]) -> Bench:
    """The round's own, in the user's words; a time budget is for one command alone."""
    if "seed" in changes:
        raise UsageError("fresh seeds follow from the round's own, so that nobody picks them", "leave the seed away")
    asked = msgspec.structs.replace(bench.asked, **{"time_budget_seconds": None, **changes})
    if asked.executor == "local" and "address" in changes:
        raise UsageError("--address names a Ray cluster, and runs go on this machine", "add --executor ray")
    return asked if asked.executor == "ray" else msgspec.structs.replace(asked, address=None)
