"""What every study has while this process runs it: time, a budget, a reason to end early, what to type next."""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Self

from traindyno.app.context import Context
from traindyno.app.cut_short import where_it_was, where_time_went
from traindyno.app.workshop import Workshop
from traindyno.core.codec import plain
from traindyno.core.errors import BudgetSpentError, StoppedError, TraindynoError
from traindyno.core.events import StudyFinished
from traindyno.core.records import TrialRecord
from traindyno.core.requests import TrainRequest
from traindyno.core.resuming import resume_command
from traindyno.store.ledger import StoreAwayError, StudyRow, StudyState, owner_here

SHORTEST_SECONDS = 60.0
"""A budget shorter than this is rarely long enough for anything."""


class HeldStudy(ABC):
    """A study of the ledger that this process runs, alone or beside others."""

    def __init__(self, workshop: Workshop, row: StudyRow, context: Context, title: str) -> None:
        self.row, self.workshop, self.title = row, workshop, title
        self._context = context
        self._owner = owner_here()
        self._start = time.monotonic()
        self._resumed_seconds = sum(record.seconds for record in self.records)
        self.cut: str | None = None
        self._gained = False
        self._cut_phase: str | None = None

    @property
    @abstractmethod
    def records(self) -> list[TrialRecord]:
        """The trials that have come to an end, in the order in which they were asked for."""

    @abstractmethod
    def _note_failure(self, error: TraindynoError) -> None:
        """Write down that the study has failed, if this error is the study's own."""

    @contextmanager
    def held(self) -> Iterator[Self]:
        """The study while it is driven. An error that ends it is noted; it is released whatever happens.

        The error at hand matters more than one that comes of noting it, such as a full disk.
        """
        try:
            yield self
        except StoreAwayError as error:
            raise self.without_store(error) from error
        except TraindynoError as error:
            if self.cut is None:
                with suppress(TraindynoError):
                    self._note_failure(error)
            raise
        finally:
            with suppress(TraindynoError):
                self.workshop.ledger.release_study(self.row.name, self._owner)

    @property
    def resume_command(self) -> str:
        """What to type to go on: code of the user's own must be named again, and the store must be the same.

        A time budget in which nothing was gained is not proposed again.
        """
        if self.cut == "budget" and not self._gained:
            return self.longer_command
        return self.resume_within(self._context.time_budget_seconds)

    def resume_within(self, budget_seconds: float | None) -> str:
        """The same with a time budget for the rest."""
        budget = [] if budget_seconds is None else ["--time-budget", _typed(budget_seconds)]
        return f"{resume_command(self.row.name, self.row.request, self._context.moved, *budget)}{self.store_option}"

    @property
    def longer_command(self) -> str:
        """What to type to go on with more time than there was: twice as much, and a minute at least."""
        budget = self.workshop.bench.time_budget_seconds
        return self.resume_within(None if budget is None else max(SHORTEST_SECONDS, 2 * budget))

    def without_store(self, error: StoreAwayError) -> StoreAwayError:
        """The same error with the way to go on: the study is as it was when the store went away."""
        return StoreAwayError(error.message, f"when it is back, go on with `{self.resume_command}`")

    @property
    def store_option(self) -> str:
        return self._context.store_option

    @property
    def seconds(self) -> float:
        """Time spent on the study, including earlier parts of a resumed one."""
        return self._resumed_seconds + time.monotonic() - self._start

    @property
    def seconds_left(self) -> float | None:
        """What is left of the time budget; null where there is none."""
        budget = self.workshop.bench.time_budget_seconds
        return None if budget is None else max(0.0, budget - (time.monotonic() - self._start))

    def _stopped(self) -> bool:
        """Whether to end now; the reason is remembered."""
        if self._context.should_stop():
            self.cut = "interrupted"
        elif self.seconds_left == 0:
            self.cut = "budget"
        return self.cut is not None

    def cut_before(self, result: str, export: str = "") -> TraindynoError | None:
        """The error to raise when the study was cut short before it had any `result`.

        The command that goes on ends with `export`, for what this one was to write.
        """
        if self.cut == "budget":
            message = f"the time budget ended before any {result}{self._where_time_went}"
            return BudgetSpentError(message, self.longer_command + export)
        if self.cut == "interrupted":
            return StoppedError(f"stopped before any {result}", self.resume_command + export)
        return None

    @property
    def _where_time_went(self) -> str:
        if self._cut_phase is None or self._gained:
            return ""
        if isinstance(self.row.request, TrainRequest):
            return f": {where_time_went(self._cut_phase)}"
        return where_it_was(self._cut_phase)

    @property
    def state(self) -> StudyState:
        """What becomes of the study when this process ends now."""
        return "done" if self.cut is None else "interrupted"

    def finish(self, answer: Any, warnings: tuple[str, ...] = ()) -> str:
        """Write the answer, or what there is of it; return the study's state."""
        state = self.state
        self.workshop.ledger.finish(self.row.name, state, plain(answer), warnings, owner=self._owner)
        self._context.emit(StudyFinished(study=self.row.name, state=state, seconds=self.seconds))
        return state


def _typed(seconds: float) -> str:
    """A duration as people type it: `20m`, `90s`."""
    return f"{seconds / 60:g}m" if seconds % 60 == 0 else f"{seconds:.12g}s"


def failed_answer(error: TraindynoError) -> dict[str, Any]:
    """What stands in the place of a failed study's answer."""
    return {"error": {"message": error.message, "hint": error.hint}}
