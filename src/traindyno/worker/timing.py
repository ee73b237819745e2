"""Timing blocks of steps until the reading is steady and precise, or the trial's time is up."""

import time
from collections.abc import Callable

import torch

from traindyno.analysis.steady import precise_enough, steady_from
from traindyno.core.base import Record
from traindyno.core.records import Block
from traindyno.worker.channel import Channel
from traindyno.worker.devices import Device
from traindyno.worker.steps import Step, finite_loss

BLOCK_SECONDS = 0.1
LEAST_BLOCKS = 8
# A slow step may not fit often enough into the trial's time to tell whether it is steady; it gets twice that on top.
OVERTIME = 2.0
LARGEST_BLOCK_STEPS = 10_000

Clock = Callable[[], float]


class Timing(Record, frozen=True):
    """The blocks of one trial: all of them, and from which on they count."""

    blocks: tuple[Block, ...]
    steady_from: int | None
    first_step_seconds: float
    loss: float | None

    @property
    def counted(self) -> tuple[Block, ...]:
        """The blocks that make up the answer: from steady state on, or the later half if it never came."""
        start = self.steady_from if self.steady_from is not None else len(self.blocks) // 2
        return self.blocks[start:]


def steps_of_block(step_seconds: float) -> int:
    """How many such steps make a block long enough for the clock, so that waiting at its edges costs nothing."""
    return max(1, min(LARGEST_BLOCK_STEPS, round(BLOCK_SECONDS / max(step_seconds, 1e-9))))


def time_block(
    step: Step, steps: int, device: Device, clock: Clock = time.monotonic
) -> tuple[Block, torch.Tensor | None]:
    """Run `steps` steps between two synchronised readings of the clock."""
    loss = None
    device.synchronize()
    start = clock()
    for _ in range(steps):
        loss = step()
    device.synchronize()
    return Block(steps=steps, seconds=clock() - start), loss


def time_steps(
    step: Step,
    device: Device,
    channel: Channel,
    seconds: float,
    relative_interval: float,
    clock: Clock = time.monotonic,
) -> Timing:
    """Measure until steady and precise to `relative_interval`, or for about `seconds`."""
    channel.phase("first step")
    first, loss = time_block(step, 1, device, clock)
    finite_loss(loss)
    device.check_memory()
    channel.phase("warm-up")
    rehearsal, done = _rehearse(step, device, clock)
    block_steps = steps_of_block(rehearsal.seconds / rehearsal.steps)
    channel.step(done, rehearsal.seconds / rehearsal.steps)
    blocks: list[Block] = []
    deadline = clock() + seconds
    start, value = None, None
    while True:
        block, loss = time_block(step, block_steps, device, clock)
        value = finite_loss(loss)
        device.check_memory()
        blocks.append(block)
        done += block_steps
        channel.step(done, block.seconds / block.steps)
        per_step = [each.seconds / each.steps for each in blocks]
        start = steady_from(per_step)
        if start is not None and _finished(per_step[start:], relative_interval):
            break
        if clock() >= deadline and (len(blocks) >= LEAST_BLOCKS or clock() >= deadline + OVERTIME * seconds):
            break
    return Timing(blocks=tuple(blocks), steady_from=start, first_step_seconds=first.seconds, loss=value)


def _rehearse(step: Step, device: Device, clock: Clock) -> tuple[Block, int]:
    """Blocks that double until one lasts long enough to tell how long a step takes; and the steps done so far.

    The second step is not counted: it may still tune kernels or allocate, and blocks would come out too short.
    """
    time_block(step, 1, device, clock)
    steps, done = 1, 2
    while True:
        block, _ = time_block(step, steps, device, clock)
        done += steps
        if block.seconds >= BLOCK_SECONDS / 2 or steps >= LARGEST_BLOCK_STEPS:
            return block, done
        steps *= 2


def _finished(samples: list[float], relative_interval: float) -> bool:
    return len(samples) >= LEAST_BLOCKS and precise_enough(samples, relative_interval)
