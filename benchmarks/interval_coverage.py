"""Do the 95 % intervals keep their promise? Many fresh repeats of the same measurement, and how many contain the truth.

One repeat is what `traindyno throughput` does for one batch size: three trials in fresh processes, combined into
one interval. The truth is taken to be the median over all repeats of a size. The order of sizes is random.

    python benchmarks/interval_coverage.py [--device cpu --model ... --sizes ...]
"""

import random
import time
from collections import defaultdict

import results
from traindyno.analysis.curve import build_curve
from traindyno.analysis.intervals import median
from traindyno.core.answers import CurvePoint
from traindyno.core.records import Budget, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.runner.choose import WORKER_ENTRY
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines, Watcher


def measure(
    runner: LocalRunner, workload: WorkloadSpec, size: int, device: str, repeat: int, seconds: float
) -> TrialRecord:
    spec = TrialSpec(
        kind="speed",
        workload=workload,
        settings=Settings(batch_size=size, device=device),
        budget=Budget(seconds=seconds),
        repeat=repeat,
    )
    record = runner.run(spec, Watcher(), None)
    assert record.ok, record.failure
    return record


def main() -> None:
    parser = results.arguments(__doc__.splitlines()[0])
    parser.add_argument("--model", default="torchvision:resnet18")
    parser.add_argument("--image-size", type=int, default=64)
    parser.add_argument("--sizes", default="32,256,1024")
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--trial-seconds", type=float, default=2.0)
    parser.add_argument("--stop-after", type=float, default=540.0, help="seconds; what was done by then counts")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    workload = WorkloadSpec(model=options.model, image_size=options.image_size)
    runner = LocalRunner(WORKER_ENTRY, Deadlines())
    points: dict[int, list[CurvePoint]] = defaultdict(list)
    order = random.Random(0)
    start = time.monotonic()
    for repeat in range(options.repeats):
        if time.monotonic() - start > options.stop_after:
            break
        records = []
        for process in range(options.processes):
            for size in order.sample(sizes, len(sizes)):
                number = repeat * options.processes + process
                records.append(measure(runner, workload, size, options.device, number, options.trial_seconds))
        for point in build_curve(records):
            points[point.batch_size].append(point)
    runner.close()
    rows = []
    for size in sizes:
        truth = median([point.examples_per_second for point in points[size]])
        hits = [point.ci95[0] <= truth <= point.ci95[1] for point in points[size]]
        half = median([(point.ci95[1] - point.ci95[0]) / 2 / point.examples_per_second for point in points[size]])
        rows.append(
            {
                "batch_size": size,
                "repeats": len(hits),
                "covered": sum(hits),
                "median_examples_per_second": truth,
                "median_relative_half_width": half,
                "points": [[point.examples_per_second, *point.ci95] for point in points[size]],
            }
        )
        print(
            f"batch {size}: {sum(hits)}/{len(hits)} contain {truth:.0f} examples/s, typically ± {half:.2%}", flush=True
        )
    covered, total = sum(row["covered"] for row in rows), sum(row["repeats"] for row in rows)
    print(f"coverage {covered}/{total} = {covered / total:.1%} (goal 90 to 98 %)", flush=True)
    kind = "cpu" if options.device == "cpu" else "gpu"
    summary = {"workload": options.model, "image_size": options.image_size, "coverage": covered / total, "rows": rows}
    results.write(options.out, f"interval_coverage_{kind}", summary)


if __name__ == "__main__":
    main()
