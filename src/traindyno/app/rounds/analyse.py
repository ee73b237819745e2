"""What a round has shown so far, concluded anew from its runs in the ledger."""

from collections.abc import Sequence

from traindyno.analysis.cautions import cautions
from traindyno.analysis.rounds.adoption import conclude_adoption
from traindyno.analysis.rounds.conclude import conclude_round
from traindyno.app.context import store_option
from traindyno.core.answers import AdoptAnswer, Document, RoundAnswer
from traindyno.core.base import Record
from traindyno.core.codec import plain
from traindyno.core.errors import NothingMeasuredError, UsageError
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord
from traindyno.core.requests import AdoptRequest, RoundRequest
from traindyno.core.resuming import adopt_command, resume_command
from traindyno.report.document import trial_entry
from traindyno.store.ledger import Ledger, StudyRow


class Analysed(Record, frozen=True):
    """A round with all that is known of it. `adoption` is what fresh seeds said since, null where they did not."""

    row: StudyRow
    request: RoundRequest
    records: tuple[TrialRecord, ...]
    answer: RoundAnswer
    adoption: AdoptAnswer | None


def analyse(name: str, store: str) -> Document:
    """The document of a round's study, whether it is still running, was cut short or is done."""
    found = analysed(name, store)
    return Document(
        command="round analyse",
        study=name,
        answer=found.answer,
        trials=tuple(trial_entry(record) for record in found.records),
        warnings=(*found.request.lints, *cautions(found.records)),
        machine=plain(found.row.machine),
        request=plain(found.request),
        created=found.row.created,
        state=found.row.state,
        hint=f"{_next_command(found)}{store_option(store)}",
    )


def analysed(name: str, store: str) -> Analysed:
    """The round of a study, concluded from the runs that it has now."""
    with Ledger.open_to_read(store) as ledger:
        row = ledger.study(name)
        request, records = round_of_study(row), _ended(ledger, row)
        adoption = adoption_of(ledger, name)
    answer = _concluded(row, request, records, adoption)
    return Analysed(row=row, request=request, records=tuple(records), answer=answer, adoption=adoption)


def _concluded(
    row: StudyRow, request: RoundRequest, records: Sequence[TrialRecord], adoption: AdoptAnswer | None
) -> RoundAnswer:
    """The answer; its time is what the study itself told, or else that of its runs."""
    told = row.answer.get("seconds") if isinstance(row.answer, dict) else None
    seconds = told if isinstance(told, float) else sum(record.seconds for record in records)
    try:
        return conclude_round(
            request,
            records,
            seconds=seconds,
            simulated=is_simulated(request),
            adopted=None if adoption is None else adoption.verdict,
            study=row.name,
        )
    except NothingMeasuredError as error:
        raise NothingMeasuredError(f"round {row.name!r}: {error.message}", error.hint) from None


def round_of_study(row: StudyRow) -> RoundRequest:
    """What a study asked, if it is that of a round."""
    if isinstance(row.request, RoundRequest):
        return row.request
    rounds = "name one that `traindyno round run` has run"
    proved = row.request.round_study if isinstance(row.request, AdoptRequest) else None
    raise UsageError(
        f"study {row.name!r} is one of `{row.command}` and no round",
        rounds if proved is None else f"name the round that it proves: {proved}",
    )


def adoption_of(ledger: Ledger, name: str) -> AdoptAnswer | None:
    """What the latest proof of a round says, from its runs; null where there is none, or it has no run yet."""
    for row in ledger.studies():
        if isinstance(row.request, AdoptRequest) and row.request.round_study == name:
            try:
                simulated = is_simulated(row.request)
                return conclude_adoption(row.request, _ended(ledger, row), seconds=0.0, simulated=simulated)
            except NothingMeasuredError:
                return None
    return None


def is_simulated(request: RoundRequest | AdoptRequest) -> bool:
    return request.bench.runner.startswith("simulated")


def _ended(ledger: Ledger, row: StudyRow) -> list[TrialRecord]:
    return [record for record in ledger.trials(row.id) if record.outcome is not Outcome.INTERRUPTED]


def _next_command(found: Analysed) -> str:
    """The rest of a round that was cut short; fresh seeds where it is ready for them; else the round that follows."""
    if found.row.state == "interrupted" and found.adoption is None:
        return resume_command(found.row.name, found.request)
    wants_proof = found.answer.ready and found.adoption is None and found.answer.goal != "initial"
    if wants_proof:
        return adopt_command(found.request.round, study=found.row.name)
    return f"traindyno round next {found.row.name}"
