"""The decisions of a campaign, as the runs in its studies prove them."""

import msgspec

from traindyno.analysis.rounds.adoption import conclude_adoption
from traindyno.analysis.rounds.adoption_runs import completed_looks
from traindyno.analysis.rounds.staleness import Decision
from traindyno.app.context import store_option
from traindyno.app.rounds.analyse import is_simulated
from traindyno.app.rounds.first import first_command
from traindyno.app.rounds.run import failed_gate
from traindyno.core.answers.rounds import LedgerEntry, RoundAnswer
from traindyno.core.base import Record
from traindyno.core.errors import NothingMeasuredError
from traindyno.core.requests import AdoptRequest, RoundRequest
from traindyno.core.rounds import Configuration, Round
from traindyno.report.document import SCHEMA, typed_answer
from traindyno.report.reproduce import request_command
from traindyno.store.ledger import Ledger, StudyRow
from traindyno.store.location import may_exist


class Decided(Record, frozen=True):
    """An entry of the ledger, and the same as far as other entries bear on it. `study_id` is that of its study."""

    study_id: int
    entry: LedgerEntry
    decision: Decision


def decided_in(store: str, campaign: str) -> list[Decided]:
    """Every decision of a campaign, oldest first."""
    if not may_exist(store):
        return []
    with Ledger.open_to_read(store) as ledger:
        found = [entry for row in ledger.studies() if (entry := _of_study(ledger, row, campaign, store)) is not None]
    return _without_late_beginnings(sorted(found, key=lambda each: (each.entry.decided, each.study_id)))


def _without_late_beginnings(decided: list[Decided]) -> list[Decided]:
    """What a campaign begins with is chosen before anything is adopted: later it has no fresh seeds to show."""
    adopted = [place for place, each in enumerate(decided) if each.entry.best_of is None and each.decision.took]
    first = min(adopted, default=len(decided))
    return [each for place, each in enumerate(decided) if place < first or each.entry.best_of is None]


def _of_study(ledger: Ledger, row: StudyRow, campaign: str, store: str) -> Decided | None:
    """The decision that a study has made; null of any that is no decision of this campaign."""
    request = row.request
    if not isinstance(request, RoundRequest | AdoptRequest) or request.round.campaign != campaign:
        return None
    if isinstance(request, AdoptRequest):
        return _adoption(ledger, row, request, store)
    if not isinstance(row.answer, dict) or "error" in row.answer:
        return None
    document = {"schema": SCHEMA, "command": row.command, "study": row.name, "answer": row.answer}
    return _beginning(ledger, row, request, typed_answer(document).answer, store)


def _decided_at(ledger: Ledger, row: StudyRow, seeds: int) -> str:
    """When the last result came that a decision rests on: asking again does not make it younger."""
    moments = ledger.moments(row.id)
    draws = {record.spec.key: record.spec.draw for record in ledger.trials(row.id)}
    rests_on = [key for key, draw in draws.items() if draw is not None and draw.index < seeds]
    return max((moments[key] for key in rests_on), default=row.updated)


def _adoption(ledger: Ledger, row: StudyRow, request: AdoptRequest, store: str) -> Decided | None:
    """What the latest look says whose runs are all there, whatever became of a further one; null without any."""
    records = ledger.trials(row.id)
    if not (looks := completed_looks(request, records)):
        return None
    request = msgspec.structs.replace(request, looks=looks)
    try:
        answer = conclude_adoption(request, records, seconds=0.0, simulated=is_simulated(request))
    except NothingMeasuredError:
        return None
    incumbent = request.candidates[0].values
    took = answer.configuration != incumbent
    held = next(each for each in answer.rows if each.configuration == answer.configuration)
    changes = {field: value for field, value in answer.configuration.items() if incumbent.get(field) != value}
    entry = LedgerEntry(
        round=answer.round,
        study=row.name,
        decided=_decided_at(ledger, row, looks[-1]),
        verdict=answer.verdict,
        question=answer.question,
        changes=changes,
        configuration=answer.configuration,
        gain=answer.gain,
        ci95=answer.ci95,
        p_value=answer.p_value,
        seeds=answer.seeds,
        mean=held.mean,
        metric=answer.metric,
        commit=answer.commit,
        command=f"{request_command(request)}{store_option(store)}",
        sd=held.sd,
        simulated=answer.simulated,
        failed_checks=answer.failed_checks,
    )
    return Decided(
        study_id=row.id,
        entry=entry,
        decision=Decision(
            name=answer.round,
            tuned=_tuned(request.round),
            incumbent=_with_conditions(request, incumbent),
            configuration=_with_conditions(request, answer.configuration),
            took=took,
        ),
    )


def _beginning(ledger: Ledger, row: StudyRow, request: RoundRequest, answer: RoundAnswer, store: str) -> Decided | None:
    """The configuration that a campaign began with, if it has passed its gate; more runs do not make it younger."""
    if request.round.goal.kind != "initial" or answer.best is None or failed_gate(answer) is not None:
        return None
    configuration = answer.best.configuration
    entry = LedgerEntry(
        round=answer.round,
        study=row.name,
        decided=min(ledger.moments(row.id).values(), default=row.updated),
        verdict="adopt",
        question=answer.question,
        changes=configuration,
        configuration=configuration,
        gain=None,
        ci95=None,
        p_value=None,
        seeds=1,
        mean=answer.best.score,
        metric=answer.metric,
        commit=None,
        command=f"{first_command(request) or request_command(request)}{store_option(store)}",
        simulated=answer.simulated,
        best_of=sum(row.trials for row in answer.arms),
    )
    held = _with_conditions(request, configuration)
    decision = Decision(name=answer.round, tuned=_tuned(request.round), incumbent={}, configuration=held, took=True)
    return Decided(study_id=row.id, entry=entry, decision=decision)


def _tuned(round_: Round) -> tuple[str, ...]:
    """The fields that a round looked for the best values of."""
    return tuple(dict.fromkeys(each.field for each in round_.parameters if each.role != "fixed"))


def _with_conditions(request: RoundRequest | AdoptRequest, configuration: Configuration) -> Configuration:
    """A configuration with what it is trained with where it does not say so itself."""
    if request.recipe is None:
        return configuration
    usual: Configuration = {
        "model": request.workload.model,
        "batch_size": request.settings.batch_size,
        "optimizer": request.workload.optimizer,
    }
    return {**usual, **configuration}
