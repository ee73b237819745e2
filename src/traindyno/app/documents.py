"""From a study to the document that is printed, exported and stored."""

from typing import Any

from traindyno.app.cut_short import MACHINE_LOST, cut_warning
from traindyno.app.held_study import HeldStudy
from traindyno.app.places import several_places
from traindyno.core.answers import Document
from traindyno.core.codec import plain
from traindyno.core.requests import Request
from traindyno.report.document import trial_entry


def finished_document(
    study: HeldStudy, request: Request, answer: Any, warnings: tuple[str, ...], hint: str | None
) -> Document:
    """Commit the answer and give the whole document. A study that was cut short says how to go on."""
    warnings = (*several_places(study.records, study.workshop), *warnings)
    if (not_alone := study.workshop.not_alone) is not None:
        warnings = (not_alone, *warnings)
    if study.cut is not None:
        warnings = (cut_warning(study.cut, len(study.records)), *warnings)
    state = study.finish(answer, warnings)
    return Document(
        command=study.row.command,
        study=study.row.name,
        answer=answer,
        trials=tuple(trial_entry(record) for record in study.records),
        warnings=warnings,
        machine=plain(study.workshop.machine),
        request=plain(request),
        created=study.row.created,
        state=state,
        hint=study.resume_command if study.cut else hint,
        interrupted=study.cut == "interrupted",
        machine_lost=study.cut == MACHINE_LOST,
    )
