"""What the tool's own step loop costs against a loop written by hand: same model, same process, interleaved.

The blocks of "ours" are timed as in a trial: the worker's step, progress reported, and the device sampled from
another process at the usual rate. The blocks of "hand" are the loop as it would stand in a script, with the sampling
paused. The answer is the median ratio of the two times per step over many pairs, with the interval of that median.

    python benchmarks/harness_overhead.py [--device cpu]
"""

import multiprocessing
import os
import random
import time
from collections.abc import Callable
from multiprocessing.synchronize import Event
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from torchvision.models import resnet18, resnet50

import results
from traindyno.analysis.intervals import median, median_interval
from traindyno.core.records import Settings, TrialSpec, WorkloadSpec
from traindyno.machine.gpu import cuda_index, open_reader
from traindyno.machine.sampler import Sampler
from traindyno.worker.channel import Channel
from traindyno.worker.devices import open_device
from traindyno.worker.kinds.bench import set_up
from traindyno.worker.timing import time_block

BLOCK_SECONDS = 0.1
WANTED_HALF_WIDTH = 0.004
MODELS: dict[str, Callable[[], torch.nn.Module]] = {"resnet18": resnet18, "resnet50": resnet50}


def hand_written_loop(name: str, batch_size: int, image_size: int, device: torch.device) -> Callable[[int], float]:
    """A training loop as anybody would write it; returns seconds per step of a block."""
    model = MODELS[name]().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    images = torch.randn(batch_size, 3, image_size, image_size, device=device)
    labels = torch.randint(0, 1000, (batch_size,), device=device)

    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize()

    def run(steps: int) -> float:
        wait()
        start = time.monotonic()
        for _ in range(steps):
            optimizer.zero_grad(set_to_none=True)
            loss = cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
        wait()
        return (time.monotonic() - start) / steps

    return run


def sample_beside(device: str, wanted: Event, ended: Event) -> None:
    """What the runner's process does while a trial runs."""
    sampler = Sampler(open_reader(), cuda_index(device))
    while not ended.is_set():
        if wanted.wait(0.1):
            sampler.tick(time.monotonic())
            time.sleep(0.1)


def too_wide(ratios: list[float]) -> bool:
    low, high = median_interval(ratios)
    return high - low > 2 * WANTED_HALF_WIDTH


def compare(
    name: str, batch_size: int, image_size: int, device_name: str, pairs: int, longest_seconds: float, beside: Event
) -> dict[str, Any]:
    channel = Channel(os.open(os.devnull, os.O_WRONLY))
    device = open_device(device_name)
    spec = TrialSpec(
        kind="speed",
        workload=WorkloadSpec(model=f"torchvision:{name}", image_size=image_size),
        settings=Settings(batch_size=batch_size, device=device_name),
    )
    bench = set_up(spec, device, channel)
    by_hand = hand_written_loop(name, batch_size, image_size, device.torch_device)

    def ours(steps: int) -> float:
        beside.set()
        block, _ = time_block(bench.step, steps, device)
        channel.step(steps, block.seconds)
        beside.clear()
        return block.seconds / block.steps

    for run in (ours, by_hand) * 3:
        run(3)
    steps = max(1, round(BLOCK_SECONDS / by_hand(3)))
    order = random.Random(0)
    ratios, hand_seconds, our_seconds = [], [], []
    start = time.monotonic()
    while len(ratios) < pairs or (too_wide(ratios) and time.monotonic() - start < longest_seconds):
        first_ours = order.random() < 0.5
        readings = {run: run(steps) for run in ((ours, by_hand) if first_ours else (by_hand, ours))}
        ratios.append(readings[ours] / readings[by_hand])
        our_seconds.append(readings[ours])
        hand_seconds.append(readings[by_hand])
    low, high = median_interval(ratios)
    return {
        "model": name,
        "batch_size": batch_size,
        "image_size": image_size,
        "pairs": len(ratios),
        "steps_per_block": steps,
        "hand_step_seconds": median(hand_seconds),
        "our_step_seconds": median(our_seconds),
        "ratio": median(ratios),
        "ratio_ci95": [low, high],
        "ratios": ratios,
    }


def main() -> None:
    parser = results.arguments(__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=40, help="at least so many")
    parser.add_argument("--seconds", type=float, default=40.0, help="go on for so long while the interval is wide")
    options = parser.parse_args()
    cases = [("resnet18", 8, 64), ("resnet18", 32, 64)]
    if options.device != "cpu":
        cases = [("resnet50", 8, 224), ("resnet50", 32, 224), ("resnet50", 128, 224)]
    context = multiprocessing.get_context("spawn")
    wanted, ended = context.Event(), context.Event()
    sampler = context.Process(target=sample_beside, args=(options.device, wanted, ended), daemon=True)
    sampler.start()
    rows = []
    for name, batch_size, image_size in cases:
        row = compare(name, batch_size, image_size, options.device, options.pairs, options.seconds, wanted)
        rows.append(row)
        low, high = row["ratio_ci95"]
        print(
            f"{name} batch {batch_size}: by hand {row['hand_step_seconds'] * 1e3:.2f} ms, ours "
            f"{row['our_step_seconds'] * 1e3:.2f} ms, ratio {row['ratio']:.4f} ({low:.4f} to {high:.4f})",
            flush=True,
        )
    ended.set()
    kind = "cpu" if options.device == "cpu" else "gpu"
    results.write(options.out, f"harness_overhead_{kind}", {"goal": "on a GPU: upper end at most 1.01", "rows": rows})


if __name__ == "__main__":
    main()
