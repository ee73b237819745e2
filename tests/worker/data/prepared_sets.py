"""Preparing sets in tests: in this process, with chunks small enough for tiny sets to have several."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from traindyno.worker.data import preparing_source
from traindyno.worker.data.prepared_format import Header, PrepareRequest
from traindyno.worker.data.preparing import plan, prepare_set

NEVER: Callable[[], bool] = lambda: False  # noqa: E731


def use_chunks_of(monkeypatch: pytest.MonkeyPatch, examples: int) -> None:
    monkeypatch.setattr(preparing_source, "LEAST_CHUNK_EXAMPLES", examples)


def prepare(
    source: str,
    target: Path,
    skip_bad: bool = False,
    processes: int = 1,
    should_stop: Callable[[], bool] = NEVER,
    **wishes: Any,
) -> Header:
    """Prepare the source into the target."""
    planned = plan(PrepareRequest(source=source, **wishes))
    return prepare_set(target, planned, 0, processes, skip_bad, lambda done, total: None, should_stop)


def content(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def stop_after(calls: int) -> Callable[[], bool]:
    """Lets so many tasks begin, then wants to stop."""
    asked = iter(range(10**9))
    return lambda: next(asked) >= calls
