"""Timing blocks of steps until the reading is steady and precise, or the trial's time is up."""

import time
from collections.abc import Callable, Sequence
from functools import partial

import torch

from traindyno.analysis.flow_pace import LEAST_BLOCKS, OVERTIME
from traindyno.analysis.steady import enough, precise_enough, steady_from
from traindyno.core.base import Record
from traindyno.core.records import Block
from traindyno.worker.channel import Channel
from traindyno.worker.devices import Device
from traindyno.worker.steps import Step, finite_loss

BLOCK_SECONDS = 0.1
LARGEST_BLOCK_STEPS = 10_000
PORTIONS = 20
SILENT_SECONDS = 1.0
"""So long nobody need hear of a block, whose steps are one silence to whoever judges whether a step hangs."""

Clock = Callable[[], float]


class Timing(Record, frozen=True):
    """The blocks of one trial: all of them, and from which on they count.

    `warm_up` are all steps between the first one and the first block.
    """

    warm_up: Block
    blocks: tuple[Block, ...]
    steady_from: int | None
    first_step_seconds: float
    loss: float | None

    @property
    def counted(self) -> tuple[Block, ...]:
        """The blocks that make up the answer: from steady state on, or the later half if it never came."""
        start = self.steady_from if self.steady_from is not None else len(self.blocks) // 2
        return self.blocks[start:]

    @property
    def after_first_step(self) -> tuple[Block, ...]:
        """Every step but the first: the warm-up as one block, and the blocks."""
        return (self.warm_up, *self.blocks)

    @property
    def discarded(self) -> tuple[Block, ...]:
        """What of that came before the blocks that count."""
        return self.after_first_step[: -len(self.counted)]


def steps_of_block(step_seconds: float) -> int:
    """How many such steps make a block long enough for the clock, so that waiting at its edges costs nothing."""
    return max(1, min(LARGEST_BLOCK_STEPS, round(BLOCK_SECONDS / max(step_seconds, 1e-9))))


def untold() -> None:
    """For blocks of which nobody need hear before their end."""


def time_block(
    step: Step,
    steps: int,
    device: Device,
    clock: Clock = time.monotonic,
    alive: Callable[[], None] = untold,
) -> tuple[Block, torch.Tensor | None]:
    """Run `steps` steps between two synchronised readings of the clock; one that is long tells that it is `alive`."""
    device.synchronize()
    start = clock()
    loss = repeated(step, steps, clock, alive)
    device.synchronize()
    return Block(steps=steps, seconds=clock() - start), loss


def repeated(step: Step, steps: int, clock: Clock, alive: Callable[[], None]) -> torch.Tensor | None:
    """Run the steps of a block. Where they take far longer than was thought, as on a machine that others load, it is
    told that they go on.

    The clock is read for that between portions of the steps, which takes less than a ten thousandth of a block.
    """
    loss, portion, told = None, max(1, steps // PORTIONS), clock()
    for done in range(0, steps, portion):
        for _ in range(min(portion, steps - done)):
            loss = step()
        if clock() - told > SILENT_SECONDS:
            alive()
            told = clock()
    return loss


def time_steps(
    step: Step,
    device: Device,
    channel: Channel,
    seconds: float,
    relative_interval: float,
    clock: Clock = time.monotonic,
) -> Timing:
    """Measure until steady and precise to `relative_interval`, or for about `seconds`.

    A block far shorter than it should be says that what came before was slower: all that becomes warm-up, and blocks
    begin anew with more steps.
    """
    channel.phase("first step")
    first, loss = time_block(step, 1, device, clock)
    finite_loss(loss)
    device.check_memory()
    channel.phase("warm-up")
    before = _rehearse(step, device, clock, channel.alive)
    block_steps = _steps_of_block_like(before[-1])
    done = 1 + sum(block.steps for block in before)
    channel.step(done, before[-1].seconds / before[-1].steps)
    precise = partial(precise_enough, relative_interval=relative_interval)
    blocks: list[Block] = []
    deadline = clock() + seconds
    while True:
        block, loss = time_block(step, block_steps, device, clock, channel.alive)
        value = finite_loss(loss)
        device.check_memory()
        blocks.append(block)
        done += block_steps
        channel.step(done, block.seconds / block.steps)
        if _too_short(block):
            before, blocks, block_steps = [*before, *blocks], [], _steps_of_block_like(block)
            continue
        per_step = [each.seconds / each.steps for each in blocks]
        if enough(per_step, LEAST_BLOCKS, precise):
            break
        if clock() >= deadline and (len(blocks) >= LEAST_BLOCKS or clock() >= deadline + OVERTIME * seconds):
            break
    return Timing(
        warm_up=together(before),
        blocks=tuple(blocks),
        steady_from=steady_from(per_step),
        first_step_seconds=first.seconds,
        loss=value,
    )


def together(blocks: Sequence[Block]) -> Block:
    """One block of all their steps."""
    return Block(steps=sum(block.steps for block in blocks), seconds=sum(block.seconds for block in blocks))


def _rehearse(step: Step, device: Device, clock: Clock, alive: Callable[[], None]) -> list[Block]:
    """Blocks that double until one lasts long enough to tell how long a step takes.

    The first is of one step that does not tell: it may still tune kernels or allocate, and blocks would come out too
    short.
    """
    done = [time_block(step, 1, device, clock)[0]]
    steps = 1
    while True:
        done.append(time_block(step, steps, device, clock, alive)[0])
        if not _too_short(done[-1]):
            return done
        steps *= 2


def _too_short(block: Block) -> bool:
    return block.seconds < BLOCK_SECONDS / 2 and block.steps < LARGEST_BLOCK_STEPS


def _steps_of_block_like(block: Block) -> int:
    return steps_of_block(block.seconds / block.steps)
