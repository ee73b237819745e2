"""From JPEG files to a training ResNet-50: each way to feed it, as a share of its rate with data resident on the GPU.

The step is bf16 with channels last, compiled. Every way is timed in turn, round after round in random order, with the
resident rate before and after each round. A rate is all examples over all time, because many workers deliver in
bursts; its interval is that of the rounds. The loader is torch's own; what is discarded is at least twice what its
workers hold ready. Beside each rate stand its loader alone, and for decoding on the GPU the decoder and the crop alone.

    python benchmarks/pipeline.py [--images 16384] [--batch-size 256] [--rounds 3]
"""

import argparse
import contextlib
import itertools
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import harmonic_mean
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, RandomSampler
from torchvision import transforms
from torchvision.datasets import ImageFolder
from torchvision.models import resnet50

import results
from traindyno.analysis.intervals import log_t_interval, median, median_interval
from traindyno.core.loading import Decoder
from traindyno.core.records import Settings
from traindyno.worker.data.gpu_decode import GpuDecoder
from traindyno.worker.data.normalise import normalise
from traindyno.worker.data.pipeline_source import PipelineSource
from traindyno.worker.data.sources import open_examples

SIZE = 224
BLOCK_STEPS = 8
PREFETCH = 2
PLAIN = "plain"
Images = Iterator[tuple[torch.Tensor, torch.Tensor]]


@dataclass(frozen=True)
class Way:
    """One way from files to the GPU."""

    name: str
    source: str
    decoder: Decoder
    workers: int


def ways(cpus: int) -> list[Way]:
    rest = max(1, cpus - 1)
    return [
        Way("ImageFolder and torchvision's transforms on PIL, 4 workers (the common default)", PLAIN, "pil", 4),
        Way(f"ImageFolder and torchvision's transforms on PIL, {rest} workers", PLAIN, "pil", rest),
        Way(f"PIL, {rest} workers", "folder", "pil", rest),
        Way(f"torchvision, {rest} workers", "folder", "torchvision", rest),
        Way(f"simplejpeg, {rest} workers", "folder", "simplejpeg", rest),
        Way("nvJPEG, 4 workers", "folder", "nvjpeg", 4),
        Way("nvJPEG, 8 workers", "folder", "nvjpeg", 8),
        Way(f"prepared as JPEG, torchvision, {rest} workers", "jpeg", "torchvision", rest),
        Way("prepared as pixels, 2 workers", "u8", "pil", 2),
        Way("prepared as pixels, 4 workers", "u8", "pil", 4),
    ]


