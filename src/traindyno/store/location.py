"""Where a ledger lives, as written after `--store`: a file, or a database on a PostgreSQL server."""

import os
import re
from pathlib import Path

from traindyno.core.errors import UsageError

DEFAULT_STORE = "traindyno.db"
FORMS_HINT = (
    "write --store traindyno.db, --store sqlite:///path/to/traindyno.db "
    "or --store postgresql+psycopg://USER@HOST/DATABASE"
)
_SERVER = re.compile(r"(?:postgres|postgresql|postgresql\+psycopg)://")


def is_server(store: str) -> bool:
    """Whether a `--store` value names a database on a server, which several machines can reach."""
    return _SERVER.match(store) is not None


def server_address(store: str) -> str:
    """What stands after the scheme, which is the same whichever of the three is written."""
    return store[store.index("://") + len("://") :]


def store_path(store: str) -> Path:
    """The file that a `--store` value names; what names none is refused."""
    path = store if _is_plain_path(store) else _sqlite_path(store)
    if path in ("", ":memory:") or "\0" in path:
        raise UsageError(f"{redact_url(store)!r} names no file to keep the store in", FORMS_HINT)
    return Path(os.path.expanduser(path))


def store_folder(store: str) -> Path:
    """Where logs, reports and checkpoints go: beside the file, or the current folder where a server has the store."""
    return Path() if is_server(store) else store_path(store).parent


def may_exist(store: str) -> bool:
    """Whether there may be something to read; of a database on a server only the server knows.

    Of a file in a folder that may not be entered nobody does: opening it says so.
    """
    if is_server(store):
        return True
    try:
        store_path(store).stat()
    except OSError as error:
        return isinstance(error, PermissionError)
    return True


def redact_url(store: str) -> str:
    """The same text with every password in it hidden, fit for a message or a report."""
    hidden = re.sub(r"(://[^:/@\s]*:).*@", r"\1***@", store)
    # Without a host it stands where a port would.
    hidden = re.sub(r"(://[^:/@\s\[]*:)(?!\*\*\*@|\d+(?:[/?,]|$))[^/?]*", r"\1***", hidden)
    return re.sub(r"(?i)((?:pass(?!file)|pwd|secret|token)[^=&\s]*=)[^&\s]*", r"\1***", hidden)


def typed_url(store: str) -> str:
    """The same text with every password left away, fit for a command to type: PGPASSWORD or ~/.pgpass has it."""
    bare = re.sub(r"(://[^:/@\s]*):.*@", r"\1@", store)
    left = re.sub(r"(?i)[?&][^=&\s]*(?:pass(?!file)|pwd|secret|token)[^=&\s]*=[^&\s]*", "", bare)
    return left.replace("&", "?", 1) if "?" not in left else left


def _is_plain_path(store: str) -> bool:
    """A URL is not one, nor is a connection string with a password in it."""
    return "://" not in store and not store.startswith("sqlite:") and redact_url(store) == store


def _sqlite_path(store: str) -> str:
    form = re.fullmatch(r"sqlite://(?:/([^?]*))?", store)
    if form is None:
        raise UsageError(f"{redact_url(store)!r} cannot be used as a store", FORMS_HINT)
    return form[1] or ""
