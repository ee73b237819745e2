"""What a batch of 1024 costs on digits beside one of 16, by rule and length; part of `noise_scale.py`."""

import math
import statistics
import time
from typing import Any

import msgspec

from noise_scale_runs import DATA, Silent, Way, lowest, peak, trained
from traindyno.analysis.noise_scale import NoiseEstimate, noise_scale_of
from traindyno.analysis.rate_rules import scaled_rate
from traindyno.core.learning import NoisePlan, Recipe
from traindyno.core.records import Settings, TrialSpec, WorkloadSpec
from traindyno.worker.devices import open_device
from traindyno.worker.kinds.noise import measure_noise

SMALL, LARGE = 16, 1024
SIZES = (16, 32, 64, 128, 256, 512, 1024)
EPOCHS = 10.0
TUNING_SEEDS = range(100, 115)
READ_SEEDS = range(100, 105)
SLIGHTLY, MOST_LOSS = 1e-4, 10.0
GRID_FACTOR = 2.0
FIRST_RATE = 0.06
Row = dict[str, Any]


def table(way: Way, seeds: int) -> Row:
    """Tune every batch, read the noise along the small one, then run the rows on seeds that tuned nothing."""
    start = time.monotonic()
    tuned = tuned_rates(way)
    rate = tuned[SMALL]
    noise = read_noise(way, rate)
    by_gain = {size: scaled_rate("gain", rate, SMALL, size, noise_scale=noise.value) for size in SIZES}
    ratios = {size: by_gain[size] / tuned[size] for size in SIZES}
    lines = [
        run_line("batch 16, tuned", way, SMALL, rate, seeds),
        run_line("batch 1024, same rate", way, LARGE, rate, seeds),
        run_line("batch 1024, linear rule", way, LARGE, rate * LARGE / SMALL, seeds),
        run_line("batch 1024, gain rule", way, LARGE, by_gain[LARGE], seeds),
        run_line("batch 1024, tuned", way, LARGE, tuned[LARGE], seeds),
        run_line("batch 1024, tuned, ten times the epochs", way, LARGE, tuned[LARGE], seeds, epochs=10 * EPOCHS),
        run_line("batch 1024, tuned, same steps", way, LARGE, tuned[LARGE], seeds, epochs=EPOCHS * LARGE / SMALL),
    ]
    for size, ratio in ratios.items():
        print(
            f"batch {size:5d}: tuned rate {tuned[size]:.4g}, by gain {by_gain[size]:.4g}: {ratio:.2f} times", flush=True
        )
    return {
        "part": "table",
        "noise_scale": msgspec.to_builtins(noise),
        "tuned_rates": tuned,
        "gain_rates": by_gain,
        "gain_over_tuned": ratios,
        "worst_gain_factor": max(max(ratio, 1 / ratio) for ratio in ratios.values()),
        "lines": lines,
        "measuring_seconds": time.monotonic() - start,
    }


def tuned_rates(way: Way) -> dict[int, float]:
    """The rate with the fewest wrong answers after equal epochs, by batch; between the rates of the grid.

    Equal errors are told apart by the loss, as `accuracy --lr-rule tune` does.
    """
    found: dict[int, float] = {}
    first = FIRST_RATE
    for size in SIZES:
        errors: dict[float, float] = {}

        def at(rate: float, size: int = size, errors: dict[float, float] = errors) -> float:
            if rate not in errors:
                ends = [trained(way, size, rate, seed, schedule="cosine", epochs=EPOCHS) for seed in TUNING_SEEDS]
                wrong = 1 - statistics.mean(accuracy for _, accuracy in ends)
                errors[rate] = wrong + SLIGHTLY * min(MOST_LOSS, statistics.mean(loss for loss, _ in ends))
            return errors[rate]

        first = lowest(at, first, GRID_FACTOR)
        found[size] = peak(first, [at(first / GRID_FACTOR), at(first), at(first * GRID_FACTOR)], GRID_FACTOR)[0]
    return found


def read_noise(way: Way, rate: float) -> NoiseEstimate:
    """As `accuracy --lr-rule gain` has it: along the recipe at the batch whose rate is known."""
    spec = TrialSpec(
        kind="noise",
        workload=WorkloadSpec(model=way.model, data=DATA, optimizer=way.optimizer),
        settings=Settings(batch_size=SMALL),
        recipe=Recipe(learning_rate=rate, epochs=EPOCHS, momentum=way.momentum),
        noise_plan=NoisePlan(),
    )
    runs = [msgspec.structs.replace(spec, seed=seed) for seed in READ_SEEDS]
    noises = [measure_noise(run, open_device("cpu"), Silent()).noise for run in runs]
    return noise_scale_of([noise for noise in noises if noise is not None])


def run_line(label: str, way: Way, batch_size: int, rate: float, seeds: int, epochs: float = EPOCHS) -> Row:
    ends = [trained(way, batch_size, rate, seed, schedule="cosine", epochs=epochs) for seed in range(seeds)]
    accuracies = [accuracy for _, accuracy in ends]
    mean, spread = statistics.mean(accuracies), statistics.stdev(accuracies) if seeds > 1 else math.nan
    print(
        f"{label:42} rate {rate:8.4g}, {epochs:6.0f} epochs: {mean:.1%} ± {spread:.1%} over {seeds} seeds", flush=True
    )
    return {
        "label": label,
        "batch_size": batch_size,
        "rate": rate,
        "epochs": epochs,
        "accuracy_mean": mean,
        "accuracy_sd": spread,
        "accuracies": accuracies,
        "losses": [loss for loss, _ in ends],
    }
