"""What does the ledger see when thousands of workers share a study, and does it keep up?

The ledger is the real one, on a real database, and so are the rules by which a worker takes, plans, looks and waits.
The workers are made up and live in virtual time: every call of theirs is done. What it takes of the server's CPU is
charged to a database that does one thing at a time, so that calls queue up as they would, and workers wait for them;
what it takes of ours is the worker's own time. Of SQLite, which has no server, all is charged to the file. CPU time,
so that others on the machine do not count; the disk is left out. Trials take
minutes of virtual time, leases are renewed, some workers die in the middle of a trial, and their leases expire. In the
end every trial must be there, once.

    python benchmarks/ledger_workers.py [--database sqlite|postgresql] [--workers 100,1000,10000] [--trials-each 2]
"""

import argparse
import contextlib
import heapq
import itertools
import os
import random
import sys
import tempfile
import time
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import Any, TypeVar

import results

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from postgres import missing, running_cluster
from store.samples import MACHINE, REQUEST, measured
from traindyno.app.attempt import LEASE_SECONDS
from traindyno.app.pulling import (
    ASKING_SECONDS,
    FEW,
    FIRST_LOOK_SECONDS,
    PLAN_SECONDS,
    ahead_of,
    is_time_to_plan,
    look_interval_seconds,
    low_mark,
    pause_seconds,
    plan,
    rest_seconds,
    stay_seconds,
)
from traindyno.app.shared_view import Looking
from traindyno.app.watching import RENEW_SECONDS
from traindyno.core.records import Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.search.strategy import Proposal
from traindyno.store.ledger import Lease, Ledger, Running, StaleLeaseError, StudyRow, Taken

T = TypeVar("T")
CpuClock = Callable[[], tuple[float, float]]
"""Seconds of a CPU so far: a worker's own, and those of what answers it."""
TRIAL_SECONDS = 300.0
SPREAD = 0.3
"""Standard deviation of the logarithm of a trial's time."""
DEATHS = 0.02
"""The share of workers that die in the middle of a trial, of those that begin one."""
BACK_SECONDS = 60.0
"""After so long another worker is there for one that died."""
START_SECONDS = 300.0
"""Nobody starts thousands of processes at one moment."""
REMEMBERED_TRIALS = 200_000
"""What all workers together remember of their looks, for want of memory: the others read all of it again."""
RENEWALS_MADE, LIKE_THESE, USUAL_SECONDS = 3, 500, 1e-3
"""Every third renewal of a lease is made, which is in time; the others are charged what one of the latest took."""
MEMORY = Path("/dev/shm")
NAME_REST = "of a machine whose name is as long as those of real ones with a boot id"
ASK_SECONDS, FIRST_ASK_SECONDS_PER_TRIAL = 2e-3, 30e-6
"""What a round's strategy needs for each trial of a plan, and for the first by the length of the study.

Measured apart, see docs/thousands.md.
"""


@dataclass
class Clock:
    """Virtual time, which the ledger takes for the real one."""

    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


@dataclass
class Server:
    """A database that does one thing at a time: what calls took, and how long each was on its way."""

    clock: Clock
    cpu_seconds: "CpuClock"
    free_at: float = 0.0
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    own_seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    delays: list[float] = field(default_factory=list)

    def call(self, kind: str, work: Callable[[], T]) -> T:
        """The result. Virtual time is then the moment at which it is there."""
        own, its = self.cpu_seconds()
        result = work()
        own_after, its_after = self.cpu_seconds()
        self._take(kind, its_after - its, own_after - own)
        return result

    def latest(self, kind: str) -> float:
        """What the latest call of that kind took, on either side."""
        return self.seconds[kind][-1] + self.own_seconds[kind][-1]

    def charge(self, kind: str, chance: random.Random) -> None:
        """A call like those before it, which is not made."""
        known = len(self.seconds[kind])
        if not known:
            self._take(kind, USUAL_SECONDS, 0.0)
            return
        like = chance.randrange(max(0, known - LIKE_THESE), known)
        self._take(kind, self.seconds[kind][like], self.own_seconds[kind][like])

    def _take(self, kind: str, took: float, own: float) -> None:
        self.seconds[kind].append(took)
        self.own_seconds[kind].append(own)
        self.free_at = max(self.clock.seconds, self.free_at) + took
        self.delays.append(self.free_at + own - self.clock.seconds)
        self.clock.seconds = self.free_at + own


class Listed:
    """A strategy that knows beforehand what it wants: so many trials, each with a seed of its own."""

    def __init__(self, trials: int) -> None:
        self._trials = trials

    def ask(self, finished: Sequence[TrialRecord], running: Sequence[TrialSpec]) -> Proposal | None:
        number = len(finished) + len(running)
        return None if number >= self._trials else Proposal(spec_of(number), "it is next", self._trials)


