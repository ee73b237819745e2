"""Studies written as generators, replayed over their history.

A generator hands out trials and is sent their records, so that a study reads from top to bottom. The first trial that
the history does not have is the next one: a study cut at any point goes on as if it had never stopped.
"""

from collections.abc import Generator, Sequence
from typing import TypeVar

from traindyno.core.base import Record
from traindyno.core.records import TrialRecord, TrialSpec

T = TypeVar("T")


class Wanted(Record, frozen=True):
    """A trial and why it is wanted."""

    spec: TrialSpec
    reason: str


Trying = Generator[Wanted, TrialRecord, T]


def replay(study: Trying[None], history: Sequence[TrialRecord]) -> Wanted | None:
    """The next trial, or None when the study has come to its end."""
    done = {record.spec.key: record for record in history}
    try:
        wanted = next(study)
        while (record := done.get(wanted.spec.key)) is not None:
            wanted = study.send(record)
    except StopIteration:
        return None
    return wanted
