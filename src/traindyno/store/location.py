"""Where a ledger lives, as written after `--store`: a path, or `sqlite:///path`."""

import os
import re
from pathlib import Path

from traindyno.core.errors import UsageError

DEFAULT_STORE = "traindyno.db"
FORMS_HINT = "write --store traindyno.db or --store sqlite:///path/to/traindyno.db"


def store_path(store: str) -> Path:
    """The file that a `--store` value names; other databases are refused."""
    path = store if _is_plain_path(store) else _sqlite_path(store)
    if path in ("", ":memory:") or "\0" in path:
        raise UsageError(f"{redact_url(store)!r} names no file to keep the store in", FORMS_HINT)
    return Path(os.path.expanduser(path))


def redact_url(store: str) -> str:
    """The same text with every password in it hidden, fit for a message or a report."""
    hidden = re.sub(r"(://[^:/@\s]*:).*@", r"\1***@", store)
    return re.sub(r"(?i)((?:pass|pwd|secret|token)[^=&\s]*=)[^&\s]*", r"\1***", hidden)


def _is_plain_path(store: str) -> bool:
    """A URL is not one, nor is a connection string with a password in it."""
    return "://" not in store and not store.startswith("sqlite:") and redact_url(store) == store


def _sqlite_path(store: str) -> str:
    form = re.fullmatch(r"sqlite://(?:/([^?]*))?", store)
    if form is None:
        raise UsageError(f"{redact_url(store)!r} cannot be used: a store is an SQLite file so far", FORMS_HINT)
    return form[1] or ""
