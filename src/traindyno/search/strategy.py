"""The seam between deciding what to measure and measuring it."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from traindyno.core.base import Record
from traindyno.core.records import TrialRecord, TrialSpec


class Proposal(Record, frozen=True):
    """The next trial, why it is wanted, and the current guess of how many trials the study takes in all.

    `beside` are further trials that will be wanted, or probably will, unless this one fails; none of them is timed, nor
    is this one.
    """

    spec: TrialSpec
    reason: str
    expected_trials: int
    beside: tuple["Proposal", ...] = ()


class Strategy(Protocol):
    """Decides what to measure next from what was measured so far, and from nothing else.

    The same history always gives the same proposal, so a study cut at any point goes on as if it never
    stopped.
    """

    def ask(self, history: Sequence[TrialRecord]) -> Proposal | None:
        """The next trial, or None when the question is answered or cannot be."""
        ...


class SharedStrategy(Protocol):
    """Decides what to measure next in a study that several processes run at once.

    It is told what has ended and what is in anyone's hands now, and never proposes either again.
    """

    def ask(self, finished: Sequence[TrialRecord], running: Sequence[TrialSpec]) -> Proposal | None:
        """The next trial, or None when there is nothing to start now; if nothing runs either, that is the end."""
        ...


def at_batch_size(template: TrialSpec, batch_size: int, **changes: object) -> TrialSpec:
    """The template's trial at another batch size."""
    settings = msgspec.structs.replace(template.settings, batch_size=batch_size)
    return msgspec.structs.replace(template, settings=settings, **changes)