class Trainer:
    """The step, and how long blocks of it take on whatever batches come."""

    def __init__(self, batch_size: int, device: torch.device) -> None:
        self._batch_size = batch_size
        self._model = resnet50().to(device, memory_format=torch.channels_last)
        self._forward: Callable[[torch.Tensor], torch.Tensor] = torch.compile(self._model)
        self._optimizer = torch.optim.SGD(self._model.parameters(), lr=0.01, momentum=0.9)
        images = torch.randn(batch_size, 3, SIZE, SIZE, device=device, dtype=torch.bfloat16)
        self._resident = images.to(memory_format=torch.channels_last), torch.zeros(batch_size, device=device).long()

    def step(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        self._optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = cross_entropy(self._forward(images), labels)
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()

    def rates(self, batches: Images, discard: int, blocks: int) -> list[float]:
        """Examples per second of each block."""
        self._run(batches, discard)
        return [BLOCK_STEPS * self._batch_size / self._run(batches, BLOCK_STEPS) for _ in range(blocks)]

    def resident_rates(self, discard: int, blocks: int) -> list[float]:
        return self.rates(itertools.repeat(self._resident), discard, blocks)

    def _run(self, batches: Images, steps: int) -> float:
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(steps):
            self.step(*next(batches))
        torch.cuda.synchronize()
        return time.perf_counter() - start


def plain_loader(folder: str, batch_size: int, workers: int) -> DataLoader[Any]:
    """As it stands in most training scripts; it goes on through many epochs, so that none ends inside a block."""
    normalise_images = transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    crop = [transforms.RandomResizedCrop(SIZE), transforms.RandomHorizontalFlip()]
    data = ImageFolder(folder, transforms.Compose([*crop, transforms.ToTensor(), normalise_images]))
    endless = RandomSampler(data, replacement=True, num_samples=10**9)
    return DataLoader(data, batch_size, sampler=endless, num_workers=workers, prefetch_factor=PREFETCH, pin_memory=True)


@contextlib.contextmanager
def host_batches(way: Way, sources: dict[str, str], batch_size: int) -> Iterator[Iterator[Any]]:
    batches = iter(loader_of(way, sources, batch_size))
    try:
        yield batches
    finally:
        batches._shutdown_workers()  # type: ignore[attr-defined]


def loader_of(way: Way, sources: dict[str, str], batch_size: int) -> DataLoader[Any]:
    if way.source == PLAIN:
        return plain_loader(f"{sources['folder'].partition(':')[2]}/train", batch_size, way.workers)
    source = PipelineSource(open_examples(sources[way.source], "train"), SIZE, "train")
    settings = Settings(
        batch_size=batch_size, num_workers=way.workers, prefetch_factor=PREFETCH, pin_memory=True, decoder=way.decoder
    )
    return source.endless(settings, 0, None, "examples", None).loader


@contextlib.contextmanager
def device_batches(way: Way, batches: Iterator[Any], device: torch.device) -> Iterator[Images]:
    """As the step takes them: bf16, normalised, channels last."""
    if way.decoder == "nvjpeg":
        packed = (batch.inputs for batch in batches)
        with GpuDecoder(packed, device, SIZE, torch.bfloat16, channels_last=True) as decoder:
            yield iter(decoder)
        return
    if way.source == PLAIN:
        yield (
            (
                images.to(device, torch.bfloat16, non_blocking=True, memory_format=torch.channels_last),
                labels.to(device, non_blocking=True),
            )
            for images, labels in batches
        )
        return
    yield (
        (
            normalise(batch.inputs.to(device, non_blocking=True), torch.bfloat16, channels_last=True),
            batch.labels.to(device, non_blocking=True),
        )
        for batch in batches
    )


def fed_rates(way: Way, trainer: Trainer, options: argparse.Namespace, sources: dict[str, str]) -> list[float]:
    device = torch.device(options.device)
    with host_batches(way, sources, options.batch_size) as host, device_batches(way, host, device) as batches:
        held = PREFETCH * way.workers
        return trainer.rates(batches, 2 * held + BLOCK_STEPS, max(options.blocks, math.ceil(3 * held / BLOCK_STEPS)))


def loader_rate(way: Way, sources: dict[str, str], batch_size: int) -> float:
    """The loader alone, in examples per second."""
    with host_batches(way, sources, batch_size) as batches:
        for _ in range(2 * PREFETCH * way.workers):
            next(batches)
        count = max(20, 3 * PREFETCH * way.workers)
        start = time.perf_counter()
        for _ in range(count):
            next(batches)
        return count * batch_size / (time.perf_counter() - start)


def gpu_ceilings(way: Way, sources: dict[str, str], options: argparse.Namespace) -> dict[str, float]:
    """nvJPEG alone and the crop alone, on batches that are already in host memory; examples per second."""
    from traindyno.worker.data.crop_kernel import addresses, crop
    from traindyno.worker.data.decoders.nvjpeg import device_images

    device = torch.device(options.device)
    with host_batches(way, sources, options.batch_size) as batches:
        packed = [next(batches).inputs for _ in range(6)]
    decoded = [device_images(batch, SIZE, device) for batch in packed]
    tables = [
        (addresses(images).to(device), batch.boxes.to(device)) for images, batch in zip(decoded, packed, strict=True)
    ]

    def decode() -> None:
        for batch in packed:
            device_images(batch, SIZE, device)

    def cut() -> None:
        for table, boxes in tables:
            crop(table, boxes, SIZE, torch.bfloat16, True)

    return {
        name: len(packed) * options.batch_size / _seconds(work) for name, work in (("decode", decode), ("crop", cut))
    }


def _seconds(work: Callable[[], None]) -> float:
    laps = []
    for _ in range(5):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        laps.append(time.perf_counter() - start)
    return median(laps)


def make_sources(folder: Path, images: int) -> dict[str, str]:
    """An ImageNet-like set, and the two forms it is prepared in."""

    def traindyno(*words: str) -> None:
        subprocess.run([sys.executable, "-m", "traindyno", "data", *words], check=True, stdout=subprocess.DEVNULL)

    files = folder / "files"
    traindyno("make", str(files), "--like", "imagenet", "--images", str(images), "-q")
    for form in ("u8", "jpeg"):
        traindyno("prepare", f"folder:{files}", str(folder / form), "--format", form, "-q")
    return {"folder": f"folder:{files}", "u8": f"prepared:{folder / 'u8'}", "jpeg": f"prepared:{folder / 'jpeg'}"}


def parse() -> argparse.Namespace:
    parser = results.arguments(__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=16384)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--blocks", type=int, default=6, help=f"of {BLOCK_STEPS} steps, per way and round")
    parser.add_argument("--folder", type=Path, help="where the data is made; a temporary folder by default")
    return parser.parse_args()


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    start = time.monotonic()
    sources = make_sources(folder, options.images)
    print(f"data made in {time.monotonic() - start:.0f} s", flush=True)
    start = time.monotonic()
    trainer = Trainer(options.batch_size, torch.device(options.device))
    trainer.resident_rates(BLOCK_STEPS, 1)
    print(f"compiled in {time.monotonic() - start:.0f} s", flush=True)
    cpus = len(os.sched_getaffinity(0))
    found: dict[Way, list[list[float]]] = {way: [] for way in ways(cpus)}
    resident = trainer.resident_rates(BLOCK_STEPS, options.blocks)
    order = random.Random(0)
    for _ in range(options.rounds):
        for way in order.sample(list(found), len(found)):
            found[way].append(fed_rates(way, trainer, options, sources))
            print(f"  {way.name:80} {harmonic_mean(found[way][-1]):7.0f} examples/s", flush=True)
        resident += trainer.resident_rates(BLOCK_STEPS, options.blocks)
    full = median(resident)
    print(f"resident: {full:.0f} examples/s")
    rows = [row(way, rounds, full, sources, options) for way, rounds in found.items()]
    return {"resident_examples_per_second": full, "resident_ci95": median_interval(resident), "rows": rows}


def row(
    way: Way, rounds: list[list[float]], full: float, sources: dict[str, str], options: argparse.Namespace
) -> dict[str, Any]:
    rate = harmonic_mean([sample for samples in rounds for sample in samples])
    low, high = log_t_interval([harmonic_mean(samples) for samples in rounds])
    alone = loader_rate(way, sources, options.batch_size)
    ceilings = gpu_ceilings(way, sources, options) if way.decoder == "nvjpeg" else {}
    predicted = min(alone, full, *ceilings.values())
    more = "".join(f", {name} alone {most:.0f}" for name, most in ceilings.items()) + f", ceiling {predicted:.0f}"
    print(
        f"{way.name:80} {rate:7.0f} examples/s, {rate / full:4.0%} of resident "
        f"({low / full:.0%} to {high / full:.0%}); loader alone {alone:.0f}{more}",
        flush=True,
    )
    return {
        "way": way.name,
        "workers": way.workers,
        "decoder": way.decoder,
        "source": way.source,
        "examples_per_second": rate,
        "ci95": [low, high],
        "share_of_resident": rate / full,
        "loader_alone": alone,
        "ceilings": ceilings,
        "predicted_ceiling": predicted,
        "samples": rounds,
    }


def main() -> None:
    options = parse()
    with contextlib.ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        result = measure(options, folder)
    shape = {"images": options.images, "batch_size": options.batch_size, "precision": "bf16", "rounds": options.rounds}
    results.write(options.out, "pipeline_gpu", {**shape, **result})


if __name__ == "__main__":
    main()
