"""Does `traindyno switches` find the fastest settings? Its choice against every combination of the main switches.

The grid is {fp32, bf16, fp16} × {contiguous, channels last} × {not compiled, default, reduce-overhead}, each cell in a
fresh process. Then the tool answers, and the grid's winner and the tool's choice are measured again, taking turns. The
goal is at least 97 % of the winner's speed. The result is written after every cell, and `--also` goes on where an
earlier run was cut. With `--answers` the tool is not asked again: its answers are read from the documents that
step_tables.sh exported to that folder.

    python benchmarks/switch_regret.py [--model torchvision:resnet50] [--sizes 256,32] [--also earlier.json]
"""

import argparse
import itertools
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

import results
from traindyno.analysis.intervals import log_t_interval, median
from traindyno.app.context import Context
from traindyno.app.switches import switches
from traindyno.core.answers import SwitchesAnswer
from traindyno.core.records import Budget, Settings, TrialSpec, WorkloadSpec
from traindyno.core.requests import Bench, SwitchesRequest
from traindyno.runner.choose import WORKER_ENTRY
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines, Watcher

KNOBS = {
    "precision": ("fp32", "bf16", "fp16"),
    "memory_format": ("contiguous", "channels_last"),
    "compile": ("none", "default", "reduce-overhead"),
}
Row = dict[str, Any]


def grid() -> list[dict[str, str]]:
    return [dict(zip(KNOBS, values, strict=True)) for values in itertools.product(*KNOBS.values())]


class Rig:
    """Runs single cells and pairs of settings; compiled code is kept on disk between them."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._runner = LocalRunner(WORKER_ENTRY, Deadlines())
        self._workload = WorkloadSpec(model=options.model, image_size=options.image_size)
        self._device, self._budget = options.device, Budget(seconds=options.trial_seconds)

    def rate(self, size: int, changes: dict[str, Any]) -> float:
        spec = TrialSpec(
            kind="speed", workload=self._workload, settings=self._settings(size, changes), budget=self._budget
        )
        told = self._runner.run(spec, Watcher(), None)
        assert told.measurement is not None, told.failure
        return told.measurement.examples_per_second

    def ratio(self, size: int, ours: dict[str, Any], winner: dict[str, Any], turn: int) -> float:
        """Our speed as a share of the winner's, both alive and taking turns."""
        spec = TrialSpec(
            kind="pair",
            workload=self._workload,
            settings=self._settings(size, ours),
            against=self._settings(size, winner),
            budget=self._budget,
            repeat=turn,
        )
        told = self._runner.run(spec, Watcher(), None)
        assert told.measurement is not None, told.failure
        assert told.measurement.pair is not None
        return told.measurement.pair.ratio

    def close(self) -> None:
        self._runner.close()

    def _settings(self, size: int, changes: dict[str, Any]) -> Settings:
        document = {**msgspec.to_builtins(Settings(batch_size=size, device=self._device)), **changes}
        return msgspec.convert(document, Settings)


def fill(rig: Rig, row: Row, keep: Any) -> None:
    """Measure the cells of one batch size that are not there yet."""
    known = [cell["settings"] for cell in row["cells"]]
    for changes in grid():
        if changes not in known:
            start = time.monotonic()
            rate = rig.rate(row["batch_size"], changes)
            seconds = time.monotonic() - start
            row["cells"].append({"settings": changes, "examples_per_second": rate, "seconds": seconds})
            print(f"batch {row['batch_size']:4d} {' '.join(changes.values()):40} {rate:8.0f} examples/s", flush=True)
            keep()


def ask(row: Row, options: argparse.Namespace) -> None:
    """What the tool recommends, as the changes to torch's defaults."""
    if options.answers is not None:
        name = options.model.partition(":")[2]
        found = results.answer_of(options.answers / f"switches_{name}_{row['batch_size']}_h200.json")
        row |= {"ours": found["recommended"], "seconds": found["seconds"], "answer": found}
        return
    request = SwitchesRequest(
        workload=WorkloadSpec(model=options.model, image_size=options.image_size),
        bench=Bench(device=options.device),
        settings=Settings(batch_size=row["batch_size"], device=options.device),
        trial_seconds=options.trial_seconds,
    )
    with tempfile.TemporaryDirectory() as folder:
        answer = switches(request, Context(store=f"{folder}/store.db")).answer
    assert isinstance(answer, SwitchesAnswer)
    row |= {"ours": answer.recommended, "seconds": answer.seconds, "answer": msgspec.to_builtins(answer)}


def compare(rig: Rig, row: Row, turns: int) -> None:
    winner = max(row["cells"], key=lambda cell: cell["examples_per_second"])["settings"]
    ratios = [rig.ratio(row["batch_size"], row["ours"], winner, turn) for turn in range(turns)]
    low, high = log_t_interval(ratios)
    row |= {"winner": winner, "ratios": ratios, "share_of_winner": median(ratios), "share_ci95": [low, high]}
    print(
        f"batch {row['batch_size']}: winner {winner}, ours {row['ours']}: {median(ratios):.1%} of the winner's speed "
        f"({low:.1%} to {high:.1%}; goal 97 %), found in {row['seconds']:.0f} s against "
        f"{sum(cell['seconds'] for cell in row['cells']):.0f} s of the grid",
        flush=True,
    )


def main() -> None:
    parser = results.arguments(__doc__.splitlines()[0])
    parser.add_argument("--model", default="torchvision:resnet50")
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=[256, 32])
    parser.add_argument("--trial-seconds", type=float, default=2.0)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--answers", type=Path, help="folder of step_tables.sh, whose answers are judged")
    results.continues(parser)
    options = parser.parse_args()
    kind = "cpu" if options.device == "cpu" else "gpu"
    earlier = {row["batch_size"]: row for row in results.earlier_rows(options.also)}
    rows: list[Row] = [earlier.get(size, {"batch_size": size, "cells": []}) for size in options.sizes]

    def keep() -> None:
        results.write(options.out, f"switch_regret_{kind}", {"model": options.model, "rows": rows})

    rig = Rig(options)
    for row in rows:
        if "ours" not in row:
            ask(row, options)
            keep()
        fill(rig, row, keep)
        if "ratios" not in row:
            compare(rig, row, options.turns)
            keep()
    rig.close()


if __name__ == "__main__":
    main()
