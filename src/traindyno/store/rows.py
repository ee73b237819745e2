"""What the ledger hands out: studies as they stand, and leases that say who may run a trial."""

from typing import Any, Literal

from traindyno.core.base import Record
from traindyno.core.errors import TraindynoError
from traindyno.core.machine import MachineFacts
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialSpec
from traindyno.core.requests import Request

StudyState = Literal["running", "done", "interrupted", "failed"]

REPEATABLE = frozenset({Outcome.INTERRUPTED, Outcome.INFRASTRUCTURE, Outcome.KILLED})
"""Endings that say nothing about the workload, so that the trial may be run again."""


class StudyRow(Record, frozen=True):
    """A study as it stands. `trials` counts the committed ones; `owner` holds the claim to run it."""

    id: int
    name: str
    command: str
    state: StudyState
    created: str
    updated: str
    request: Request
    machine: MachineFacts | None = None
    answer: Any = None
    warnings: tuple[str, ...] = ()
    trials: int = 0
    owner: str | None = None


class Lease(Record, frozen=True):
    """The right to run one trial and to commit its result, until someone gets a higher fence."""

    trial_id: int
    fence: int
    owner: str


class Taken(Record, frozen=True):
    """The next trial that waited, now in the asker's hands; `left` counts those that still wait, up to a bound."""

    lease: Lease
    ordinal: int
    spec: TrialSpec
    left: int = 0


class Turn(Record, frozen=True):
    """Whether it is the asker's turn to plan what a study's processes run next, and how the study stands.

    Planning `rests` when there was nothing to plan a moment ago and nobody tries again now.
    """

    is_mine: bool
    state: StudyState
    rests: bool = False


class Held(Record, frozen=True):
    """Who runs a study, and how it stands, as they stand in the store."""

    owner: str
    state: StudyState


class Running(Record, frozen=True):
    """How many trials of a study are in someone's hands, and how many of them in those of this machine's processes."""

    trials: int
    here: int


class QueuedTrial(Record, frozen=True):
    """A trial of a study that several processes run together, finished or not.

    `outcome` is that of its latest result, null where it has none; `fence` is that result's. `in_hands` says whether a
    living process runs it now, `is_here` whether that is one of this machine. `losses` counts the results that say
    nothing about the workload, killed or not started, where the latest is one of them.
    """

    id: int
    ordinal: int
    spec: TrialSpec
    outcome: Outcome | None
    fence: int | None
    in_hands: bool
    losses: int = 0
    is_here: bool = False


class StaleLeaseError(TraindynoError):
    """A result came too late: its trial was given to someone else, or is finished."""
