"""What a proof will take: a run of a candidate lasts about as long as the round's own runs of its arm did."""

import statistics
from collections.abc import Sequence

from traindyno.analysis.rounds.adoption_runs import candidate_runs
from traindyno.analysis.rounds.trials import round_trials
from traindyno.core.answers.rounds import ProofRow
from traindyno.core.records import TrialRecord
from traindyno.core.requests import AdoptRequest, Candidate
from traindyno.core.rounds import Round


def proof_rows(
    request: AdoptRequest, searched: Sequence[TrialRecord], proved: Sequence[TrialRecord]
) -> tuple[ProofRow, ...]:
    """Every candidate, the incumbent first: the runs that it has, and those it needs. `searched` are the round's."""
    whole = [each for each in searched if _came_to_its_end(request.round, each)]
    return tuple(
        ProofRow(
            label=runs.label,
            configuration=runs.candidate.values,
            changes=runs.candidate.changes,
            runs_there=len(runs.trials),
            runs_to_go=request.looks[-1] - len(runs.trials),
            run_seconds=_usual_seconds(runs.candidate, whole),
        )
        for runs in candidate_runs(request, proved)
    )


def expected_seconds(rows: Sequence[ProofRow]) -> float | None:
    """Of all runs that are to go, one after the other; null where no run tells how long one is."""
    if any(row.run_seconds is None for row in rows):
        return None
    return sum(row.runs_to_go * (row.run_seconds or 0.0) for row in rows)


def _came_to_its_end(round_: Round, record: TrialRecord) -> bool:
    """Those that were ended early, or failed, are shorter."""
    return any(trial.ending == "ok" for trial in round_trials(round_, [record]))


def _usual_seconds(candidate: Candidate, records: Sequence[TrialRecord]) -> float | None:
    """The median over its arm, or over the gate for the incumbent; over all where it has no run of its own."""
    draws = [(record.seconds, record.spec.draw) for record in records if record.spec.draw is not None]
    is_incumbent = candidate.arm is None
    own = [seconds for seconds, draw in draws if (draw.phase == "gate" if is_incumbent else draw.arm == candidate.arm)]
    return statistics.median(own or [seconds for seconds, _ in draws]) if draws else None
