"""Does the loader search find what an exhaustive grid finds? Regret of its worker count, and what either costs.

For each workload, in one run: every worker count end to end (the grid), the search of `traindyno loader`, then the
grid's winner and the search's choice again, taking turns in fresh processes. Regret is how much slower the choice is
in those turns; choosing what the grid chose is no regret. The result is written after every workload, and `--also`
goes on where an earlier run was cut.

    python benchmarks/loader_regret.py [--device cpu] [--trial-seconds 3] [--turns 4] [--also earlier.json]
"""

import argparse
import contextlib
import math
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

import results
from traindyno.analysis.intervals import log_t_interval, median
from traindyno.analysis.worker_choice import worker_counts
from traindyno.app.context import Context
from traindyno.app.loader import loader
from traindyno.core.answers import LoaderAnswer
from traindyno.core.loading import Feed
from traindyno.core.records import Budget, Settings, TrialSpec, WorkloadSpec
from traindyno.core.requests import Bench, LoaderRequest
from traindyno.machine.cpus import usable_cpus
from traindyno.runner.choose import WORKER_ENTRY
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines, Watcher


@dataclass(frozen=True)
class Case:
    name: str
    workload: WorkloadSpec
    batch_size: int


def cases(folder: Path, device: str) -> list[Case]:
    """A light and a heavy model on JPEG files and on prepared pixels."""
    on_cpu = device == "cpu"
    light = ("torchvision:shufflenet_v2_x0_5", 64, 32) if on_cpu else ("torchvision:resnet18", 224, 128)
    heavy = ("torchvision:resnet18", 128, 16) if on_cpu else ("torchvision:resnet50", 224, 128)
    sources = {"JPEG files": f"folder:{folder / 'files'}", "prepared pixels": f"prepared:{folder / 'prepared'}"}
    return [
        Case(f"{model.split(':')[1]} on {form}", WorkloadSpec(model=model, data=data, image_size=size), batch)
        for model, size, batch in (light, heavy)
        for form, data in sources.items()
    ]


def make_data(folder: Path, images: int) -> None:
    def traindyno(*words: str) -> None:
        subprocess.run([sys.executable, "-m", "traindyno", "data", *words], check=True, stdout=subprocess.DEVNULL)

    traindyno("make", str(folder / "files"), "--like", "imagenet", "--images", str(images), "-q")
    traindyno("prepare", f"folder:{folder / 'files'}", str(folder / "prepared"), "-q")


class Rig:
    """Measures worker counts end to end, each in a fresh process."""

    def __init__(self, case: Case, options: argparse.Namespace) -> None:
        self._runner = LocalRunner(WORKER_ENTRY, Deadlines())
        self._spec = TrialSpec(
            kind="feed",
            workload=case.workload,
            settings=Settings(batch_size=case.batch_size, device=options.device),
            budget=Budget(seconds=options.trial_seconds),
            feed=Feed(supply="loader"),
        )

    def step_seconds(self, workers: int, repeat: int = 0) -> float:
        settings = msgspec.structs.replace(self._spec.settings, num_workers=workers)
        spec = msgspec.structs.replace(self._spec, settings=settings, repeat=repeat)
        record = self._runner.run(spec, Watcher(), None)
        assert record.measurement is not None, record.failure
        return record.measurement.step_seconds

    def close(self) -> None:
        self._runner.close()


def search(case: Case, options: argparse.Namespace) -> LoaderAnswer:
    """What `traindyno loader` answers; the batch's other knobs stay as they are in the grid."""
    request = LoaderRequest(
        workload=case.workload,
        bench=Bench(device=options.device),
        batch_size=case.batch_size,
        decoder="pil",
        trial_seconds=options.trial_seconds,
    )
    with tempfile.TemporaryDirectory() as folder:
        answer = loader(request, Context(store=f"{folder}/store.db")).answer
    assert isinstance(answer, LoaderAnswer)
    return answer


def regret(rig: Rig, ours: int, best: int, turns: int) -> tuple[float, tuple[float, float], list[list[float]]]:
    """Our step time over the winner's, less one, with its interval over the turns."""
    if ours == best:
        return 0.0, (0.0, 0.0), []
    pairs = [
        [rig.step_seconds(count, repeat=1 + turn) for count in _by_turns(ours, best, turn)] for turn in range(turns)
    ]
    ordered = [pair if turn % 2 == 0 else pair[::-1] for turn, pair in enumerate(pairs)]
    ratios = [mine / winner for mine, winner in ordered]
    low, high = log_t_interval(ratios)
    return median(ratios) - 1, (low - 1, high - 1), ordered


def _by_turns(ours: int, best: int, turn: int) -> tuple[int, int]:
    return (ours, best) if turn % 2 == 0 else (best, ours)


def measure(case: Case, options: argparse.Namespace) -> dict[str, Any]:
    rig = Rig(case, options)
    start = time.monotonic()
    grid = {count: rig.step_seconds(count) for count in worker_counts(usable_cpus().value)}
    grid_seconds = time.monotonic() - start
    best = min(grid, key=lambda count: grid[count])
    start = time.monotonic()
    answer = search(case, options)
    search_seconds = time.monotonic() - start
    ours = answer.recommended.num_workers
    value, interval, pairs = regret(rig, ours, best, options.turns)
    rig.close()
    rates = {count: case.batch_size / seconds for count, seconds in grid.items()}
    print(
        f"{case.name:36} grid's best {best:2d}, ours {ours:2d} after {answer.trials} trials: regret {value:+.1%} "
        f"({interval[0]:+.1%} to {interval[1]:+.1%}); search took {search_seconds / grid_seconds:.0%} of the grid's "
        f"{grid_seconds:.0f} s; resident {answer.resident_examples_per_second or math.nan:.0f}/s, grid "
        + " ".join(f"{count}:{rate:.0f}" for count, rate in rates.items()),
        flush=True,
    )
    return {
        "workload": case.name,
        "batch_size": case.batch_size,
        "grid_examples_per_second": rates,
        "grid_seconds": grid_seconds,
        "grid_best": best,
        "ours": ours,
        "trials": answer.trials,
        "search_seconds": search_seconds,
        "resident_examples_per_second": answer.resident_examples_per_second,
        "points": msgspec.to_builtins(answer.points),
        "regret": value,
        "regret_ci95": interval,
        "turns_step_seconds": pairs,
    }


def conclude(rows: list[dict[str, Any]], images: int, options: argparse.Namespace) -> None:
    mean = sum(row["regret"] for row in rows) / len(rows)
    share = sum(row["search_seconds"] for row in rows) / sum(row["grid_seconds"] for row in rows)
    most = max(row["trials"] for row in rows)
    print(f"mean regret {mean:.1%} (goal: at most 2 %), at most {most} trials, {share:.0%} of the grid's time")
    kind = "cpu" if options.device == "cpu" else "gpu"
    summary = {"mean_regret": mean, "most_trials": most, "share_of_grid_time": share, "images": images, "rows": rows}
    results.write(options.out, f"loader_regret_{kind}", summary)


def main() -> None:
    parser = results.arguments(__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, help="of the generated set")
    parser.add_argument("--trial-seconds", type=float, default=3.0)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--folder", type=Path, help="where the data is made; a temporary folder by default")
    results.continues(parser)
    options = parser.parse_args()
    images = options.images or (1024 if options.device == "cpu" else 8192)
    with contextlib.ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        make_data(folder, images)
        rows = results.earlier_rows(options.also)
        for case in cases(folder, options.device)[len(rows) :]:
            rows.append(measure(case, options))
            conclude(rows, images, options)


if __name__ == "__main__":
    main()
