"""Does gradient noise foretell how steps and time depend on the batch? Digits, a small perceptron, two CPU cores.

For SGD, momentum and Adam: steps to a training loss at batch 8 … 1024, each with a rate of its own (a grid of factors
of √2, medians over seeds), and the fit S(B) = Smin · (1 + Bn / B). Beside it what `traindyno noise-scale` says without
any of that: the noise scale from gradients, and the best batch. Goals: the fit within 10 % at every batch; the noise
scale within a factor of 2 of the fitted one; the best batch the measured best power of two, or its neighbour.

Then what a large batch costs, over 10 seeds with momentum: batch 16; batch 1024 at the same rate, by the linear rule,
by the gain rule, tuned, with ten times the epochs, with the same steps. Goal: the gain rule within a factor of 2 of the
tuned rate at every batch.

    python benchmarks/noise_scale.py [--parts sgd,momentum,adam,table] [--seeds 13] [--also earlier.json]
"""

import argparse
import math
import tempfile
import time
from dataclasses import replace
from typing import Any

import msgspec
import torch

import results
import traindyno
from noise_scale_runs import DATA, WAYS, Tuned, Way, tuned_steps
from noise_scale_table import table
from traindyno.analysis.steps_model import fit_steps, relative_steps
from traindyno.core.answers import NoiseScaleAnswer

SIZES = (8, 16, 32, 64, 128, 256, 512, 1024)
READ_AT, READ_EPOCHS = 16, 10.0
ENOUGH = 6
"""A run at batch 8 that needs so many times the examples of the fastest is too slow to be the best."""
Row = dict[str, Any]


def steps_part(way: Way, options: argparse.Namespace) -> Row:
    """Measured steps with their fit, and the tool's answer beside them."""
    start = time.monotonic()
    tuned = tuned_sizes(way, options)
    fit = fit_steps({each.batch_size: each.steps for each in tuned})
    assert fit is not None, "steps fall with the batch"
    measuring, start = time.monotonic() - start, time.monotonic()
    answer = ask(way, next(each for each in tuned if each.batch_size == READ_AT), options)
    assert answer.noise_scale is not None, "a gradient that is still there can be told from its noise"
    row = {
        "part": way.name,
        "target_loss": options.target,
        "steps": {each.batch_size: each.steps for each in tuned},
        "rates": {each.batch_size: each.rate for each in tuned},
        "medians_by_rate": {each.batch_size: each.by_rate for each in tuned},
        "fit": msgspec.to_builtins(fit),
        "worst_error": max(abs(error) for error in fit.errors.values()),
        "answer": msgspec.to_builtins(answer),
        "noise_scale_ratio": answer.noise_scale / fit.noise_scale,
        "measuring_seconds": measuring,
        "answering_seconds": time.monotonic() - start,
        **best_batches(tuned, answer),
    }
    tell(row)
    return row


def tuned_sizes(way: Way, options: argparse.Namespace) -> list[Tuned]:
    """Every batch begins with twice the rate of the one before: a rate that is too high shows at once."""
    found: list[Tuned] = []
    rate, most_steps = way.first_rate, options.most_steps
    for size in SIZES:
        found.append(tuned_steps(way, size, rate, options.seeds, options.target, most_steps))
        print(f"{way.name:9} batch {size:5d}: {found[-1].steps:7.1f} steps at rate {found[-1].rate:.4g}", flush=True)
        rate = grid_rate(found[-1].by_rate)
        most_steps = math.ceil(1.5 * found[-1].steps) + ENOUGH
    return found


def grid_rate(by_rate: dict[str, float]) -> float:
    return float(min(by_rate, key=lambda rate: by_rate[rate]))


def ask(way: Way, at: Tuned, options: argparse.Namespace) -> NoiseScaleAnswer:
    """What the tool says, along an ordinary training at one small batch: ten epochs of a cosine schedule."""
    with tempfile.TemporaryDirectory() as folder:
        return traindyno.noise_scale(
            way.model,
            data=DATA,
            learning_rate=at.rate,
            batch_size=at.batch_size,
            epochs=READ_EPOCHS,
            momentum=way.momentum,
            optimizer=way.optimizer,
            seeds=options.read_seeds,
            curve_sizes=list(SIZES),
            device=options.device,
            store=f"{folder}/store.db",
        )


def best_batches(tuned: list[Tuned], answer: NoiseScaleAnswer) -> Row:
    """The best by the tool, and by the measured steps with the same step times."""
    step_seconds = {row.batch_size: row.step_seconds for row in answer.rows}
    seconds = {each.batch_size: each.steps * step_seconds[each.batch_size] for each in tuned}
    measured = min(seconds, key=lambda size: seconds[size])
    predicted = answer.best_batch
    assert predicted is not None
    return {
        "seconds": seconds,
        "predicted_best": predicted,
        "measured_best": measured,
        "octaves_apart": abs(math.log2(predicted / measured)),
        "regret": seconds[predicted] / seconds[measured] - 1,
    }


def tell(row: Row) -> None:
    fit, answer = row["fit"], row["answer"]
    print(f"\n{row['part']}: steps to a training loss of {row['target_loss']}")
    for size, steps in row["steps"].items():
        fitted = fit["least_steps"] * relative_steps(size, fit["noise_scale"])
        print(f"  batch {size:5d} {steps:8.1f} steps, fitted {fitted:8.1f} ({fit['errors'][size]:+.1%})")
    low, high = answer["ci95"]
    print(f"  worst error of the fit {row['worst_error']:.1%} (goal: 10 %)")
    print(
        f"  noise scale fitted {fit['noise_scale']:.0f}, from gradients {answer['noise_scale']:.0f} "
        f"({low:.0f} to {high:.0f}): {row['noise_scale_ratio']:.2f} times (goal: 0.5 to 2)"
    )
    print(
        f"  best batch foretold {row['predicted_best']}, measured {row['measured_best']} (goal: at most one octave "
        f"apart), {row['regret']:.1%} slower\n",
        flush=True,
    )


def main() -> None:
    parser = results.arguments(__doc__.splitlines()[0])
    parser.add_argument("--parts", type=lambda text: text.split(","), default=[*WAYS, "table"])
    parser.add_argument(
        "--model", help="another than mlp:64, on which the method was settled; its result has its own file"
    )
    parser.add_argument("--seeds", type=int, default=13, help="runs of each rate")
    parser.add_argument("--read-seeds", type=int, default=5, help="runs whose gradients are read")
    parser.add_argument("--target", type=float, default=0.1, help="training loss to reach")
    parser.add_argument("--most-steps", type=int, default=800, help="longest run at batch 8")
    parser.add_argument("--table-seeds", type=int, default=10)
    parser.add_argument("--stop-after", type=float, default=math.inf, help="seconds after which no part is begun")
    parser.set_defaults(device="cpu")
    results.continues(parser)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = results.earlier_rows(options.also)
    start = time.monotonic()
    for part in options.parts:
        if any(row["part"] == part for row in rows) or time.monotonic() - start > options.stop_after:
            continue
        way = WAYS["momentum" if part == "table" else part]
        way = way if options.model is None else replace(way, model=options.model)
        rows.append(table(way, options.table_seeds) if part == "table" else steps_part(way, options))
        name = "noise_scale_cpu" if options.model is None else "noise_scale_other_model_cpu"
        results.write(options.out, name, {"model": way.model, "rows": rows})


if __name__ == "__main__":
    main()
