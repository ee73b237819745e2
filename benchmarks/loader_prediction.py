"""Does the event simulation foretell end-to-end speed? Predicted from parts measured apart, against measured.

Settings are drawn by a seed: model, image size, batch size, source, decoder, workers, prefetching. For each, a probe
and the loader alone give the parts, the simulation foretells the fed step, and only then the fed step is measured.
The same is done with the computing part as the fed process itself measured it before it was fed: processes differ,
and that is no fault of the simulation. Every setting drawn counts. Drawing goes on until at least 12 were measured,
among them 4 where data is the limit (loading takes over 1.2 times as long as computing) and 4 where both take equally
long within 20 %. Chance hits the latter seldom: from the 13th setting on, files are read by as many workers as the
probe says take as long as the step. The result is written after every setting, and `--also` goes on where an earlier
run was cut.

    python benchmarks/loader_prediction.py [--device cpu] [--seed 0] [--also earlier.json]
"""

import argparse
import contextlib
import random
import tempfile
from pathlib import Path
from typing import Any

import msgspec

import results
from loader_regret import make_data
from traindyno.analysis.intervals import median
from traindyno.analysis.loader_fit import read_parts
from traindyno.core.loading import Feed
from traindyno.core.records import Budget, Settings, TrialKind, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.machine.cpus import usable_cpus
from traindyno.runner.choose import WORKER_ENTRY
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines, Watcher

LEAST, LEAST_OF_A_KIND, MOST = 12, 4, 30
POOLS: dict[str, dict[str, list[Any]]] = {
    "cpu": {
        "model": ["torchvision:shufflenet_v2_x0_5", "torchvision:squeezenet1_1", "torchvision:mobilenet_v3_small"],
        "image_size": [32, 48, 64],
        "batch_size": [16, 32, 64],
        "workers": [0, 1, 1, 2],
    },
    "gpu": {
        "model": ["torchvision:resnet18", "torchvision:resnet34", "torchvision:resnet50", "torchvision:mobilenet_v2"],
        "image_size": [128, 176, 224],
        "batch_size": [64, 128, 256],
        "workers": [0, 1, 2, 3, 4, 6, 8, 10, 12, 15],
    },
}


def draw(chance: random.Random, folder: Path, kind: str, device: str, from_files: bool = False) -> TrialSpec:
    pool = {name: chance.choice(values) for name, values in POOLS[kind].items()}
    files = f"folder:{folder / 'files'}"
    data = chance.choice([files, files, f"prepared:{folder / 'prepared'}"])
    data = files if from_files else data
    return TrialSpec(
        kind="feed",
        workload=WorkloadSpec(model=pool["model"], data=data, image_size=pool["image_size"]),
        settings=Settings(
            batch_size=pool["batch_size"],
            device=device,
            num_workers=pool["workers"],
            prefetch_factor=chance.choice([2, 2, 4]),
            pin_memory=kind == "gpu" and chance.random() < 0.5,
            decoder=chance.choice(["pil", "torchvision"]),
        ),
        feed=Feed(supply="loader"),
    )


class Rig:
    def __init__(self, seconds: float) -> None:
        self._runner = LocalRunner(WORKER_ENTRY, Deadlines())
        self._budget = Budget(seconds=seconds)

    def run(self, spec: TrialSpec, kind: TrialKind) -> TrialRecord:
        settings = spec.settings if kind != "probe" else msgspec.structs.replace(spec.settings, num_workers=0)
        feed = Feed(supply="resident") if kind == "probe" else spec.feed
        spec = msgspec.structs.replace(spec, kind=kind, settings=settings, feed=feed, budget=self._budget)
        record = self._runner.run(spec, Watcher(), None)
        assert record.measurement is not None, record.failure
        return record

    def close(self) -> None:
        self._runner.close()


def balanced(spec: TrialSpec, probe: TrialRecord) -> TrialSpec:
    """The same with so many workers that loading should take as long as the step."""
    told = probe.measurement
    assert told is not None
    assert told.loading is not None
    assert told.loading.resident_step_seconds is not None
    most = max(1, int(usable_cpus().value) - 1)
    workers = min(most, max(1, round(told.step_seconds / told.loading.resident_step_seconds)))
    return msgspec.structs.replace(spec, settings=msgspec.structs.replace(spec.settings, num_workers=workers))


