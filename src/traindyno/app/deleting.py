"""Studies that nobody wants any more: removed from the store, and what lies beside it of them."""

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from traindyno.app.context import store_option
from traindyno.app.library import report_folder
from traindyno.app.workshop import HIDDEN_FOLDER, LOGS
from traindyno.core.base import Record
from traindyno.core.errors import UsageError
from traindyno.core.requests import AdoptRequest, RoundRequest
from traindyno.store.ledger import Ledger, StudyRow
from traindyno.store.location import store_folder


class DeletedStudy(Record, frozen=True):
    """A study that is to go, or is gone. `files` are folders and files of its own beside the store."""

    name: str
    command: str
    trials: int
    files: tuple[str, ...]


class DeletionAnswer(Record, frozen=True):
    """What was deleted; `left` are files that could not be."""

    deleted: tuple[DeletedStudy, ...]
    left: tuple[str, ...] = ()


def studies_to_delete(names: Sequence[str], store: str) -> tuple[DeletedStudy, ...]:
    """What would go; refused where something that stays rests on one of them."""
    with Ledger.open(store, create=False) as ledger:
        chosen, known = [ledger.study(name) for name in dict.fromkeys(names)], ledger.studies()
    _check_whole(chosen, known, store)
    return tuple(
        DeletedStudy(name=row.name, command=row.command, trials=row.trials, files=_files(row.name, store))
        for row in chosen
    )


def delete_studies(chosen: Sequence[DeletedStudy], store: str) -> DeletionAnswer:
    """Delete them for good, all or none; then their files, as far as they can be removed."""
    with Ledger.open(store, create=False) as ledger:
        ledger.delete_studies([study.name for study in chosen])
    left = [path for study in chosen for path in study.files if not _removed(Path(path))]
    return DeletionAnswer(deleted=tuple(chosen), left=tuple(left))


def _check_whole(chosen: Sequence[StudyRow], known: Sequence[StudyRow], store: str) -> None:
    """A line of a campaign's ledger is the runs of its study: without one of them the others would mean less."""
    names = [row.name for row in chosen]
    whole = _with_all_that_rests_on(names, known, store)
    if others := [name for name in whole if name not in names]:
        raise UsageError(
            "what a campaign has decided goes as a whole or not at all, and a round only with its proof: "
            f"{', '.join(others)} would stay",
            f"delete all with `traindyno studies delete {' '.join(whole)}{store_option(store)}`, or keep them: another "
            "--campaign begins anew",
        )


def _with_all_that_rests_on(names: Sequence[str], known: Sequence[StudyRow], store: str) -> list[str]:
    """The names, and those of proofs and decisions that go with them, and so on."""
    whole = list(names)
    rows = [row for row in known if row.name in whole]
    whole += [name for name in (*_proofs(whole, known), *_decisions(rows, store)) if name not in whole]
    return whole if len(whole) == len(names) else _with_all_that_rests_on(list(dict.fromkeys(whole)), known, store)


def _proofs(rounds: Sequence[str], known: Sequence[StudyRow]) -> Iterable[str]:
    return [row.name for row in known if isinstance(row.request, AdoptRequest) and row.request.round_study in rounds]


def _decisions(rows: Sequence[StudyRow], store: str) -> Iterable[str]:
    """The studies of every ledger that has a line of one of these."""
    campaigns = {row.request.round.campaign for row in rows if isinstance(row.request, RoundRequest | AdoptRequest)}
    if not campaigns:
        return []
    from traindyno.app.rounds.decisions import decided_in

    ledgers = [[each.entry.study for each in decided_in(store, campaign)] for campaign in sorted(campaigns)]
    names = {row.name for row in rows}
    return [name for lines in ledgers if names & set(lines) for name in lines]


def _files(name: str, store: str) -> tuple[str, ...]:
    hidden = store_folder(store) / HIDDEN_FOLDER
    own = (hidden / LOGS / name, hidden / "checkpoints" / name, report_folder(store) / f"{name}.html")
    return tuple(str(path) for path in own if path.exists())


def _removed(path: Path) -> bool:
    try:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError:
        return False
    return True
