"""How far do pairs of equal settings differ from 1, and do their intervals hold it?

Each pair is of fresh processes, and sizes take turns in random order. The result is written after every pair, and
`--also` goes on where an earlier run was cut.

    python benchmarks/pair_noise.py [--model torchvision:resnet50] [--sizes 32,256] [--pairs 10] [--also earlier.json]
"""

import argparse
import math
import random
from typing import Any

import results
from traindyno.analysis.intervals import median
from traindyno.core.records import Budget, Pair, Settings, TrialSpec, WorkloadSpec
from traindyno.runner.choose import WORKER_ENTRY
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines, Watcher

Row = dict[str, Any]


def measure(runner: LocalRunner, options: argparse.Namespace, size: int, number: int) -> Pair:
    settings = Settings(batch_size=size, device=options.device)
    spec = TrialSpec(
        kind="pair",
        workload=WorkloadSpec(model=options.model, image_size=options.image_size),
        settings=settings,
        against=settings,
        budget=Budget(seconds=options.trial_seconds),
        repeat=number,
    )
    told = runner.run(spec, Watcher(), None)
    assert told.measurement is not None, told.failure
    assert told.measurement.pair is not None
    return told.measurement.pair


def summarise(row: Row) -> None:
    """The usual error of a pair's ratio, and what its own turns leave open; both on logarithms."""
    errors = [abs(math.log(pair["ratio"])) for pair in row["pairs"]]
    halves = [math.log(pair["ci95"][1] / pair["ci95"][0]) / 2 for pair in row["pairs"] if pair["ci95"][0] > 0]
    covered = sum(pair["ci95"][0] <= 1.0 <= pair["ci95"][1] for pair in row["pairs"])
    row |= {"usual_error": median(errors), "largest_error": max(errors), "covered": covered}
    row |= {"usual_half_width": median(halves) if halves else None}
    print(
        f"batch {row['batch_size']:4d}: {len(errors)} pairs, usually off by {row['usual_error']:.1%}, "
        f"at most {row['largest_error']:.1%}; {covered} of their intervals hold 1",
        flush=True,
    )


def parse() -> argparse.Namespace:
    parser = results.arguments(__doc__.splitlines()[0])
    parser.add_argument("--model", default="torchvision:resnet50")
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=[32])
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--trial-seconds", type=float, default=1.5)
    results.continues(parser)
    return parser.parse_args()


def main() -> None:
    options = parse()
    name = f"pair_noise_{'cpu' if options.device == 'cpu' else 'gpu'}"
    rows: list[Row] = results.earlier_rows(options.also) or [
        {"batch_size": size, "pairs": []} for size in options.sizes
    ]
    runner = LocalRunner(WORKER_ENTRY, Deadlines())
    for number in range(options.pairs):
        for row in random.Random(number).sample(rows, len(rows)):
            if len(row["pairs"]) > number:
                continue
            pair = measure(runner, options, row["batch_size"], number)
            row["pairs"].append({"ratio": pair.ratio, "ci95": pair.ci95, "turns": pair.turns})
            results.write(options.out, name, {"model": options.model, "rows": rows})
    runner.close()
    for row in rows:
        summarise(row)
    results.write(options.out, name, {"model": options.model, "rows": rows})


if __name__ == "__main__":
    main()
