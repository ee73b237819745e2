"""Does `scale` on one device measure what `throughput` measures, and what does DDP cost where nobody else is there?

By turns, each in fresh processes: `traindyno.throughput` at one batch and `traindyno.scale` with one device and the
same batch per device. The answer is the ratio of the two rates by turn, its median and range, and what the wrapper for
several processes adds to a step at world size 1. Goal: the median ratio within 2 % of 1.

    python benchmarks/one_device.py [--turns 3] [--cases resnet50@64,resnet18@32]
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import results
import traindyno
from traindyno.analysis.intervals import median

CASES = "resnet50@64,resnet18@32"
GOAL = 0.02
Row = dict[str, Any]


def compare(model: str, batch_size: int, options: argparse.Namespace) -> Row:
    usual: dict[str, Any] = {"device": options.device, "repeats": 1, "trial_seconds": options.trial_seconds}
    plain, scaled, costs = [], [], []
    for turn in range(options.turns):
        with tempfile.TemporaryDirectory() as folder:
            store = str(Path(folder) / "store.db")
            curve = traindyno.throughput(model, batch_size=batch_size, refine=False, store=store, **usual).curve
            answer = traindyno.scale(model, devices=1, batch_per_device=batch_size, store=store, **usual)
        rate = answer.rows[0].examples_per_second
        assert rate is not None, answer.rows[0].failure
        plain.append(curve[0].examples_per_second)
        scaled.append(rate)
        costs.append({"ddp_cost": answer.ddp_cost, "ci95": answer.ddp_cost_ci95, "backend": answer.backend})
        print(
            f"{model} at batch {batch_size}, turn {turn + 1}: throughput {plain[-1]:.0f}/s, scale {rate:.0f}/s "
            f"({rate / plain[-1] - 1:+.2%}); DDP adds {answer.ddp_cost or 0:.2%} to the step ({answer.ddp_cost_ci95})",
            flush=True,
        )
    ratios = [ours / theirs for ours, theirs in zip(scaled, plain, strict=True)]
    return {
        "model": model,
        "batch_size": batch_size,
        "throughput": plain,
        "scale": scaled,
        "ratio": median(ratios),
        "ratio_range": [min(ratios), max(ratios)],
        "within_goal": abs(median(ratios) - 1) <= GOAL,
        "wrapper": costs,
    }


def main() -> None:
    parser = results.arguments(__doc__.splitlines()[0])
    parser.add_argument("--cases", default=CASES, help="torchvision's models with their batch: resnet50@64,…")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--trial-seconds", type=float, default=4.0)
    options = parser.parse_args()
    rows = []
    for case in options.cases.split(","):
        name, _, batch_size = case.partition("@")
        rows.append(compare(f"torchvision:{name}", int(batch_size), options))
        row = rows[-1]
        print(f"{case}: scale ÷ throughput {row['ratio']:.4f} (goal: within {GOAL:.0%} of 1)", flush=True)
    results.write(options.out, f"one_device_{'cpu' if options.device == 'cpu' else 'gpu'}", {"rows": rows})


if __name__ == "__main__":
    main()
