"""What does the ledger see when thousands of workers share a study, and does it keep up?

The ledger is the real one, on a real database, and so are the rules by which a worker takes, plans, looks and waits.
The workers are made up (ledger_workers_worker.py) and live in virtual time (ledger_workers_time.py): every call of
theirs is made, but for two renewals of three. What it takes of the server's CPU is charged to a database that does one
thing at a time, so that calls queue up as they would, and workers wait for them; what it takes of ours is the worker's
own time. Of SQLite, which has no server, all is charged to the file. CPU time, so that others on the machine do not
count; the disk is left out. Trials take minutes of virtual time, leases are renewed, some workers die in the middle of
a trial, and their leases expire. In the end every trial must be there, once.

    python benchmarks/ledger_workers.py [--database sqlite|postgresql] [--workers 100,1000,10000] [--trials-each 2]
"""

import argparse
import contextlib
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, median
from typing import Any

import results

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from ledger_workers_time import Clock, Process, World, cpu_clock
from ledger_workers_worker import SharedRun, Worker
from postgres import missing, running_cluster
from store.samples import MACHINE, REQUEST
from traindyno.store.ledger import Ledger

START_SECONDS = 300.0
"""Nobody starts thousands of processes at one moment."""
TELL_SECONDS = 60.0
"""So often, in virtual time, a long run says how far it is."""
MEMORY = Path("/dev/shm")
NAME_REST = "of a machine whose name is as long as those of real ones with a boot id"


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


def row_of(store: str, workers: int, trials: int, seed: int) -> dict[str, Any]:
    """One study of so many workers, from its beginning to its end."""
    clock, start, chance = Clock(), time.perf_counter(), random.Random(seed)
    with Ledger.open(store, clock=clock) as ledger:
        row = ledger.create_study(f"workers-{workers}", "throughput", REQUEST, MACHINE)
        world = World(clock, cpu_clock(ledger), chance)
        study = SharedRun(world, ledger, row, trials, chance)
        for number in range(workers):
            worker = Worker(study, f"worker-{number:05d} {NAME_REST}")
            world.start(worker.live(), chance.uniform(0, START_SECONDS))
        world.start(telling(study))
        world.run_until(lambda: study.is_over)
        queue, kept = ledger.queue(row.id), ledger.trials(row.id)
    return {
        "workers": workers,
        "trials": trials,
        "virtual_seconds": round(clock.seconds, 1),
        "real_seconds": round(time.perf_counter() - start, 1),
        "deaths": study.deaths,
        "lost": trials - len({record.spec.key for record in kept}),
        "kept_twice": sum(count > 1 for count in study.kept.values()) + len(kept) - len(queue),
        "trials_taken_again": study.taken_again,
        "renewals_refused": study.renewals_refused,
        "results_too_late": study.results_too_late,
        "last_new_trial_seconds": round(study.last_start, 1),
        "workers_busy": round(workers_busy(study, workers), 4),
        **calls_of(world, workers),
    }


def workers_busy(study: SharedRun, workers: int) -> float:
    """The share of workers with a trial, from when all have started till the last new trial is taken."""
    begin, end = START_SECONDS, study.last_start
    busy = sum(max(0.0, min(last, end) - max(first, begin)) for first, last in study.spans)
    return busy / (end - begin) / workers


def calls_of(world: World, workers: int) -> dict[str, Any]:
    """What the database was asked, what it took, and how long who asked waited."""
    seconds, took_by_kind = world.now, sorted(world.seconds.items())
    calls = {kind: len(took) for kind, took in took_by_kind}
    by_minute = [world.busy_by_minute[minute] / 60 for minute in range(int(seconds // 60))]
    busy = sum(world.busy_by_minute.values()) / seconds
    return {
        "calls": calls,
        "calls_per_second": {kind: round(number / seconds, 3) for kind, number in calls.items()},
        "calls_per_worker_and_minute": round(60 * sum(calls.values()) / seconds / workers, 2),
        "milliseconds_per_call": {
            kind: {"mean": round(1e3 * fmean(took), 3), "most": round(1e3 * max(took), 1)}
            for kind, took in took_by_kind
        },
        "own_milliseconds_per_call": {
            kind: round(1e3 * fmean(took), 3) for kind, took in sorted(world.own_seconds.items())
        },
        "database_busy": round(busy, 4),
        "database_busy_by_minute": [round(share, 3) for share in by_minute],
        "share_of_database": {kind: round(sum(took) / seconds, 4) for kind, took in took_by_kind},
        "delay_milliseconds": delay_of([delay for delays in world.delays.values() for delay in delays]),
        "delay_milliseconds_of_renewals": delay_of(world.delays["renew"]),
        "workers_until_database_is_full": round(workers / max(by_minute)),
    }


def delay_of(delays: list[float]) -> dict[str, float]:
    """How long it took from a question to its answer."""
    ordered = sorted(delays)
    return {
        "mean": round(1e3 * fmean(ordered), 2),
        "p99": round(1e3 * ordered[int(0.99 * len(ordered))], 2),
        "most": round(1e3 * ordered[-1], 1),
    }


def telling(study: SharedRun) -> Process[None]:
    """How far it is, now and then."""
    while True:
        yield TELL_SECONDS
        busy = sum(study.world.busy_by_minute.values())
        print(
            f"{study.world.now:6.0f} s: {study.results:,} of {study.trials:,} results, {study.deaths} deaths, "
            f"{study.taken_again} taken again, database busy for {busy:.1f} s",
            file=sys.stderr,
            flush=True,
        )


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
