"""What went wrong with a PostgreSQL server, in words, with the way to mend it."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from traindyno.core.errors import TraindynoError
from traindyno.store.database import StoreAwayError

AWAY = ("08", "57P01", "57P02", "57P03", "57P05", "53300", "25P03", "40001", "40P01")
"""How the codes of errors begin that pass by themselves: connection lost, server stopping or full, transaction lost."""
PASSWORD_HINT = "put the password into the URL, into the environment variable PGPASSWORD or into ~/.pgpass"


@contextmanager
def explained(name: str, password: str | None) -> Iterator[None]:
    """Turn the server's own errors into ones a user can act on; a fault of ours passes unchanged."""
    try:
        yield
    except DBAPIError as error:
        code = str(getattr(error.orig, "sqlstate", None) or "")
        words = _hidden(" ".join(str(error.orig).split()), password)
        lost = error.connection_invalidated or (not code and isinstance(error, OperationalError | InterfaceError))
        explanation = _unreachable(name, words) if lost or code.startswith(AWAY) else _refused(name, code, words)
        if explanation is None:
            raise
        raise explanation from None


def _hidden(words: str, password: str | None) -> str:
    return words.replace(password, "***") if password else words


def _unreachable(name: str, words: str) -> TraindynoError:
    """The server names no code for what goes wrong before it lets anybody in, so its words must do."""
    if "password" in words and ("authentication failed" in words or "no password supplied" in words):
        return TraindynoError(f"the server of the store {name} does not accept the password", PASSWORD_HINT)
    if "does not exist" in words and "FATAL" in words:
        return TraindynoError(
            f"the server of the store {name} knows no such database or user ({_told(words)})",
            "check the URL, or create the database: `createdb DATABASE`",
        )
    if any(part in words for part in ("Name or service not known", "failed to resolve", "could not translate")):
        return TraindynoError(f"the host of the store {name} cannot be found", "check the host in the URL")
    return StoreAwayError(
        f"the store {name} cannot be reached ({_told(words)})",
        "check that the server runs and accepts connections from here: `pg_isready -h HOST`",
    )


def _told(words: str) -> str:
    """The end of what was told, which says why."""
    return words.rpartition("FATAL:")[2].strip() if "FATAL:" in words else words.strip()


def _refused(name: str, code: str, words: str) -> TraindynoError | None:
    match code:
        case "42501" | "3F000":
            return TraindynoError(
                f"the user of the store {name} may not do this ({words})",
                "let the user own the database, or grant it: `GRANT CREATE, USAGE ON SCHEMA public TO USER`",
            )
        case "25006":
            return TraindynoError(f"the store {name} is read-only", "name the primary server with --store")
        case "53100":
            return TraindynoError(
                f"no space is left on the server of the store {name}",
                "free some there, then resume: all committed trials are kept",
            )
        case "55P03":
            # Whoever stopped in the middle of a transaction is put out by the server, later than we wait at a time.
            return StoreAwayError(
                f"a study in the store {name} is locked by another process",
                "see who in `pg_stat_activity` on the server, and try again",
            )
        case "28P01" | "28000":
            return TraindynoError(f"the server of the store {name} refuses the user ({words})", PASSWORD_HINT)
        case "3D000":
            return TraindynoError(f"the server has no database for the store {name}", "create it: `createdb DATABASE`")
    return None
