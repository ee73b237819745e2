"""kill -9 at any moment, of any of several processes on one round: no point is drawn twice, and none is lost.

Also a script: `python tests/app/rounds/killing.py --kills 100 --processes 8` prints what became of the round.
"""

import argparse
import multiprocessing
import os
import random
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from multiprocessing.process import BaseProcess
from pathlib import Path

import scipy.stats  # noqa: F401 - here, or every process would import it for itself

import traindyno.search.rounds.strategy  # noqa: F401 - the same
from traindyno.app.rounds.partners import Part, take_part
from traindyno.app.rounds.requests import request_of
from traindyno.core.base import Record
from traindyno.core.outcomes import Outcome
from traindyno.core.requests import Bench, RoundRequest
from traindyno.core.round_file import parse_round
from traindyno.core.round_space import planned_trials
from traindyno.core.rounds import Draw
from traindyno.store.ledger import Ledger, QueuedTrial

FORK = multiprocessing.get_context("fork")
ROUND = """
name = "killed"
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
    """What became of a round. `drawn` are the slots of its runs, each as often as there is a run for it."""

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


def kill_round(folder: Path, *, kills: int, processes: int, trials: int, run_seconds: float, seed: int) -> Summary:
    """Kill and replace processes at random, then let them end the round."""
    began = time.monotonic()
    request = request_of(parse_round(ROUND.format(trials=trials), "killed.toml"), _bench(run_seconds))
    part = Part(request=request, store=str(folder / "traindyno.db"), moved={}, parent=os.getpid())
    workers = [_start(part) for _ in range(processes)]
    within = 0
    try:
        _wait_for_runs(part.store)
        chance = random.Random(seed)
        for _ in range(kills):
            time.sleep(chance.uniform(0, 1.5 * run_seconds))
            victim = workers.pop(chance.randrange(processes))
            within += _has_a_run(part.store, victim.pid)
            victim.kill()
            victim.join()
            workers.append(_start(part))
        for worker in workers:
            worker.join(300)
        assert [worker.exitcode for worker in workers] == [0] * processes
    finally:
        for worker in workers:
            worker.kill()
    return _summary(request, part.store, kills, within, time.monotonic() - began)


def _bench(run_seconds: float) -> Bench:
    return Bench(device="auto", runner=f"simulated:sleep={run_seconds}")


def _start(part: Part) -> BaseProcess:
    process = FORK.Process(target=take_part, args=(part, lambda: False), daemon=True)
    process.start()
    return process


def _wait_for_runs(store: str) -> None:
    deadline = time.monotonic() + 60
    while not any(trial.outcome is Outcome.OK for trial in _queue(store)):
        assert time.monotonic() < deadline, "no run came to its end"
        time.sleep(0.05)


def _queue(store: str) -> list[QueuedTrial]:
    with Ledger.open(store) as ledger:
        rows = [row for row in ledger.studies() if row.name == "killed"]
        return ledger.queue(rows[0].id) if rows else []


def _has_a_run(store: str, pid: int | None) -> bool:
    """Whether that process holds a trial now, as the store has it."""
    raw = sqlite3.connect(store, timeout=30)
    owners = [owner for (owner,) in raw.execute("SELECT owner FROM trials WHERE owner IS NOT NULL")]
    raw.close()
    return any(owner.rsplit(":", 2)[1] == str(pid) for owner in owners)


def _summary(request: RoundRequest, store: str, kills: int, within: int, seconds: float) -> Summary:
    queue = _queue(store)
    with Ledger.open(store) as ledger:
        results = sum(len(ledger.attempts(trial.id)) for trial in queue)
    return Summary(
        planned=planned_trials(request.round) or 0,
        drawn=dict(Counter(_draw(trial).slot for trial in queue)),
        succeeded=sum(trial.outcome is Outcome.OK for trial in queue),
        results=results,
        kills=kills,
        kills_within_runs=within,
        seconds=seconds,
    )


def _draw(trial: QueuedTrial) -> Draw:
    assert trial.spec.draw is not None
    return trial.spec.draw


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("kills", 100), ("processes", 8), ("trials", 250), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--run-seconds", type=float, default=0.5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        summary = kill_round(Path(folder), **vars(given))
    print("\n".join(summary.lines))
    return 0 if summary.whole else 1


if __name__ == "__main__":
    sys.exit(_main())
