"""Do the 95 % intervals keep their promise? Many fresh repeats of the same measurement, and how many contain the truth.

One repeat is what `traindyno throughput` does for one batch size: three trials in fresh processes, combined into
one interval. The truth is taken to be the median over all repeats of a size in the same run: another card, or the same
one on another day, has a truth of its own. The order of sizes is random. A run that must end early can be continued:
`--also` adds the repeats of earlier runs.

    python benchmarks/interval_coverage.py [--device cpu --model ... --sizes ...] [--also earlier.json]
"""

import argparse
import json
import random
import time
from pathlib import Path
from typing import Any

import results
from traindyno.analysis.curve import build_curve
from traindyno.analysis.intervals import median
from traindyno.core.records import Budget, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.machine.facts import collect
from traindyno.runner.choose import WORKER_ENTRY
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines, Watcher

Point = list[float]  # examples per second and the two ends of the interval
Run = dict[str, Any]  # the card, and the points by batch size


def measure(runner: LocalRunner, options: argparse.Namespace, size: int, number: int) -> TrialRecord:
    spec = TrialSpec(
        kind="speed",
        workload=WorkloadSpec(model=options.model, image_size=options.image_size),
        settings=Settings(batch_size=size, device=options.device),
        budget=Budget(seconds=options.trial_seconds),
        repeat=number,
    )
    record = runner.run(spec, Watcher(), None)
    assert record.ok, record.failure
    return record


def repeat_once(
    runner: LocalRunner, options: argparse.Namespace, repeat: int, order: random.Random
) -> dict[int, Point]:
    """Every size in several fresh processes, taking turns in random order."""
    records = []
    for process in range(options.processes):
        number = repeat * options.processes + process
        records += [measure(runner, options, size, number) for size in order.sample(options.sizes, len(options.sizes))]
    return {point.batch_size: [point.examples_per_second, *point.ci95] for point in build_curve(records)}


def earlier_runs(path: Path | None) -> list[Run]:
    return [] if path is None else json.loads(path.read_text())["runs"]


def this_run(points: dict[int, list[Point]]) -> Run:
    gpus = collect().gpus
    return {"gpu": gpus[0].uuid if gpus else None, "points": {str(size): found for size, found in points.items()}}


def summarise(size: int, runs: list[Run]) -> dict[str, Any]:
    """How many intervals of a size contain the median of their own run."""
    by_run = [run["points"][str(size)] for run in runs]
    truths = [median([rate for rate, _, _ in points]) for points in by_run]
    covered = [
        sum(low <= truth <= high for _, low, high in points) for truth, points in zip(truths, by_run, strict=True)
    ]
    repeats = sum(map(len, by_run))
    half_width = median([(high - low) / 2 / rate for points in by_run for rate, low, high in points])
    told = ", ".join(f"{truth:.0f}" for truth in truths)
    print(f"batch {size}: {sum(covered)}/{repeats} contain {told} examples/s, typically ± {half_width:.2%}", flush=True)
    return {
        "batch_size": size,
        "repeats": repeats,
        "covered": sum(covered),
        "covered_by_run": covered,
        "median_examples_per_second_by_run": truths,
        "median_relative_half_width": half_width,
    }


def parse() -> argparse.Namespace:
    parser = results.arguments(__doc__.splitlines()[0])
    parser.add_argument("--model", default="torchvision:resnet18")
    parser.add_argument("--image-size", type=int, default=64)
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=[32, 256, 1024])
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--trial-seconds", type=float, default=2.0)
    parser.add_argument("--stop-after", type=float, default=540.0, help="seconds; what was done by then counts")
    results.continues(parser)
    return parser.parse_args()


def main() -> None:
    options = parse()
    runs = earlier_runs(options.also)
    done = sum(len(run["points"][str(options.sizes[0])]) for run in runs)
    points: dict[int, list[Point]] = {size: [] for size in options.sizes}
    runner, order, start = LocalRunner(WORKER_ENTRY, Deadlines()), random.Random(done), time.monotonic()
    for repeat in range(done, options.repeats):
        if time.monotonic() - start > options.stop_after:
            break
        for size, point in repeat_once(runner, options, repeat, order).items():
            points[size].append(point)
    runner.close()
    runs += [this_run(points)] if points[options.sizes[0]] else []
    rows = [summarise(size, runs) for size in options.sizes]
    coverage = sum(row["covered"] for row in rows) / sum(row["repeats"] for row in rows)
    print(f"coverage {coverage:.1%} (goal 90 to 98 %)", flush=True)
    kind = "cpu" if options.device == "cpu" else "gpu"
    summary = {"workload": options.model, "image_size": options.image_size, "coverage": coverage, "rows": rows}
    results.write(options.out, f"interval_coverage_{kind}", summary | {"runs": runs})


if __name__ == "__main__":
    main()
