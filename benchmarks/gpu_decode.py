"""Does the GPU decode beside the step, or do the two take turns?

The step of a model (bf16, channels last, launched as one graph, so that all of it is queued at once) on resident data
and then on batches that nvJPEG decodes from packed JPEGs, without a loader. In fresh processes: on CUDA's default
stream or a stream of its own, and with CUDA's usual 8 queues for streams or with 32. The last is what traindyno sets.

    python benchmarks/gpu_decode.py --folder /tmp/find [--model resnet34]
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import results
from traindyno.analysis.intervals import median

BATCH, SIZE, BATCHES = 256, 224, 56
RESIDENT_STEPS, FED_STEPS, BLOCK = 24, 80, 8
WAYS = {
    "default stream, 8 queues": {"connections": 8, "own_stream": False},
    "default stream, 32 queues": {"connections": 32, "own_stream": False},
    "own stream, 8 queues": {"connections": 8, "own_stream": True},
    "own stream, 32 queues": {"connections": 32, "own_stream": True},
}
Row = dict[str, Any]


def measure(folder: Path, model: str, own_stream: bool) -> Row:
    """In this process, whose environment says how many queues there are."""
    import torch

    from traindyno.core.records import Settings
    from traindyno.worker.data.gpu_decode import GpuDecoder
    from traindyno.worker.knobs.streams import leave_default_stream

    device = torch.device("cuda:0")
    if own_stream:
        leave_default_stream(Settings(batch_size=BATCH, decoder="nvjpeg", device=str(device)), device)
    packed = list(packed_batches(folder))
    step, images, labels = graph_of_step(model, device)
    resident = blocks(lambda: step(images, labels), RESIDENT_STEPS)
    with GpuDecoder(itertools.cycle(packed), device, SIZE, channels_last=True) as decoder:
        fed = blocks(lambda: step(*next(decoder)), FED_STEPS)
    return {"resident_step_seconds": median(resident), "fed_step_seconds": fed}


def packed_batches(folder: Path) -> Iterator[Any]:
    from traindyno.worker.data.packed import PackedPipeline
    from traindyno.worker.data.sources import open_examples

    pipeline = PackedPipeline(open_examples(f"folder:{folder / 'files'}", "train"), SIZE, decoder="nvjpeg")
    order = iter(range(0, 7919 * BATCH * BATCHES, 7919))
    for _ in range(BATCHES):
        yield pipeline.batch(itertools.islice(order, BATCH)).inputs.pin_memory()


def graph_of_step(name: str, device: Any) -> tuple[Callable[[Any, Any], None], Any, Any]:
    """A step on whatever it is handed, which is copied to where the graph reads it."""
    import torch
    from torchvision.models import get_model

    model = get_model(name).to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images = torch.randn(BATCH, 3, SIZE, SIZE, device=device).to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (BATCH,), device=device)

    def work() -> None:
        optimizer.zero_grad(set_to_none=False)
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    beside = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    beside.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(beside):
        for _ in range(3):
            work()
    torch.cuda.current_stream(device).wait_stream(beside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()

    def step(new_images: Any, new_labels: Any) -> None:
        images.copy_(new_images)
        labels.copy_(new_labels)
        graph.replay()

    return step, images.clone(), labels.clone()


def blocks(step: Callable[[], None], steps: int) -> list[float]:
    """Seconds per step of each block, the device waited for at its end."""
    import torch

    seconds = []
    torch.cuda.synchronize()
    for _ in range(steps // BLOCK):
        start = time.perf_counter()
        for _ in range(BLOCK):
            step()
        torch.cuda.synchronize()
        seconds.append((time.perf_counter() - start) / BLOCK)
    return seconds


def in_fresh_process(way: Row, folder: Path, model: str) -> Row:
    words = [sys.executable, __file__, "--folder", str(folder), "--model", model, "--way", json.dumps(way)]
    environment = {**os.environ, "CUDA_DEVICE_MAX_CONNECTIONS": str(way["connections"])}
    done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    told: Row = json.loads(done.stdout.splitlines()[-1])
    return told


def told(name: str, row: Row) -> str:
    resident, fed = row["resident_step_seconds"], row["fed_step_seconds"]
    first, last = median(fed[: len(fed) // 4]), median(fed[-len(fed) // 2 :])
    return (
        f"{name}: resident {1e3 * resident:.1f} ms, fed {1e3 * last:.1f} ms ({resident / last:.1%}), "
        f"in its first {FED_STEPS // 4} steps {1e3 * first:.1f} ms"
    )


def parse() -> argparse.Namespace:
    parser = results.arguments(__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="with the files that find.py makes")
    parser.add_argument("--model", default="resnet50", help="of torchvision; of a smaller one decoding takes longer")
    parser.add_argument("--images", type=int, default=16384, help="to make, where there are none")
    parser.add_argument("--way", type=json.loads, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    options = parse()
    if options.way is not None:
        print(json.dumps(measure(options.folder, options.model, options.way["own_stream"])))
        return
    results.make_files(options.folder, options.images)
    rows = []
    for name, way in WAYS.items():
        row = {"way": name, **way, **in_fresh_process(way, options.folder, options.model)}
        print(told(name, row), flush=True)
        rows.append(row)
        shape = {"model": options.model, "batch_size": BATCH, "image_size": SIZE}
        results.write(options.out, f"gpu_decode_{options.model}", {**shape, "rows": rows})


if __name__ == "__main__":
    main()
