"""What a proof would do, in lines: which candidates against which incumbent, how many fresh seeds, how long."""

from collections.abc import Iterator, Sequence

from traindyno.analysis.rounds.proof_cost import expected_seconds, proof_rows
from traindyno.app.rounds.adopt_request import adopt_name
from traindyno.app.rounds.analyse import analysed
from traindyno.core.answers.rounds import ProofRow
from traindyno.core.requests import AdoptRequest
from traindyno.core.round_space import label_of
from traindyno.core.rounds import Configuration
from traindyno.core.units import count_of, format_seconds
from traindyno.store.ledger import Ledger


def planned_proof(request: AdoptRequest, store: str) -> tuple[ProofRow, ...]:
    """Every candidate of the proof with the runs that are there and those to come, the incumbent first."""
    with Ledger.open_to_read(store) as ledger:
        begun = next((row for row in ledger.studies() if row.name == adopt_name(request.round_study)), None)
        proved = [] if begun is None else ledger.trials(begun.id)
    return proof_rows(request, analysed(request.round_study, store).records, proved)


def proof_lines(request: AdoptRequest, rows: Sequence[ProofRow], remarks: Sequence[str]) -> list[str]:
    """The proof as it is understood."""
    incumbent, *candidates = rows
    metric, seeds = request.round.metric, request.looks[-1]
    wanted = "higher" if metric.higher_is_better else "lower"
    return [
        f"proof of {request.round_study}: {count_of(len(candidates), 'candidate')} against the incumbent",
        f"by {metric.name}, {wanted} is better; minimum gain {request.round.minimum_gain:g}",
        f"incumbent: {_values(incumbent.configuration)}",
        *(f"candidate {row.label}: {_values(row.changes)}; all else as the incumbent" for row in candidates),
        f"fresh seeds: {seeds} of each, the same for all",
        *_runs(rows, request.bench.time_budget_seconds),
        *(f"note: {remark}" for remark in remarks),
    ]


def _runs(rows: Sequence[ProofRow], budget_seconds: float | None) -> Iterator[str]:
    there, to_go = (sum(getattr(row, name) for row in rows) for name in ("runs_there", "runs_to_go"))
    kept = f"; {there} are there already" if there else ""
    yield f"runs: {to_go}{kept}"
    seconds = expected_seconds(rows)
    if to_go and seconds is not None:
        yield f"about {format_seconds(seconds)} one after the other, as the round's own runs took"
    if to_go and budget_seconds is not None:
        yield f"at most {format_seconds(budget_seconds)} of that with this command; the same one goes on"


def _values(values: Configuration) -> str:
    return ", ".join(f"{field}={label_of(value)}" for field, value in values.items())
