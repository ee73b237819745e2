"""An open store, and how everything is read from it and written to it: in transactions, by its own clock."""

from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar

from sqlalchemy import Connection, Engine

from traindyno.store.connection import open_file
from traindyno.store.database import Database, StoreAwayError
from traindyno.store.location import DEFAULT_STORE, is_server, store_path
from traindyno.store.machines import check_machine
from traindyno.store.reading import open_file_to_read

Clock = Callable[[], float]
T = TypeVar("T")


class Transacting:
    """An open store. It may be shared between threads, and is to be opened anew after a fork.

    The time is that of the machine that has the store, whoever asks; `clock` is for tests.
    """

    def __init__(self, database: Database, clock: Clock | None = None) -> None:
        self._database = database
        self._clock = clock
        self._waits = True
        self.folder = database.folder
        """Where logs, checkpoints and the like go."""

    @classmethod
    def open(cls, store: str = DEFAULT_STORE, *, create: bool = True, clock: Clock | None = None) -> Self:
        """Open the store named by a path or URL; `create=False` refuses a file that is not there yet.

        A database on a server is made ready by whoever comes first.
        """
        if is_server(store):
            from traindyno.store.server import open_server

            return cls(open_server(store), clock)
        return cls(open_file(store_path(store), create), clock)

    @classmethod
    def open_to_read(cls, store: str = DEFAULT_STORE, *, clock: Clock | None = None) -> Self:
        """Open a store that is there, also one that may not be written: then what is in it now is read."""
        if is_server(store):
            return cls.open(store, clock=clock)
        return cls(open_file_to_read(store_path(store)), clock)

    @property
    def of_one_machine(self) -> bool:
        """Whether processes of other machines cannot share this store."""
        return self._database.of_one_machine

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self, work: Callable[[Connection, float], T]) -> T:
        return self._transact(self._database.reader, work, waits=True)

    def _write(self, work: Callable[[Connection, float], T], *, waits: bool = True) -> T:
        return self._transact(self._database.writer, work, waits)

    def _transact(self, engine: Engine, work: Callable[[Connection, float], T], waits: bool) -> T:
        """Do work in one transaction. A store that is away is waited for, but not again by who did so in vain."""
        patience_seconds = self._database.patience_seconds if waits and self._waits else 0.0
        try:
            done = self._database.transact(engine, lambda each: work(each, self._now(each)), patience_seconds)
        except StoreAwayError:
            self._waits = self._waits and not waits
            raise
        self._waits = True
        return done

    def _check_machine(self, connection: Connection, now: float) -> None:
        if self._database.of_one_machine:
            check_machine(connection, self._database.name, now)

    def _now(self, connection: Connection) -> float:
        return self._database.seconds(connection) if self._clock is None else self._clock()
