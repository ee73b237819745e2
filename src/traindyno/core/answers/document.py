"""What a command hands over: a document around an answer, or what it would do."""

from typing import Any

from traindyno.core.base import Record


class Rehearsal(Record, frozen=True):
    """What a measuring command would do, for `--dry-run`."""

    command: str
    device: str
    expected_trials: int
    at_most_seconds: float
    lines: tuple[str, ...]


class Document(Record, frozen=True):
    """Everything a study has to say, as exported by `--json`."""

    command: str
    study: str | None
    answer: Any
    trials: tuple[dict[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()
    machine: dict[str, Any] | None = None
    request: dict[str, Any] | None = None
    created: str | None = None
    state: str | None = None
    hint: str | None = None
    report: str | None = None
    interrupted: bool = False
    machine_lost: bool = False
    schema: str = "traindyno/1"
