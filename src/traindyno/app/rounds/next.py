"""Drafting the round that follows from the findings of another."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from traindyno.analysis.rounds.next_round import Draft, next_round
from traindyno.analysis.rounds.questions import MAXIMISE
from traindyno.app.rounds.analyse import analysed
from traindyno.app.rounds.files import check_free, write_round
from traindyno.app.rounds.wishes import simulated_note
from traindyno.core.answers.rounds import DraftAnswer
from traindyno.core.requests import RoundRequest
from traindyno.core.round_lints import lint_round
from traindyno.core.round_tables import check_round_name
from traindyno.core.rounds import Round
from traindyno.store.ledger import Ledger


def draft_next(name: str, file: Path | None, store: str, *, force: bool = False) -> DraftAnswer:
    """Write the file of the round that follows, named after it; a file that is named gives the round its name."""
    if file is not None:
        check_free(file, force=force)
        check_round_name(file.stem, str(file))
    found = analysed(name, store)
    asked, taken = _before(store, found.request.round.campaign)
    draft = next_round(found.request.round, found.answer, found.adoption, asked, taken)
    path = file or Path(f"{draft.round.name}.toml")
    named = draft.round if file is None else msgspec.structs.replace(draft.round, name=file.stem)
    notes = simulated_note([name] if found.answer.simulated else [])
    text = write_round(path, named, _comments(draft, notes), force=force)
    return DraftAnswer(path=str(path), text=text, reasons=tuple(_told(draft)), lints=(*notes, *lint_round(named)))


def _before(store: str, campaign: str) -> tuple[list[str], list[str]]:
    """What the campaign's rounds asked, and the names that studies have."""
    with Ledger.open_to_read(store) as ledger:
        rows = ledger.studies()
    rounds = [row.request.round for row in rows if isinstance(row.request, RoundRequest)]
    asked = [_asked(each) for each in rounds if each.campaign == campaign]
    return asked, [row.name for row in rows]


def _asked(round_: Round) -> str:
    if round_.target is not None:
        return round_.target.field
    return MAXIMISE if round_.goal.kind == "maximise" else round_.goal.kind


def _comments(draft: Draft, notes: Sequence[str]) -> dict[str, str]:
    """The reasons by where they stand in the file, those on one thing below one another; at the top, notes too."""
    comments: dict[str, str] = {}
    for subject, text in (*draft.reasons, *(("", f"Note: {note}.") for note in notes)):
        comments[subject] = f"{comments[subject]}\n{text}" if subject in comments else text
    return comments


def _told(draft: Draft) -> Iterator[str]:
    """The reasons as sentences by themselves: those on a parameter say on which."""
    names = {each.name for each in draft.round.parameters}
    for subject, text in draft.reasons:
        yield f"{subject}: {text}" if subject in names else text
