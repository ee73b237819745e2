"""What a larger batch does to accuracy, and what fine-tuning the head alone does, in tables that people keep by hand.

A generated set of CIFAR-10's form. `batches`: MobileNetV2 at batch 32, 64, 128 and 256, rates scaled linearly, four
emulated devices that normalise over a quarter of the batch each; `whole`: the same over the whole batch. `tuning`:
pre-train on the classes 0 to 4, then learn 5 to 9 by the head alone or by the whole network, several seeds each. Goal:
accuracies between 60 and 90 %, so that differences can show.

    python benchmarks/accuracy_tables.py [--parts batches,whole,tuning] [--also earlier.json] [--folder DATA]

A table that was cut is gone on with where its data and studies are kept, in the `--folder`.
"""

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import results
import traindyno
from traindyno.core.answers import TrainAnswer

MODEL, IMAGE_SIZE = "torchvision:mobilenet_v2", 32
SIZES, RATE_AT_32 = (32, 64, 128, 256), 3e-4
RECORD_BYTES = 1 + 3 * 32 * 32
HALF = 5
PARTS = ("batches", "whole", "tuning")
Row = dict[str, Any]


def make_data(folder: Path, images: int) -> None:
    command = [sys.executable, "-m", "traindyno", "data", "make", str(folder), "--like", "cifar10"]
    subprocess.run([*command, "--images", str(images), "-q"], check=True, stdout=subprocess.DEVNULL)


def halve(folder: Path, target: Path, first_half: bool) -> Path:
    """The records of half of the classes, in the same form."""
    for path in (folder / "cifar-10-batches-bin").glob("*.bin"):
        records = np.frombuffer(path.read_bytes(), np.uint8).reshape(-1, RECORD_BYTES)
        kept = records[(records[:, 0] < HALF) == first_half]
        place = target / "cifar-10-batches-bin" / path.name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(kept.tobytes())
    return target


def batches_part(part: str, folder: Path, options: argparse.Namespace) -> Row:
    """The tool's own command, with the table that it exports, and the picture where this machine can draw one."""
    name, store = f"accuracy_{part}_{options.label}", f"{folder}/{part}.db"
    json_file = options.out / f"{name}.json"
    command = ["resume", name, "--elsewhere"] if Path(store).exists() else asked(part, name, folder, options)
    command += ["--export-json", str(json_file), "--export-markdown", str(options.out / f"{name}.md")]
    command += ["--no-report", "--store", store]
    if find_spec("vl_convert"):
        command += ["--export-png", str(options.out / f"{name}.png")]
    results.run_tool(*command)
    answer = results.answer_of(json_file)
    return {"part": part, "seconds": answer["seconds"], "answer": answer}


def asked(part: str, name: str, folder: Path, options: argparse.Namespace) -> list[str]:
    command = ["accuracy", "--name", name, "--model", MODEL, "--image-size", str(IMAGE_SIZE)]
    command += ["--data", f"cifar10:{folder}", "--device", options.device, "--optimizer", "adam"]
    command += ["--weight-decay", "1e-4", "--epochs", str(options.epochs), "--seeds", str(options.seeds)]
    command += ["--batch-size", ",".join(map(str, SIZES)), "--lr", f"{RATE_AT_32}@{SIZES[0]}", "--lr-rule", "linear"]
    return command + (["--emulate-devices", "4"] if part == "batches" else [])


def tuning_part(folder: Path, options: argparse.Namespace) -> Row:
    """One pre-training, then both ways to fine-tune by turns, on the other half of the classes."""
    start = time.monotonic()
    before = halve(folder, folder / "first", first_half=True)
    after = halve(folder, folder / "second", first_half=False)
    shutil.rmtree(folder / "weights", ignore_errors=True)
    first = train(before, options, seed=0, checkpoints=str(folder / "weights"))
    lines: dict[str, list[float]] = {"from nothing": [], "head": [], "all": []}
    for seed in range(1, 1 + options.seeds):
        for how, accuracies in lines.items():
            given = (
                {} if how == "from nothing" else {"weights": str(folder / "weights" / "last.pt"), "fine_tuning": how}
            )
            accuracies.append(train(after, options, seed=seed, **given).accuracy or 0.0)
    for how, accuracies in lines.items():
        print(f"{how:14} {statistics.mean(accuracies):.1%} ± {spread(accuracies):.1%} over {options.seeds} seeds")
    return {
        "part": "tuning",
        "pretrained_accuracy": first.accuracy,
        "accuracies": lines,
        "seconds": time.monotonic() - start,
    }


def train(data: Path, options: argparse.Namespace, **given: Any) -> TrainAnswer:
    with tempfile.TemporaryDirectory() as folder:
        return traindyno.train(
            MODEL,
            data=f"cifar10:{data}",
            image_size=IMAGE_SIZE,
            learning_rate=2 * RATE_AT_32,
            batch_size=2 * SIZES[0],
            optimizer="adam",
            weight_decay=1e-4,
            epochs=options.epochs,
            device=options.device,
            store=f"{folder}/store.db",
            **given,
        )


def spread(values: list[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else float("nan")


def main() -> None:
    parser = results.arguments(__doc__.splitlines()[0])
    parser.add_argument("--parts", type=lambda text: text.split(","), default=list(PARTS))
    parser.add_argument("--images", type=int, default=12_000, help="of the generated set, a sixth of them to test on")
    parser.add_argument("--epochs", type=float, default=10.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the data is made; a temporary folder by default")
    results.continues(parser)
    options = parser.parse_args()
    options.label = "cpu" if options.device == "cpu" else "gpu"
    options.out.mkdir(parents=True, exist_ok=True)
    rows = results.earlier_rows(options.also)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary) / "set"
        if not folder.exists():
            make_data(folder, options.images)
        for part in options.parts:
            if any(row["part"] == part for row in rows):
                continue
            rows.append(tuning_part(folder, options) if part == "tuning" else batches_part(part, folder, options))
            results.write(options.out, f"accuracy_tables_{options.label}", {"images": options.images, "rows": rows})


if __name__ == "__main__":
    main()
