"""Imagined machines for find_played.py: three whose steps were measured on an H200, and any number drawn by chance."""

import random
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import msgspec

from search.imagined_gpu import (
    DECODED_ON_GPU_MILLISECONDS,
    EXAMPLES,
    LOADER,
    SLOW_STEPS,
    STEP_MILLISECONDS,
    ImaginedGpu,
    Step,
)
from traindyno.runner.simulated_loading import DEFAULT_IMAGE_SIZE

HOST_DECODERS = ("pil", "torchvision", "simplejpeg")
PREPARED = "prepared:/store"
USUAL_NOISE = 0.004
FP16 = 1.02
"""How many times as long as in bf16 a step takes in fp16, where it was not measured."""

_MOBILENET_V2 = {
    ("fp32", "contiguous", "none"): 100.0,
    ("fp32", "channels_last", "none"): 44.1,
    ("bf16", "contiguous", "none"): 110.6,
    ("bf16", "channels_last", "none"): 35.1,
    ("fp32", "contiguous", "default"): 38.3,
    ("fp32", "channels_last", "default"): 38.3,
    ("bf16", "contiguous", "default"): 29.2,
    ("bf16", "channels_last", "default"): 29.2,
    ("fp32", "contiguous", "reduce-overhead"): 37.5,
    ("fp32", "channels_last", "reduce-overhead"): 37.5,
    ("bf16", "contiguous", "reduce-overhead"): 24.6,
    ("bf16", "channels_last", "reduce-overhead"): 24.6,
}
"""By the pairs of results/switches_mobilenet_v2_256_h200.md; compiled, in whatever memory format."""


@dataclass(frozen=True)
class Machine:
    """A host, its GPU and a job on them. Workers take `slower` times as long as a probe; 0: no GPU that decodes."""

    name: str
    steps: dict[Step, float]
    cpus: int = 16
    loader: str = LOADER
    slower: float = 1.0
    decoded_on_gpu_milliseconds: float = DECODED_ON_GPU_MILLISECONDS
    prepare: str | None = None
    examples: int = EXAMPLES
    image_size: int = DEFAULT_IMAGE_SIZE

    @property
    def decoders(self) -> tuple[str, ...]:
        return (*HOST_DECODERS, "nvjpeg") if self.decoded_on_gpu_milliseconds else HOST_DECODERS

    def imagined(self, noise: float = USUAL_NOISE) -> ImaginedGpu:
        runner = ImaginedGpu(self.cpus, self.examples, self.loader, self.slower)
        runner.step_milliseconds = with_fp16(self.steps)
        runner.decoded_on_gpu_milliseconds = self.decoded_on_gpu_milliseconds
        moving = runner._profile.transfer_seconds * (self.image_size / DEFAULT_IMAGE_SIZE) ** 2
        runner._profile = msgspec.structs.replace(runner._profile, transfer_seconds=moving, noise=noise)
        return runner


def with_fp16(steps: dict[Step, float]) -> dict[Step, float]:
    halved = {("fp16", *rest): FP16 * taken for (precision, *rest), taken in steps.items() if precision == "bf16"}
    return steps | halved  # type: ignore[operator]


def measured_machines() -> list[Machine]:
    """An H200 with 16 CPUs, with and without leave to prepare the data."""
    vit = {step: SLOW_STEPS[step[0], step[2]] for step in STEP_MILLISECONDS}
    jobs = {"resnet50": STEP_MILLISECONDS, "mobilenet_v2": _MOBILENET_V2, "vit_b_16": vit}
    plain = [Machine(name, steps) for name, steps in jobs.items()]
    return [*plain, Machine("resnet50, --prepare", STEP_MILLISECONDS, prepare=PREPARED)]


def random_machine(seed: int) -> Machine:
    """Steps of 12 to 900 ms, or a tenth of that for small images; switches that gain much, little or nothing."""
    chance = random.Random(seed)
    small = chance.random() < 1 / 3
    scale = 0.1 if small else 1.0
    return Machine(
        name=f"random {seed}",
        steps=_random_steps(chance, scale * 10 ** chance.uniform(1.1, 2.95)),
        cpus=chance.choice([4, 8, 16, 32]),
        loader=_random_loader(chance, scale),
        slower=chance.choice([1.0, 1.2, 1.5]),
        decoded_on_gpu_milliseconds=chance.choice([0.0, 0.0, 8.0, 17.0, 40.0]),
        prepare=chance.choice([None, None, PREPARED]),
        examples=chance.choice([4000, EXAMPLES, 120_000]),
        image_size=64 if small else DEFAULT_IMAGE_SIZE,
    )


def _random_steps(chance: random.Random, plain: float) -> dict[Step, float]:
    """Milliseconds. Graphs of kernels only help where launching matters, in steps of a few ten milliseconds."""
    bf16, last = chance.choice([1.0, 0.9, 0.55, 0.3]), chance.choice([1.0, 0.75, 1.05])
    both, compiled = chance.choice([1.0, 0.8, 0.6]), chance.choice([1.0, 0.9, 0.7, 0.6])
    graph = chance.choice([1.0, 0.97, 0.8]) if plain < 40 else chance.choice([1.0, 0.97])

    def taken(precision: str, memory_format: str, mode: str) -> float:
        halved, moved = precision == "bf16", memory_format == "channels_last"
        share = (bf16 if halved else 1.0) * ((min(1.0, last) * both if halved else last) if moved else 1.0)
        return plain * share * {"none": 1.0, "default": compiled, "reduce-overhead": compiled * graph}[mode]

    return {step: taken(*step) for step in STEP_MILLISECONDS}


def _random_loader(chance: random.Random, scale: float) -> str:
    share = scale * 10 ** chance.uniform(-0.6, 0.3)
    costs = {"decode": 0.0026 * share, "augment": 0.0008 * share, "fetch": 0.0001 * scale, "collate": 0.00003 * scale}
    hand_off = 0.001 if scale == 1.0 else 0.0003
    return ",".join(f"{stage}_seconds={cost:.3g}" for stage, cost in costs.items()) + f",hand_off_seconds={hand_off}"
