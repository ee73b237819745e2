"""Jobs that hang and say so: whoever watches them need not wait to find out, and takes no slow step for a hang."""

import shutil
from pathlib import Path

import pytest

from traindyno.runner import local
from traindyno.runner.protocol import Clock, Deadlines, Watcher
from traindyno.runner.watch import Watch

SIGN = "hangs"
"""The file that a job leaves beside its own when it begins to hang."""
AGES = 3000.0
"""Longer than any step may take, and shorter than a trial may."""


class _InVain(Watch):
    """Has waited for ages once it sees the sign for the second time: all that was said before has been heard then."""

    def __init__(self, sign: Path, deadlines: Deadlines, watcher: Watcher, clock: Clock) -> None:
        super().__init__(deadlines, watcher, clock)
        self._sign, self._seen = sign, False

    def overdue(self) -> tuple[str, str] | None:
        if self._seen:
            self._last_news = self._clock() - AGES
            self._sign.unlink(missing_ok=True)
        self._seen = self._sign.exists()
        return super().overdue()


def hanging_job(jobs: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the jobs, whose signs the local runner sees."""
    copy = Path(shutil.copy(jobs, folder))

    def watch(deadlines: Deadlines, watcher: Watcher, clock: Clock) -> Watch:
        return _InVain(copy.with_name(SIGN), deadlines, watcher, clock)

    monkeypatch.setattr(local, "Watch", watch)
    return copy
