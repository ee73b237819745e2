"""Trial servers that tests lend each other: a new one imports torch for seconds, and trials are fresh forks anyway."""

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from typing import Any
from unittest import mock

from traindyno.runner import local
from traindyno.runner.choose import WORKER_ENTRY
from traindyno.runner.keeper_link import KeeperLink, KeeperLostError
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines

OF_ONE_TEST = "PYTEST_CURRENT_TEST"
FIRST_IMPORTS = ("traindyno.worker.classify", "traindyno.worker.kinds")
"""What every trial would import first."""
Key = tuple[object, ...]


class LentKeeper(KeeperLink):
    """A trial server that goes back to `idle` instead of ending, unless it is lost or its last trial is not over."""

    def __init__(
        self,
        preload: tuple[str, ...],
        spawn: bool,
        start_seconds: float,
        variables: Mapping[str, str],
        scratch: str,
        idle: list["LentKeeper"],
    ) -> None:
        self._idle, self._fit = idle, True
        self.key = key_of(preload, spawn)
        self.lend(variables, scratch)
        imports = (*preload, *FIRST_IMPORTS) if preload else ()
        super().__init__(imports, spawn, start_seconds, {"PYTHONPATH": _with_tests()}, f"{scratch}-unused")

    def lend(self, variables: Mapping[str, str], scratch: str) -> "LentKeeper":
        self._variables, self._scratch = variables, scratch
        return self

    def start(self, entry: str, document: str, events: int, log: int) -> None:
        self._fit = False
        name, _, value = self._marker.partition("=")
        environment = {**os.environ, **self._variables, name: value}
        told = json.dumps([os.getcwd(), environment, entry, document])
        super().start("lent_trial:run", told, events, log)

    def receive(self) -> dict[str, Any]:
        try:
            message = super().receive()
        except KeeperLostError:
            self._fit = False
            raise
        self._fit = self._fit or "exited" in message
        return message

    def close(self) -> None:
        shutil.rmtree(self._scratch, ignore_errors=True)
        if self._fit and self._process.poll() is None and not self._idle:
            self._idle.append(self)
        else:
            self.end()

    def end(self) -> None:
        super().close()


def key_of(preload: tuple[str, ...], spawn: bool) -> Key:
    """Servers of one key are alike: a test that changes the environment gets one of its own."""
    return (preload, spawn, *sorted((name, value) for name, value in os.environ.items() if name != OF_ONE_TEST))


def _with_tests() -> str:
    """Where a trial finds `lent_trial`."""
    return os.pathsep.join(filter(None, (os.path.dirname(__file__), os.environ.get("PYTHONPATH"))))


class Keepers:
    """At most one idle server, for the next runner that would start one like it."""

    def __init__(self) -> None:
        self._idle: list[LentKeeper] = []

    def take(
        self, preload: tuple[str, ...], spawn: bool, start_seconds: float, variables: Mapping[str, str], scratch: str
    ) -> LentKeeper:
        if self._idle and self._idle[0].key == key_of(preload, spawn):
            return self._idle.pop().lend(variables, scratch)
        self.end()
        return LentKeeper(preload, spawn, start_seconds, variables, scratch, self._idle)

    def runner(self, deadlines: Deadlines) -> LocalRunner:
        """A runner whose server is one of these."""
        runner = LocalRunner(WORKER_ENTRY, deadlines)
        with self.lent():
            runner.warm_up()
        return runner

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        """Within, the runners of this process take their servers from here."""
        with mock.patch.object(local, "KeeperLink", self.take):
            yield

    def end(self) -> None:
        while self._idle:
            self._idle.pop().end()