def spec_of(number: int) -> TrialSpec:
    """A trial like those of a tuning round."""
    workload = WorkloadSpec(model="mlp:64", data="digits:")
    return TrialSpec(kind="learn", workload=workload, settings=Settings(batch_size=64), seed=number)


class Worker:
    """One process of a shared study, with what it knows of it. What it does follows `app.shared_study`."""

    def __init__(self, simulation: "Simulation", name: str) -> None:
        self._simulation, self._name = simulation, name
        self._running, self._most_running = Running(trials=0, here=0), 0
        self._count_seconds, self._counted_at = 0.0, -1e9
        self._look_seconds, self._looked_at = FIRST_LOOK_SECONDS, simulation.clock.seconds
        self._idle_since: float | None = None
        self._renewed_at = simulation.clock.seconds
        self._has_news = self._is_owner = False

    def join(self) -> None:
        simulation, request = self._simulation, REQUEST
        simulation.call(
            "join",
            lambda: simulation.ledger.take_part(
                simulation.study.name, "throughput", request, MACHINE, lambda _: request, self._name, LEASE_SECONDS
            ),
        )
        self._count()
        simulation.after(0.0, self.step)

    def step(self) -> None:
        """Take a trial; or plan; or wait a moment."""
        simulation = self._simulation
        if simulation.is_over:
            return
        self._stay_known()
        is_many, is_idle = self._running.trials > FEW, self._idle_since is not None
        if is_many and not is_idle and self._is_due(self._look_seconds, self._looked_at):
            self._look()
        running = self._running.trials
        count_left = low_mark(running) + 1 if running > FEW else 0
        taken = simulation.call(
            "take",
            lambda: simulation.ledger.lease_next(simulation.study.id, self._name, LEASE_SECONDS, count_left=count_left),
        )
        if taken is None:
            self._plan(False, lambda is_planned: simulation.after(0.0, self.step) if is_planned else self._wait())
        elif is_time_to_plan(taken.left, running):
            self._plan(True, lambda _: self._run(taken))
        else:
            self._run(taken)

    def _plan(self, is_ahead: bool, then: Callable[[bool], None]) -> None:
        """Plan if it is this one's turn, and go on with whether there is something to take now."""
        simulation, ledger, study = self._simulation, self._simulation.ledger, self._simulation.study
        turn = simulation.call(
            "turn", lambda: ledger.take_turn(study.id, self._name, PLAN_SECONDS, has_news=self._has_news)
        )
        if not turn.is_mine:
            then(False)
            return
        self._has_news = False
        view = self._look()
        if view.waiting and not is_ahead:
            self._end_turn(0.0, then)
            return
        count = max(1, ahead_of(len(view.running)) - len(view.waiting))
        asked_for = [*view.running, *(each.spec for each in view.waiting)]
        first_seconds = FIRST_ASK_SECONDS_PER_TRIAL * view.known_trials
        most = min(count, 1 + int(max(0.0, ASKING_SECONDS - first_seconds) / ASK_SECONDS))
        specs = [each.spec for each in plan(simulation.strategy, view.finished, asked_for, most)]
        if not specs:
            self._end_turn(rest_seconds(self._look_seconds), then)
            return

        def enqueue() -> None:
            simulation.call("ask", lambda: ledger.enqueue_all_if(study.id, specs, view.known_trials))
            self._end_turn(0.0, then)

        simulation.after(first_seconds + ASK_SECONDS * len(specs), enqueue)

    def _end_turn(self, rest: float, then: Callable[[bool], None]) -> None:
        simulation = self._simulation
        simulation.call("turn", lambda: simulation.ledger.end_turn(simulation.study.id, self._name, rest))
        then(not rest)

    def _run(self, taken: Taken) -> None:
        simulation = self._simulation
        self._idle_since = None
        self._count()
        start, seconds = simulation.clock.seconds, simulation.chance.lognormvariate(0, SPREAD) * TRIAL_SECONDS
        if simulation.chance.random() < DEATHS:
            simulation.deaths += 1
            seconds *= simulation.chance.random()
            again = Worker(simulation, f"{self._name}-{simulation.deaths}")
            simulation.after(seconds + BACK_SECONDS, again.join)
        else:
            self._renew_until(start + seconds, taken.lease, start)
            simulation.at(start + seconds, lambda: self._keep(taken))
        simulation.runs.append((start, start + seconds))

    def _renew_until(self, end: float, lease: Lease, start: float, number: int = 1) -> None:
        simulation, moment = self._simulation, start + number * RENEW_SECONDS
        if moment < end:

            def renew() -> None:
                self._stay_known()
                if number % RENEWALS_MADE:
                    simulation.server.charge("renew", simulation.chance)
                else:
                    kept = simulation.call("renew", lambda: simulation.ledger.renew(lease, LEASE_SECONDS))
                    simulation.refused += not kept
                self._renew_until(end, lease, start, number + 1)

            simulation.at(moment, renew)

    def _keep(self, taken: Taken) -> None:
        simulation = self._simulation
        self._count()
        try:
            simulation.call("keep", lambda: simulation.ledger.commit(taken.lease, measured(taken.spec)))
            simulation.kept[taken.lease.trial_id] += 1
        except StaleLeaseError:
            simulation.too_late += 1
        if self._running.trials <= FEW:
            self._has_news = True
            self._look()
        simulation.after(0.0, self.step)

    def _look(self) -> Any:
        """All of the study, with what it takes to read it for the first time; that time is the database's, too."""
        simulation = self._simulation
        looking = simulation.looking_of(self._name)
        view = simulation.call("look", looking.look)
        self._look_seconds = simulation.server.latest("look")
        self._looked_at = self._counted_at = simulation.clock.seconds
        self._see_running(Running(trials=len(view.running), here=0))
        return view

    def _count(self) -> None:
        simulation = self._simulation
        if not self._is_due(self._count_seconds, self._counted_at):
            return
        self._see_running(simulation.call("count", lambda: simulation.ledger.running(simulation.study.id, FEW)))
        self._count_seconds, self._counted_at = simulation.server.latest("count"), simulation.clock.seconds

    def _see_running(self, running: Running) -> None:
        self._running, self._most_running = running, max(self._most_running, running.trials)

    def _is_due(self, seconds: float, since: float) -> bool:
        return self._simulation.clock.seconds - since >= look_interval_seconds(seconds, self._running.trials)

    def _wait(self) -> None:
        simulation = self._simulation
        now = simulation.clock.seconds
        self._idle_since = now if self._idle_since is None else self._idle_since
        pause = pause_seconds(now - self._idle_since, self._most_running, simulation.chance.random)
        simulation.after(pause, self.step)

    def _stay_known(self) -> None:
        simulation = self._simulation
        if simulation.clock.seconds - self._renewed_at < stay_seconds(self._is_owner):
            return
        self._renewed_at = simulation.clock.seconds
        held = simulation.call(
            "stay", lambda: simulation.ledger.join_study(simulation.study.name, self._name, LEASE_SECONDS)
        )
        self._is_owner = held.owner == self._name


