"""Timing a long run: blocks of about a second, and the edges of its epochs, until its time is up or it is asked to end.

A block begins where the one before ended, so that no moment of the run is left out. The step across the edge of an
epoch is a block of its own.
"""

import time
from collections.abc import Callable

import torch

from traindyno.core.soaking import EpochEdge, Soak, SoakBlock
from traindyno.worker.channel import Channel
from traindyno.worker.data.epochs import Epochs
from traindyno.worker.data.stopwatch import Clock, Stopwatch
from traindyno.worker.devices import Device
from traindyno.worker.steps import Step, finite_loss
from traindyno.worker.timing import LARGEST_BLOCK_STEPS

BLOCK_SECONDS = 1.0
KNOWN_AFTER_BLOCKS = 2


class SoakTimer:
    """Runs the step again and again. `waits` has what was waited for batches, where there are any to wait for.

    `ahead` has the next batch of the epoch loaded before the device is waited for, where this process loads by itself.
    """

    def __init__(
        self,
        step: Step,
        epochs: Epochs,
        waits: Stopwatch | None,
        device: Device,
        channel: Channel,
        asked_to_end: Callable[[], bool],
        clock: Clock = time.monotonic,
        ahead: Callable[[], None] = lambda: None,
    ) -> None:
        self._ahead = ahead
        self._step, self._epochs, self._waits = step, epochs, waits
        self._device, self._channel, self._asked_to_end, self._clock = device, channel, asked_to_end, clock
        self._began = self._edge = 0.0
        self._blocks: list[SoakBlock] = []
        self._loss: torch.Tensor | None = None

    def run(self, seconds: float) -> tuple[Soak, float | None]:
        """The run and its last loss. One step comes first, to know how many make a second."""
        self._ahead()
        self._device.synchronize()
        self._waited()
        self._began = self._edge = self._clock()
        edges: list[EpochEdge] = []
        usual = self._block(1)
        done, value, cuts = usual.steps, finite_loss(self._loss), False
        while self._edge - self._began < seconds and not self._asked_to_end():
            crossing = cuts and self._epochs.left() == 0
            at = self._edge - self._began
            block = self._block(1 if crossing else self._steps(usual, cuts))
            if crossing:
                edges.append(EpochEdge(at_seconds=at, pause_seconds=max(0.0, _wait(block) - _wait(usual))))
            else:
                usual = block
            if len(self._blocks) == KNOWN_AFTER_BLOCKS:
                # Of epochs shorter than a block, edges are no events; they are a part of every block.
                cuts = self._epochs.length * _per_step(usual) >= BLOCK_SECONDS
            value = finite_loss(self._loss)
            self._device.check_memory()
            done += block.steps
            self._channel.step(done, _per_step(block))
        return Soak(began=self._began, blocks=tuple(self._blocks), epochs=tuple(edges)), value

    def _steps(self, usual: SoakBlock, cuts: bool) -> int:
        wanted = max(1, min(LARGEST_BLOCK_STEPS, round(BLOCK_SECONDS / max(_per_step(usual), 1e-9))))
        return int(min(wanted, self._epochs.left())) if cuts else wanted

    def _block(self, steps: int) -> SoakBlock:
        """Some steps, fewer if we are asked to end meanwhile."""
        done = 0
        while done < steps and not (done and self._asked_to_end()):
            self._loss = self._step()
            done += 1
        self._ahead()
        self._device.synchronize()
        now = self._clock()
        block = SoakBlock(
            end_seconds=now - self._began, seconds=now - self._edge, steps=done, wait_seconds=self._waited()
        )
        self._blocks.append(block)
        self._edge = now
        return block

    def _waited(self) -> float | None:
        return None if self._waits is None else sum(self._waits.take())


def _per_step(block: SoakBlock) -> float:
    return block.seconds / block.steps


def _wait(block: SoakBlock) -> float:
    """What a step of the block waited for its batch."""
    return (block.wait_seconds or 0.0) / block.steps