def measure(spec: TrialSpec, rig: Rig, balance: bool) -> dict[str, Any]:
    """Parts first, then the prediction, then the truth."""
    probe = rig.run(spec, "probe")
    if balance:
        spec = balanced(spec, probe)
    known = [probe, *([rig.run(spec, "load")] if spec.settings.num_workers else [])]
    parts = read_parts(known, usable_cpus().value)
    assert parts is not None
    assert parts.step_seconds is not None
    load = parts.forecast(spec.settings, alone=True).step_seconds
    predicted = parts.forecast(spec.settings, alone=False).step_seconds
    fed = rig.run(spec, "feed").measurement
    assert fed is not None
    error = predicted / fed.step_seconds - 1
    assert fed.loading is not None
    same = msgspec.structs.replace(parts, step_seconds=fed.loading.resident_step_seconds)
    ratio = load / parts.step_seconds
    row = {
        "settings": msgspec.to_builtins(spec.settings),
        "model": spec.workload.model,
        "image_size": spec.workload.image_size,
        "source": spec.workload.data.partition(":")[0],
        "load_seconds": load,
        "step_seconds": parts.step_seconds,
        "load_over_compute": ratio,
        "predicted_seconds": predicted,
        "measured_seconds": fed.step_seconds,
        "measured_ci95": fed.ci95,
        "steady": fed.steady,
        "max_of_parts_error": max(load, parts.step_seconds) / fed.step_seconds - 1,
        "sum_of_parts_error": (load + parts.step_seconds) / fed.step_seconds - 1,
        "same_process_step_seconds": same.step_seconds,
        "same_process_error": same.forecast(spec.settings, alone=False).step_seconds / fed.step_seconds - 1,
        "error": error,
        "parts": msgspec.to_builtins(parts),
    }
    settings, name = spec.settings, spec.workload.model.partition(":")[2]
    print(
        f"{name:20} {spec.workload.image_size:4d} px, {row['source']:8} {settings.decoder:11} batch "
        f"{settings.batch_size:3d}, {settings.num_workers:2d} workers: load {load * 1e3:7.1f} ms, compute "
        f"{parts.step_seconds * 1e3:7.1f} ms, predicted {predicted * 1e3:7.1f}, measured "
        f"{fed.step_seconds * 1e3:7.1f}: {error:+.1%}, with its own process's compute "
        f"{row['same_process_error']:+.1%}" + ("" if fed.steady else " (not steady)"),
        flush=True,
    )
    return row


def enough(rows: list[dict[str, Any]]) -> bool:
    bound, near = kinds(rows)
    return len(rows) >= LEAST and min(bound, near) >= LEAST_OF_A_KIND


def kinds(rows: list[dict[str, Any]]) -> tuple[int, int]:
    """How many are limited by data, and how many are balanced."""
    ratios = [row["load_over_compute"] for row in rows]
    return sum(ratio > 1.2 for ratio in ratios), sum(1 / 1.2 <= ratio <= 1.2 for ratio in ratios)


def summarise(rows: list[dict[str, Any]]) -> dict[str, Any]:
    names = ("error", "same_process_error", "max_of_parts_error", "sum_of_parts_error")
    errors = {name: median([abs(row[name]) for row in rows]) for name in names}
    bound, near = kinds(rows)
    print(
        f"median error {errors['error']:.1%} (goal: at most 5 %), with the compute part of the fed process "
        f"{errors['same_process_error']:.1%}; of the larger part alone {errors['max_of_parts_error']:.1%}, of the sum "
        f"{errors['sum_of_parts_error']:.1%}; {len(rows)} settings, {bound} limited by data, {near} balanced; "
        f"{sum(abs(row['error']) > 0.1 for row in rows)} misses above 10 %"
    )
    return {"median_absolute_error": errors, "data_bound": bound, "balanced": near}


def main() -> None:
    parser = results.arguments(__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trial-seconds", type=float, default=3.0)
    parser.add_argument("--images", type=int)
    parser.add_argument("--balanced", action="store_true", help="only settings whose loading takes about a step")
    parser.add_argument("--folder", type=Path, help="where the data is made; a temporary folder by default")
    results.continues(parser)
    options: argparse.Namespace = parser.parse_args()
    kind = "cpu" if options.device == "cpu" else "gpu"
    chance, rig, rows = random.Random(options.seed), Rig(options.trial_seconds), results.earlier_rows(options.also)
    with contextlib.ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        make_data(folder, options.images or (1024 if kind == "cpu" else 8192))
        for _ in rows:  # what was drawn and measured before
            draw(chance, folder, kind, options.device)
        while len(rows) < MOST and not enough(rows):
            balance = options.balanced or len(rows) >= LEAST
            spec = draw(chance, folder, kind, options.device, from_files=balance)
            rows.append(measure(spec, rig, balance))
            summary = {"seed": options.seed, **summarise(rows), "rows": rows}
            results.write(options.out, f"loader_prediction_{'balanced_' if options.balanced else ''}{kind}", summary)
    rig.close()


if __name__ == "__main__":
    main()
