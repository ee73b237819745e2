"""Rounds in which ways to train take turns, each in a fresh process and in an order of its own."""

from collections.abc import Sequence

from traindyno.analysis.find.rounds import FIRST_ROUND, Entry
from traindyno.search.find.trials import Trials, shuffled
from traindyno.search.replaying import Trying, Wanted


def one_round(trials: Trials, entries: Sequence[Entry], number: int, seed: int, of: int) -> Trying[None]:
    """Every entry that has not failed, once."""
    by_name = {entry.name: entry for entry in entries}
    for name in shuffled(tuple(by_name), seed, number):
        entry = by_name[name]
        if entry.failure is None and (entries[0].failure is None):
            spec = trials.end_to_end(entry.setup, repeat=FIRST_ROUND + number)
            entry.records[number] = yield Wanted(spec=spec, reason=f"{name}, round {number + 1} of {of}")
