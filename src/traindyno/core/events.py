"""What happens while a study runs, told to whoever listens."""

from collections.abc import Callable
from typing import Literal

from traindyno.core.base import Record
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.core.soaking import Reading


class StudyStarted(Record, frozen=True):
    study: str
    command: str
    title: str
    resumed_trials: int = 0


class TrialStarted(Record, frozen=True):
    """`expected_trials` is the strategy's current guess of the study's whole length."""

    ordinal: int
    expected_trials: int
    spec: TrialSpec
    reason: str


CEILINGS = "ceilings"
"""The phase of a trial in which the device does its utmost, which is not the work that is measured."""


class TrialProgress(Record, frozen=True):
    """`reading` is the latest of the machine, beside trials that are long enough to take some.

    A run that learns also tells how many steps it is to have in all, and the accuracy of its latest evaluation.
    """

    phase: str
    steps: int
    seconds: float
    step_seconds: float | None = None
    reading: Reading | None = None
    planned_steps: int | None = None
    accuracy: float | None = None


class TrialFinished(Record, frozen=True):
    """`standing` says how the study stands after it, such as the best so far, where that is worth saying."""

    ordinal: int
    expected_trials: int
    record: TrialRecord
    remaining_seconds: float | None
    standing: str | None = None


class Notice(Record, frozen=True):
    level: Literal["info", "warning"]
    text: str


class StudyFinished(Record, frozen=True):
    study: str
    state: str
    seconds: float


Event = StudyStarted | TrialStarted | TrialProgress | TrialFinished | Notice | StudyFinished
Emit = Callable[[Event], None]
