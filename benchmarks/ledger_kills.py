"""Does a ledger lose or repeat trials when the processes that work on it are killed at any moment?

Eight processes run nine rounds of made-up runs together; again and again one of them is killed (-9) and replaced.
Then every run must be there, once. In a file, or on a PostgreSQL server that is started for it (Debian's package).

    python benchmarks/ledger_kills.py --database sqlite|postgresql [--kills 200] [--rounds 9] [--out FOLDER]
"""

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import results

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from app.rounds.killing import Summary, kill_round
from postgres import missing, running_cluster


def main() -> int:
    options = parse()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), store_of(options.database) as store:
        summary = kill_round(
            store,
            kills=options.kills,
            processes=options.processes,
            rounds=options.rounds,
            trials=options.trials,
            run_seconds=options.run_seconds,
            seed=options.seed,
        )
    print("\n".join(summary.lines))
    results.write(options.out.absolute(), f"ledger_kills_{options.database}", counts(summary, options))
    return 0 if summary.whole else 1


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--trials", type=int, default=50, help="runs in each of the two arms of a round's search")
    parser.add_argument("--run-seconds", type=float, default=0.5, help="what a made-up run takes")
    parser.add_argument("--seed", type=int, default=0, help="of the moments and victims")
    parser.add_argument("--out", type=Path, default=results.FOLDER, help="folder of the result file")
    return parser.parse_args()


@contextlib.contextmanager
def store_of(database: str) -> Iterator[str]:
    """A new store, in the present folder or on a server of its own."""
    if database == "sqlite":
        yield str(Path("traindyno.db").absolute())
        return
    if reason := missing():
        raise SystemExit(reason)
    with running_cluster() as cluster:
        yield cluster.new_store()


def counts(summary: Summary, options: argparse.Namespace) -> dict[str, object]:
    return {
        "processes": options.processes,
        "rounds": options.rounds,
        "run_seconds": options.run_seconds,
        "kills": summary.kills,
        "kills_within_runs": summary.kills_within_runs,
        "trials": summary.planned,
        "succeeded": summary.succeeded,
        "lost": summary.planned - summary.succeeded,
        "recorded_twice": summary.results - summary.succeeded,
        "drawn_twice": sum(count > 1 for count in summary.drawn.values()),
        "points_left_out": len(summary.missing),
        "seconds": round(summary.seconds, 1),
    }


if __name__ == "__main__":
    sys.exit(main())
