"""Studies written as generators, replayed over their history.

A generator hands out trials and is sent their records, so that a study reads from top to bottom. The first trial that
the history does not have is the next one: a study cut at any point goes on as if it had never stopped.
"""

from collections.abc import Generator, Sequence
from typing import TypeVar

import msgspec

from traindyno.core.base import Record
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.search.strategy import Proposal

T = TypeVar("T")


class Wanted(Record, frozen=True):
    """A trial and why it is wanted.

    `beside` are others that will be wanted too, unless it fails, or probably will. None of them is timed, so that they
    may run at once.
    """

    spec: TrialSpec
    reason: str
    beside: tuple["Wanted", ...] = ()


Trying = Generator[Wanted, TrialRecord, T]


def beside(wanted: Wanted, others: Sequence[Wanted]) -> Wanted:
    """The same trial with what may run at the same time."""
    return msgspec.structs.replace(wanted, beside=tuple(each for each in others if each.spec != wanted.spec))


def proposal_of(wanted: Wanted, expected_trials: int) -> Proposal:
    """What to ask for, with what may run beside it."""
    others = tuple(proposal_of(each, expected_trials) for each in wanted.beside)
    return Proposal(spec=wanted.spec, reason=wanted.reason, expected_trials=expected_trials, beside=others)


def replay(study: Trying[None], history: Sequence[TrialRecord]) -> Wanted | None:
    """The next trial, or None when the study has come to its end."""
    done = {record.spec.key: record for record in history}
    try:
        wanted = next(study)
        while (record := done.get(wanted.spec.key)) is not None:
            wanted = study.send(record)
    except StopIteration:
        return None
    return beside(wanted, [each for each in wanted.beside if each.spec.key not in done])