class Simulation:
    """Workers that share one study, event by event."""

    def __init__(self, ledger: Ledger, clock: Clock, study: StudyRow, workers: int, trials: int, seed: int) -> None:
        self.ledger, self.clock, self.study = ledger, clock, study
        self.chance, self.strategy = random.Random(seed), Listed(trials)
        self.server = Server(clock, cpu_clock(ledger))
        self._lookings: OrderedDict[str, Looking] = OrderedDict()
        self._workers, self._trials = workers, trials
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self.kept: Counter[int] = Counter()
        self.runs: list[tuple[float, float]] = []
        self.deaths = self.refused = self.too_late = 0
        self.call = self.server.call

    @property
    def is_over(self) -> bool:
        return sum(self.kept.values()) >= self._trials

    def run(self) -> float:
        """Until every trial is there; the virtual seconds it took."""
        for number in range(self._workers):
            worker = Worker(self, f"worker-{number:05d} {NAME_REST}")
            self.at(self.chance.uniform(0, START_SECONDS), worker.join)
        while self._events and not self.is_over:
            self.clock.seconds, _, happen = heapq.heappop(self._events)
            happen()
        return self.clock.seconds

    def at(self, moment: float, happen: Callable[[], None]) -> None:
        heapq.heappush(self._events, (moment, next(self._numbers), happen))

    def after(self, seconds: float, happen: Callable[[], None]) -> None:
        self.at(self.clock.seconds + seconds, happen)

    def looking_of(self, worker: str) -> Looking:
        """What a worker has read once it need not read again."""
        looking = self._lookings.pop(worker, None) or Looking(self.ledger, self.study.id)
        self._lookings[worker] = looking
        if len(self._lookings) * self._trials > REMEMBERED_TRIALS:
            self._lookings.popitem(last=False)
        return looking


def cpu_clock(ledger: Ledger) -> CpuClock:
    engine = ledger._database.reader
    if engine.dialect.name == "sqlite":
        return lambda: (0.0, time.process_time())
    with engine.connect() as connection:
        times = Path(f"/proc/{connection.exec_driver_sql('SELECT pg_backend_pid()').scalar()}/schedstat")
    return lambda: (time.process_time(), int(times.read_text().split()[0]) / 1e9)


