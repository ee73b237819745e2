"""Reading what is already known: the list of studies, one study's document, an exported file."""

import json
from pathlib import Path

from traindyno.app.context import store_option
from traindyno.core.answers import Document
from traindyno.core.codec import plain
from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord
from traindyno.core.resuming import resume_command
from traindyno.report.document import trial_entry, typed_answer
from traindyno.store.faults import check_place
from traindyno.store.ledger import Ledger, StudyRow
from traindyno.store.location import is_server, may_exist, store_path
from traindyno.store.location import store_folder as store_folder


def list_studies(store: str) -> list[StudyRow]:
    """Newest first; a store that does not exist yet has none."""
    if not may_exist(store):
        return []
    with Ledger.open_to_read(store) as ledger:
        return ledger.studies()


def check_store(store: str) -> None:
    """Refuse a file in which nothing can be kept, before work that takes long; a server is asked when it is needed."""
    if not is_server(store):
        check_place(store_path(store), create=True)


def report_folder(store: str) -> Path:
    """Where reports go by default: a folder beside the store, or here if that is on a server."""
    return store_folder(store) / "traindyno-reports"


def read_document(source: str, store: str) -> Document:
    """A study's or an exported file's document, whichever `source` names."""
    path = Path(source)
    if path.suffix == ".json" or "/" in source:
        return _read_file(path)
    return study_document(source, store)


def study_document(name: str, store: str) -> Document:
    """Rebuild the document of a study from the ledger, as it was printed: trials that were cut off never ended."""
    with Ledger.open_to_read(store) as ledger:
        row = ledger.study(name)
        records = [record for record in ledger.trials(row.id) if _told(record)]
    if row.answer is None or (isinstance(row.answer, dict) and "error" in row.answer):
        raise TraindynoError(*_unanswered(row, store))
    return typed_answer(
        {
            "schema": "traindyno/1",
            "command": row.command,
            "study": row.name,
            "answer": row.answer,
            "trials": [plain(trial_entry(record)) for record in records],
            "warnings": list(row.warnings),
            "machine": plain(row.machine),
            "request": plain(row.request),
            "created": row.created,
            "state": row.state,
            "hint": _resuming(row, store) if row.state == "interrupted" else None,
        }
    )


def _told(record: TrialRecord) -> bool:
    """A trial that was cut off tells nothing, unless it was a long one that told what it had."""
    return record.outcome is not Outcome.INTERRUPTED or record.measurement is not None


def _resuming(row: StudyRow, store: str) -> str:
    return f"{resume_command(row.name, row.request)}{store_option(store)}"


def _unanswered(row: StudyRow, store: str) -> tuple[str, str]:
    if isinstance(row.answer, dict):
        return f"study {row.name!r} failed: {row.answer['error']['message']}", row.answer["error"]["hint"] or ""
    if row.state == "running":
        return f"study {row.name!r} is still running; {row.trials} trials are done", "wait for its end"
    return f"study {row.name!r} was cut off before it had an answer", _resuming(row, store)


def _read_file(path: Path) -> Document:
    try:
        content = json.loads(path.read_text())
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", "name a study or an exported JSON file") from None
    except ValueError:
        raise UsageError(f"{path} is not JSON", "export one with --export-json FILE") from None
    if not isinstance(content, dict):
        raise UsageError(f"{path} is not a traindyno document", "export one with --export-json FILE")
    return typed_answer(content)
