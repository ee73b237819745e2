"""Dry runs of `round run` and `round adopt`."""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.rounds.proof_cost import expected_seconds
from traindyno.app.rehearsals.telling import limit_seconds, limit_words, settled, told
from traindyno.app.rounds.adopt_plan import planned_proof, proof_lines
from traindyno.app.rounds.plan import round_lines
from traindyno.app.rounds.requests import check_round_request
from traindyno.app.rounds.run import question_of
from traindyno.core.answers import Rehearsal
from traindyno.core.answers.rounds import AdoptRehearsal
from traindyno.core.requests import AdoptRequest, RoundRequest
from traindyno.core.round_space import planned_trials
from traindyno.core.units import count_of


def rehearse_round(request: RoundRequest) -> Rehearsal:
    """The gate, and then the search in every arm; how long a run takes, the first one tells."""
    bench = settled(request.bench)
    request = msgspec.structs.replace(request, bench=bench)
    check_round_request(request)
    expected = planned_trials(request.round)
    runs = "as many runs as there is time for" if expected is None else f"about {count_of(expected, 'run')}"
    lines = [f"round {request.round.name}: {question_of(request.round)}", *round_lines(request)]
    lines.append(f"{runs}, {limit_words(bench)}")
    return told("round run", bench, bench.precision, expected or 0, limit_seconds(bench), lines)


def rehearse_adopt(request: AdoptRequest, store: str, remarks: Sequence[str] = ()) -> AdoptRehearsal:
    """The fresh seeds of every candidate; the round's own runs tell how long they take."""
    bench, rows = settled(request.bench), planned_proof(request, store)
    to_go, lines = sum(row.runs_to_go for row in rows), proof_lines(request, rows, remarks)
    plain = told("round adopt", bench, bench.precision, to_go, limit_seconds(bench), lines)
    return AdoptRehearsal(
        **msgspec.structs.asdict(plain),
        round=request.round_study,
        incumbent=rows[0],
        candidates=rows[1:],
        seeds=request.looks[-1],
        expected_seconds=expected_seconds(rows),
    )
