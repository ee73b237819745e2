"""Values as they stand in the database: records as text, moments as ISO text in UTC."""

import json
from datetime import UTC, datetime
from typing import Any, TypeVar, cast

import msgspec

from traindyno.core.codec import decode
from traindyno.core.errors import TraindynoError

T = TypeVar("T")


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def moment_text(seconds: float) -> str:
    """`2026-11-15T06:30:12+00:00`."""
    return moment(seconds).isoformat(timespec="seconds")


def read_stored(text: str, kind: type[T] | Any, what: str) -> T:
    """Decode a stored value; one that another version wrote differently is refused by name."""
    try:
        return cast(T, decode(text, kind))
    except (msgspec.ValidationError, json.JSONDecodeError) as error:
        raise TraindynoError(
            f"{what} cannot be read back ({error})",
            "another version probably wrote it: `pip install --upgrade traindyno`, or measure anew",
        ) from error