def row_of(store: str, workers: int, trials: int, seed: int) -> dict[str, Any]:
    """One study of so many workers, from its beginning to its end."""
    clock, start = Clock(), time.perf_counter()
    with Ledger.open(store, clock=clock) as ledger:
        study = ledger.create_study(f"workers-{workers}", "throughput", REQUEST, MACHINE)
        simulation = Simulation(ledger, clock, study, workers, trials, seed)
        seconds = simulation.run()
        queue, kept = ledger.queue(study.id), ledger.trials(study.id)
    server = simulation.server
    calls = {kind: len(took) for kind, took in sorted(server.seconds.items())}
    delays = sorted(server.delays)
    full = (START_SECONDS, simulation.runs[-1][0])
    busy = sum(max(0.0, min(end, full[1]) - max(begin, full[0])) for begin, end in simulation.runs)
    database_busy = sum(map(sum, server.seconds.values())) / seconds
    return {
        "workers": workers,
        "trials": trials,
        "virtual_seconds": round(seconds, 1),
        "real_seconds": round(time.perf_counter() - start, 1),
        "deaths": simulation.deaths,
        "lost": trials - len({record.spec.key for record in kept}),
        "kept_twice": sum(count > 1 for count in simulation.kept.values()) + len(kept) - len(queue),
        "renewals_refused": simulation.refused,
        "results_too_late": simulation.too_late,
        "calls": calls,
        "calls_per_second": {kind: round(number / seconds, 3) for kind, number in calls.items()},
        "calls_per_worker_and_minute": round(60 * sum(calls.values()) / seconds / workers, 2),
        "milliseconds_per_call": {
            kind: {"mean": round(1e3 * fmean(took), 3), "most": round(1e3 * max(took), 1)}
            for kind, took in sorted(server.seconds.items())
        },
        "own_milliseconds_per_call": {
            kind: round(1e3 * fmean(took), 3) for kind, took in sorted(server.own_seconds.items())
        },
        "database_busy": round(database_busy, 4),
        "share_of_database": {kind: round(sum(took) / seconds, 4) for kind, took in sorted(server.seconds.items())},
        "delay_milliseconds": {
            "mean": round(1e3 * fmean(delays), 2),
            "p99": round(1e3 * delays[int(0.99 * len(delays))], 2),
            "most": round(1e3 * delays[-1], 1),
        },
        "workers_busy": round(busy / (full[1] - full[0]) / workers, 4),
        "workers_until_database_is_full": round(workers / database_busy),
    }


def told(row: dict[str, Any]) -> str:
    delay = row["delay_milliseconds"]
    return (
        f"{row['workers']:>7,} workers, {row['trials']:,} trials, {row['deaths']} deaths: {row['lost']} lost, "
        f"{row['kept_twice']} kept twice; {sum(row['calls_per_second'].values()):.0f} calls/s, database busy "
        f"{row['database_busy']:.1%}, delay {delay['mean']:.1f} ms (p99 {delay['p99']:.1f} ms); workers busy "
        f"{row['workers_busy']:.1%}; {row['virtual_seconds']:.0f} s in {row['real_seconds']:.0f} s"
    )


@contextlib.contextmanager
def store_of(database: str) -> Iterator[str]:
    """A new store, in memory or on a server of its own that does not wait for its disk: that is reckoned apart."""
    if database == "sqlite":
        with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.exists() else None) as folder:
            yield str(Path(folder) / "traindyno.db")
        return
    if reason := missing():
        raise SystemExit(reason)
    with running_cluster() as cluster:
        yield cluster.new_store()


def main() -> int:
    options = parse()
    rows = []
    for workers in options.workers:
        with store_of(options.database) as store:
            rows.append(row_of(store, workers, round(workers * options.trials_each), options.seed))
            print(told(rows[-1]), flush=True)
        sync = {"disk_sync_milliseconds": disk_sync_milliseconds()}
        results.write(options.out, f"ledger_workers_{options.database}", {**sync, "rows": rows})
    return 0 if all(row["lost"] == row["kept_twice"] == 0 for row in rows) else 1


def disk_sync_milliseconds(times: int = 200) -> float:
    """What this machine's disk takes to keep a page for good: what every write of a ledger on it would take besides."""
    took = []
    with tempfile.TemporaryFile() as file:
        for _ in range(times):
            start = time.perf_counter()
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())
            took.append(time.perf_counter() - start)
    return round(1e3 * median(took), 3)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--workers", type=counts, default=(100, 1000, 10_000), help="counts, separated by commas")
    parser.add_argument("--trials-each", type=float, default=2.0, help="trials for each worker")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=results.FOLDER, help="folder of the result file")
    return parser.parse_args()


def counts(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


if __name__ == "__main__":
    sys.exit(main())
