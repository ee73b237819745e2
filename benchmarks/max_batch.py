"""The largest batch that trains, by four contestants in one run: result, time, out-of-memory count; and the truth.

The truth comes from exhaustive bisection to the unit, every size run in a fresh process. All contestants run three
steps per size on data made on the device, with SGD and momentum, 224 px, fp32. `seconds` starts after torch was
imported; `full_seconds` includes starting Python and all imports. Ours also says when `max_batch` was known: what
follows is the proof of the safe batch and of the largest without allocator retries, which no peer gives.

    python benchmarks/max_batch.py [--models resnet50,mobilenet_v2,vit_b_16]
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

import results
from traindyno.app.context import Context
from traindyno.app.max_batch import max_batch
from traindyno.core.answers import MaxBatchAnswer
from traindyno.core.events import Event, TrialFinished, TrialProgress
from traindyno.core.records import Budget, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.requests import Bench, MaxBatchRequest
from traindyno.runner.choose import WORKER_ENTRY
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines, Watcher

PEERS = ("lightning-power", "lightning-binsearch", "accelerate")


class Stopwatch:
    """Notes when the first trial's process was alive, and when each trial ended."""

    def __init__(self) -> None:
        self.begin: float | None = None
        self.finished: list[tuple[float, TrialFinished]] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, TrialProgress) and self.begin is None:
            self.begin = time.monotonic()
        if isinstance(event, TrialFinished):
            self.finished.append((time.monotonic(), event))

    def max_known(self, answer: MaxBatchAnswer) -> float:
        """When both the largest size that runs and the first that does not had ended."""
        wanted = {answer.max_batch, answer.first_failed_batch}
        times: dict[int, float] = {}
        for at, event in self.finished:
            times.setdefault(event.record.batch_size, at)
        assert self.begin is not None
        return max(times[size] for size in wanted if size is not None) - self.begin


def ours(name: str, device: str) -> dict[str, Any]:
    stopwatch, start = Stopwatch(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        request = MaxBatchRequest(workloads=(WorkloadSpec(model=f"torchvision:{name}"),), bench=Bench(device=device))
        answer = max_batch(request, Context(store=f"{folder}/store.db", emit=stopwatch)).answer
    end = time.monotonic()
    assert stopwatch.begin is not None
    return {
        "batch": answer.max_batch,
        "seconds": stopwatch.max_known(answer),
        "seconds_with_safe_batch": end - stopwatch.begin,
        "full_seconds": end - start,
        "out_of_memory": answer.out_of_memory_probes,
        "probes": [_probe(event.record) for _, event in stopwatch.finished],
        "safe_batch": answer.safe_batch,
        "no_retry_batch": answer.no_retry_batch,
        "first_failed_batch": answer.first_failed_batch,
    }


def _probe(record: TrialRecord) -> list[Any]:
    return [record.batch_size, record.spec.margin, str(record.outcome), round(record.seconds, 2)]


def peer(contestant: str, name: str) -> dict[str, Any]:
    start = time.monotonic()
    command = [sys.executable, str(Path(__file__).with_name("max_batch_peers.py")), contestant, name]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        return {"batch": None, "error": run.stderr[-600:], "full_seconds": time.monotonic() - start}
    result: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return {**result, "full_seconds": time.monotonic() - start}


def true_limit(name: str, device: str, runs: int, fails: int | None) -> int:
    """Bisect to the unit between a size known to run and one known to fail."""
    runner = LocalRunner(WORKER_ENTRY, Deadlines())
    spec = TrialSpec(
        kind="fit",
        workload=WorkloadSpec(model=f"torchvision:{name}"),
        settings=Settings(batch_size=1, device=device),
        budget=Budget(steps=3),
    )

    def fits(size: int) -> bool:
        settings = msgspec.structs.replace(spec.settings, batch_size=size)
        return runner.run(msgspec.structs.replace(spec, settings=settings), Watcher(), None).ok

    high = fails or 2 * runs
    while high - runs > 1:
        middle = (runs + high) // 2
        runs, high = (middle, high) if fits(middle) else (runs, middle)
    runner.close()
    return runs


def main() -> None:
    parser = results.arguments(__doc__.splitlines()[0])
    parser.add_argument("--models", default="resnet50,mobilenet_v2,vit_b_16")
    options = parser.parse_args()
    table = {}
    for name in options.models.split(","):
        rows = {"traindyno": ours(name, options.device)}
        rows.update({contestant: peer(contestant, name) for contestant in PEERS})
        own = rows["traindyno"]
        truth = true_limit(name, options.device, own["batch"], own["first_failed_batch"])
        table[name] = {"true_limit": truth, "contestants": rows}
        print(f"\n{name}: true limit {truth}")
        for contestant, row in rows.items():
            if row["batch"] is None:
                print(f"  {contestant:22} failed: {row['error'][-200:]}")
                continue
            extra = (
                f", {row['seconds_with_safe_batch']:.1f} s with the safe batch proved"
                if contestant == "traindyno"
                else ""
            )
            print(
                f"  {contestant:22} {row['batch']:6d} ({row['batch'] / truth:.1%}) in {row['seconds']:5.1f} s"
                f" (full {row['full_seconds']:.1f} s), {row['out_of_memory']} out of memory{extra}",
                flush=True,
            )
        results.write(options.out, "max_batch_gpu", {"steps_per_size": 3, "models": table})


if __name__ == "__main__":
    main()
