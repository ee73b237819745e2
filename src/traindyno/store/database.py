"""An open database: how it is read and written, whose clock counts, and what its errors mean."""

import itertools
import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, Engine

from traindyno.core.errors import TraindynoError

T = TypeVar("T")
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.05, 1.0


class StoreAwayError(TraindynoError):
    """The store cannot be reached now; it may come back, and nothing that was committed is lost."""


@dataclass(frozen=True)
class Database:
    """`name` is fit for messages. `folder` is for what lies beside the store. `seconds` tells the time that counts.

    `patience_seconds` is how long a store that is away is waited for. `of_one_machine` is one that processes of
    several machines cannot share.
    """

    reader: Engine
    writer: Engine
    name: str
    folder: Path
    explained: Callable[[], AbstractContextManager[None]]
    seconds: Callable[[Connection], float]
    patience_seconds: float = 0.0
    of_one_machine: bool = True

    def transact(self, engine: Engine, work: Callable[[Connection], T], patience_seconds: float) -> T:
        """Do work in one transaction, all of it or nothing; while the store is away, again and again."""
        deadline = time.monotonic() + patience_seconds
        for attempt in itertools.count():
            try:
                with self.explained(), engine.begin() as connection:
                    return work(connection)
            except StoreAwayError as error:
                if time.monotonic() >= deadline:
                    raise
                if attempt == 0:
                    logging.getLogger("traindyno").warning("%s; waiting for it", error.message)
                time.sleep(min(FIRST_PAUSE_SECONDS * 2**attempt, LONGEST_PAUSE_SECONDS))
        raise AssertionError("counting has no end")

    def close(self) -> None:
        self.reader.dispose()
