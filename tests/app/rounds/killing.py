"""kill -9 at any moment, of any of several processes on some rounds: no point is drawn twice, and none is lost.

Also a script: `python tests/app/rounds/killing.py --kills 100 --processes 8` prints what became of them. With
`--store URL` they are in a database on a server, which must not have studies of these names yet.
"""

import argparse
import contextlib
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections import Counter
from multiprocessing.process import BaseProcess

import scipy.stats  # noqa: F401 - here, or every process would import it for itself
from sqlalchemy import NullPool, create_engine, text

import traindyno.search.rounds.strategy  # noqa: F401 - the same
from traindyno.app.rounds.partners import Part, take_part
from traindyno.app.rounds.requests import request_of
from traindyno.core.base import Record
from traindyno.core.outcomes import Outcome
from traindyno.core.requests import Bench
from traindyno.core.round_file import parse_round
from traindyno.core.round_space import planned_trials
from traindyno.store.ledger import Ledger, QueuedTrial
from traindyno.store.location import is_server

FORK = multiprocessing.get_context("fork")
END_SECONDS = 900.0
ROUND = """
name = "{name}"
[goal]
kind = "helps"
[job]
model = "mlp:64"
data = "digits:"
batch_size = 64
epochs = 10
schedule = "constant"
[budget]
trials = {trials}
[target.model]
values = ["mlp:64", "mlp:64x64"]
[nuisance.learning_rate]
low = 0.003
high = 1.0
scale = "log"
[incumbent]
learning_rate = 0.1
"""


class Summary(Record, frozen=True):
    """What became of the rounds. `drawn` are the slots of their runs, each as often as there is a run for it."""

    planned: int
    drawn: dict[tuple[str, str, str, int], int]
    succeeded: int
    results: int
    kills: int
    kills_within_runs: int
    seconds: float

    @property
    def lines(self) -> list[str]:
        return [
            f"{self.kills} times kill -9, {self.kills_within_runs} of them within a run; {self.seconds:.0f} s",
            f"{self.planned} runs planned, {len(self.drawn)} slots drawn, {self.succeeded} succeeded",
            f"{sum(count > 1 for count in self.drawn.values())} slots drawn twice",
            f"{len(self.missing)} slots lost",
            f"{self.results - self.succeeded} results beside the one that counts",
        ]

    @property
    def missing(self) -> list[tuple[str, str, str, int]]:
        """Slots before others of their arm that nobody drew."""
        last = {slot[:3]: max(other[3] for other in self.drawn if other[:3] == slot[:3]) for slot in self.drawn}
        wanted = [(*place, index) for place, most in last.items() for index in range(most)]
        return [slot for slot in wanted if slot not in self.drawn]

    @property
    def whole(self) -> bool:
        once = all(count == 1 for count in self.drawn.values()) and not self.missing
        return once and self.succeeded == self.results == self.planned == len(self.drawn)


def kill_round(
    store: str, *, kills: int, processes: int, trials: int, run_seconds: float, seed: int, rounds: int = 1
) -> Summary:
    """Kill and replace processes at random, then let them end the rounds, in each of whose two arms are so many trials.

    Every process takes part in all rounds, one after the other, and those that begin together in different ones.
    """
    began = time.monotonic()
    parts = [_part(f"killed-{number}", store, trials, run_seconds) for number in range(1, rounds + 1)]
    workers = [_start(parts, number) for number in range(processes)]
    within = 0
    try:
        _wait_for_runs(store)
        chance = random.Random(seed)
        for number in range(kills):
            time.sleep(chance.uniform(0, run_seconds))
            victim = workers.pop(chance.randrange(processes))
            within += _has_a_run(store, victim.pid)
            victim.kill()
            victim.join()
            workers.append(_start(parts, number))
        for worker in workers:
            worker.join(END_SECONDS)
        assert [worker.exitcode for worker in workers] == [0] * processes
    finally:
        for worker in workers:
            worker.kill()
    return _summary(parts, kills, within, time.monotonic() - began)


def _part(name: str, store: str, trials: int, run_seconds: float) -> Part:
    request = request_of(parse_round(ROUND.format(name=name, trials=trials), f"{name}.toml"), _bench(run_seconds))
    return Part(request=request, store=store, moved={}, parent=os.getpid())


def _bench(run_seconds: float) -> Bench:
    return Bench(device="auto", runner=f"simulated:sleep={run_seconds}")


def _start(parts: list[Part], first: int) -> BaseProcess:
    """A process that runs what is left of all rounds, beginning with the one at that place."""
    place = first % len(parts)
    process = FORK.Process(target=_take_parts, args=(parts[place:] + parts[:place],), daemon=True)
    process.start()
    return process


def _take_parts(parts: list[Part]) -> None:
    for part in parts:
        take_part(part, lambda: False)


def _wait_for_runs(store: str) -> None:
    """Until the gate is passed: while its few runs are made, most processes only wait."""
    deadline = time.monotonic() + 60
    while not any(trial.outcome is Outcome.OK and _is_search(trial) for trial in _queue(store)):
        assert time.monotonic() < deadline, "no run came to its end"
        time.sleep(0.05)


def _is_search(trial: QueuedTrial) -> bool:
    return trial.spec.draw is not None and trial.spec.draw.phase == "search"


def _queue(store: str) -> list[QueuedTrial]:
    """The trials of all rounds."""
    with Ledger.open(store) as ledger:
        return [trial for row in ledger.studies() for trial in ledger.queue(row.id)]


def _has_a_run(store: str, pid: int | None) -> bool:
    """Whether that process holds a trial now, as the store has it."""
    engine = create_engine(store if is_server(store) else f"sqlite:///{store}", poolclass=NullPool)
    with engine.begin() as connection:
        owners = list(connection.scalars(text("SELECT owner FROM trials WHERE owner IS NOT NULL")))
    return any(owner.rsplit(":", 2)[1] == str(pid) for owner in owners)


def _summary(parts: list[Part], kills: int, within: int, seconds: float) -> Summary:
    store, planned = parts[0].store, [planned_trials(part.request.round) or 0 for part in parts]
    with Ledger.open(store) as ledger:
        rounds = {row.name: ledger.queue(row.id) for row in ledger.studies()}
        queue = [trial for trials in rounds.values() for trial in trials]
        results = sum(len(ledger.attempts(trial.id)) for trial in queue)
    return Summary(
        planned=sum(planned),
        drawn=dict(Counter(_slot(name, trial) for name, trials in rounds.items() for trial in trials)),
        succeeded=sum(trial.outcome is Outcome.OK for trial in queue),
        results=results,
        kills=kills,
        kills_within_runs=within,
        seconds=seconds,
    )


def _slot(name: str, trial: QueuedTrial) -> tuple[str, str, str, int]:
    """The slot of a run, of whichever round it is."""
    assert trial.spec.draw is not None
    phase, arm, branch, index = trial.spec.draw.slot
    return f"{name} {phase}", arm, branch, index


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("kills", 100), ("processes", 8), ("rounds", 1), ("trials", 250), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--run-seconds", type=float, default=0.5)
    parser.add_argument("--store", help="[default: a file in a new folder]")
    given = vars(parser.parse_args())
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        summary = kill_round(**{**given, "store": given["store"] or f"{folder}/traindyno.db"})
    print("\n".join(summary.lines))
    return 0 if summary.whole else 1


if __name__ == "__main__":
    sys.exit(_main())
