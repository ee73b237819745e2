"""Does `traindyno switches` find the fastest settings? Its choice against every combination of the main switches.

In parts, which share the folder of compiled code that `--compiled` names:

- `ahead`: compile the cells of the grid, several at once and not timed, so that they start quickly.
- `grid`: {fp32, bf16, fp16} × {contiguous, channels last} × {not compiled, default, reduce-overhead}, each cell in a
  fresh process.
- `compare`: the tool answers, and the grid's winner and the tool's choice are measured again, taking turns. With
  `--answers` the tool is not asked: its answers are read from the documents that step_tables.sh exported there.

The goal is at least 97 % of the winner's speed. The result is written after every cell, and `--also` goes on where an
earlier run was cut.

    python benchmarks/switch_regret.py [--model torchvision:resnet50] [--sizes 256,32] [--also earlier.json]
"""

import argparse
import itertools
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
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
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines, Watcher
from traindyno.worker import main as worker

PARTS = ("ahead", "grid", "compare")
COMPILED = "SWITCH_REGRET_COMPILED"
KNOBS = {
    "precision": ("fp32", "bf16", "fp16"),
    "memory_format": ("contiguous", "channels_last"),
    "compile": ("none", "default", "reduce-overhead"),
}
OF_A_GPU = ("fp16", "reduce-overhead")
Row = dict[str, Any]


def grid(device: str) -> list[dict[str, str]]:
    on_gpu = device != "cpu"
    values = [[value for value in knob if on_gpu or value not in OF_A_GPU] for knob in KNOBS.values()]
    return [dict(zip(KNOBS, cell, strict=True)) for cell in itertools.product(*values)]


def run_with_shared_code(document: str, descriptor: int) -> int:
    """A trial whose compiled code lies in one folder for all runners, where it stays."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.environ[COMPILED]
    return worker.run(document, descriptor)


class Rig:
    """Runs single cells and pairs of settings; compiled code is kept on disk between them."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._runner = LocalRunner(f"{Path(__file__).stem}:run_with_shared_code", Deadlines())
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


def compile_ahead(rows: list[Row], options: argparse.Namespace) -> None:
    """What is compiled beside others is kept; which kernel is the fastest, which was timed then, is not."""
    wanted = [
        (row["batch_size"], changes)
        for changes in grid(options.device)
        for row in rows
        if changes["compile"] != "none" and changes not in [cell["settings"] for cell in row["cells"]]
    ]

    start = time.monotonic()

    def compiled(cell: tuple[int, dict[str, str]]) -> None:
        rig = Rig(options)
        try:
            rig.rate(*cell)
            ending = "compiled"
        except AssertionError as error:  # the grid will tell of it, if it was not for want of memory beside others
            ending = f"failed: {error}"
        finally:
            rig.close()
        print(f"batch {cell[0]:4d} {' '.join(cell[1].values()):40} {ending}", flush=True)

    with ThreadPoolExecutor(options.at_once) as pool:
        list(pool.map(compiled, wanted))
    print(f"compiled {len(wanted)} cells ahead in {time.monotonic() - start:.0f} s, {options.at_once} at once")
    for choice in Path(os.environ[COMPILED]).rglob("*.best_config"):
        choice.unlink()


def fill(rig: Rig, row: Row, cells: list[dict[str, str]], keep: Any) -> None:
    """Measure the cells of one batch size that are not there yet."""
    known = [cell["settings"] for cell in row["cells"]]
    for changes in cells:
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
        f"({low:.1%} to {high:.1%}; goal 97 %), found in {row['seconds']:.0f} s",
        flush=True,
    )


def parse() -> argparse.Namespace:
    parser = results.arguments(__doc__.splitlines()[0])
    parser.add_argument("--model", default="torchvision:resnet50")
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=[256, 32])
    parser.add_argument("--trial-seconds", type=float, default=2.0)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--answers", type=Path, help="folder of step_tables.sh, whose answers are judged")
    parser.add_argument("--parts", type=lambda text: text.split(","), default=["grid", "compare"])
    parser.add_argument("--at-once", type=int, default=4, help="cells that are compiled ahead beside each other")
    parser.add_argument("--compiled", type=Path, help="where compiled code is kept; a temporary folder by default")
    results.continues(parser)
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"there is no part {min(unknown)}: choose from {','.join(PARTS)}")
    return options


def main() -> None:
    options = parse()
    kind = "cpu" if options.device == "cpu" else "gpu"
    earlier = {row["batch_size"]: row for row in results.earlier_rows(options.also)}
    rows: list[Row] = [earlier.get(size, {"batch_size": size, "cells": []}) for size in options.sizes]
    others = [row for size, row in earlier.items() if size not in options.sizes]

    def keep() -> None:
        results.write(options.out, f"switch_regret_{kind}", {"model": options.model, "rows": [*others, *rows]})

    with tempfile.TemporaryDirectory() as temporary:
        os.environ[COMPILED] = str(options.compiled or temporary)
        # Trials import this file by its name.
        os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
        if "ahead" in options.parts:
            compile_ahead(rows, options)
        rig = Rig(options)
        for row in rows:
            if "grid" in options.parts:
                fill(rig, row, grid(options.device), keep)
            if "compare" in options.parts and "ratios" not in row:
                ask(row, options)
                compare(rig, row, options.turns)
                keep()
        rig.close()


if __name__ == "__main__":
    main()
