"""Timing a flow of batches, alone or through the step, without what was ready before the clock started."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean
from typing import Protocol

import torch

from traindyno.analysis.flow_pace import (
    BLOCK_SECONDS,
    FIRST_STEPS,
    LEAST_BLOCKS,
    OVERTIME,
    UNCOUNTED,
    Pace,
    ahead_of_step,
    block_steps,
)
from traindyno.analysis.intervals import relative_half_width
from traindyno.analysis.steady import enough, steady_from
from traindyno.analysis.sustained import mean_interval
from traindyno.core.base import Record
from traindyno.core.records import Block, Budget
from traindyno.worker.channel import Channel
from traindyno.worker.data.stopwatch import Clock, Stopwatch
from traindyno.worker.devices import Device
from traindyno.worker.lead import Lead, Ready, untold
from traindyno.worker.steps import Step, finite_loss
from traindyno.worker.timing import Timing, repeated, together

DEFAULT_SECONDS = 5.0


class Renewable(Protocol):
    """Where the batches come from; it must begin anew before it has given more than are left."""

    def left(self) -> float: ...

    def renew(self) -> None: ...


class FlowTiming(Record, frozen=True):
    """The blocks, and how long each batch of each counted block was waited for."""

    timing: Timing
    waits: tuple[tuple[float, ...], ...]

    @property
    def counted(self) -> tuple[Block, ...]:
        """All but the first fifth, whatever they took: to begin where blocks agree would leave out late batches."""
        return counted_of(self.timing.blocks)


class FlowTimer:
    """Times blocks of steps, each from where the one before ended.

    Workers go on between two blocks: a pause that belonged to no block would be work that nobody waited for. `ahead`
    has the next batch loaded before the device is waited for, where this process loads by itself. `at_start` is called
    when the first block is about to begin.

    `ready` says how many batches workers have finished, and `skip` takes one without a step. What they made during the
    first steps is let go. Where they are ahead of the step, less is discarded, a block need not be of whole turns, and
    the trial may end once nothing was used up of what was ready before.
    """

    def __init__(
        self,
        step: Step,
        supply: Renewable,
        waits: Stopwatch,
        pace: Pace,
        device: Device,
        channel: Channel,
        at_start: Callable[[], None] = lambda: None,
        clock: Clock = time.perf_counter,
        ahead: Callable[[], None] = lambda: None,
        ready: Ready = untold,
        skip: Callable[[], object] = lambda: None,
    ) -> None:
        self._step, self._supply, self._waits, self._pace = step, supply, waits, pace
        self._device, self._channel, self._at_start, self._clock = device, channel, at_start, clock
        self._ahead, self._ready, self._skip = ahead, ready, skip
        self._lead, self._usual_measured = Lead(ready, pace), pace.measured
        self._blocks: list[Block] = []
        self._waited: list[tuple[float, ...]] = []
        self._edge: float | None = None

    def run(self, budget: Budget) -> FlowTiming:
        """Until steady and precise, or the time is up. What the pace wants may take overtime, but no more."""
        seconds = DEFAULT_SECONDS if budget.seconds is None else budget.seconds
        self._channel.phase("warm-up")
        discarded = [*self._begin_level(), *self._discard()]
        discarded += self._settle()
        usual = discarded[-1].seconds / discarded[-1].steps
        steps = self._steps_of_block(usual)
        precise = partial(_precise_mean, relative_interval=budget.relative_interval)
        self._channel.phase("steps")
        self._at_start()
        deadline = self._clock() + seconds
        while True:
            loss = self._time_block(steps)
            value = finite_loss(loss)
            self._device.check_memory()
            if (more := self._steps_of_quick_blocks(steps)) is not None:
                discarded, steps = [*discarded, *self._begin_anew()], more
                continue
            per_step = [block.seconds / block.steps for block in self._blocks]
            self._channel.step(len(per_step) * steps, per_step[-1])
            timing = Timing(
                warm_up=together(discarded),
                blocks=tuple(self._blocks),
                steady_from=steady_from(per_step),
                first_step_seconds=usual,
                loss=value,
            )
            late = self._clock() - deadline
            if late >= OVERTIME * seconds:
                break
            done = enough(per_step, LEAST_BLOCKS, precise) or (late >= 0 and len(per_step) >= LEAST_BLOCKS)
            if done and self._has_measured_enough():
                break
        return FlowTiming(timing=timing, waits=tuple(self._waited[len(self._waited) // UNCOUNTED :]))

    def _has_measured_enough(self) -> bool:
        """Fewer batches are enough where nothing was used up of what was ready before."""
        measured = sum(block.steps for block in counted_of(self._blocks))
        return measured >= self._usual_measured or (measured >= self._pace.measured and self._lead.is_kept())

    def _steps_of_quick_blocks(self, steps: int) -> int | None:
        """How many steps make a block, where the first block says that those discarded were slow and told too few.

        Of workers that deliver in turn a single block may be quick by chance.
        """
        first = self._blocks[-1]
        if len(self._blocks) > 1 or self._pace.turn > 1 or first.seconds >= BLOCK_SECONDS / 2:
            return None
        more = self._steps_of_block(first.seconds / first.steps)
        return more if more > steps else None

    def _begin_anew(self) -> list[Block]:
        """The blocks so far, which no longer count."""
        blocks, self._blocks, self._waited = self._blocks, [], []
        self._lead.begin_anew()
        self._at_start()
        return blocks

    def _time_block(self, steps: int) -> torch.Tensor | None:
        if self._supply.left() < steps:
            self._supply.renew()
            self._discard()
            self._edge = None
        if self._edge is None:
            self._ahead()
            self._device.synchronize()
            self._waits.take()
            self._edge = self._clock()
        loss = self._run(self._step, steps)
        self._ahead()
        self._device.synchronize()
        now = self._clock()
        self._blocks.append(Block(steps=steps, seconds=now - self._edge))
        self._waited.append(self._waits.take())
        self._lead.note_block()
        self._edge = now
        return loss

    def _run(self, step: Step, steps: int) -> torch.Tensor | None:
        """The steps of a block. A turn of slow ones is long, and to be silent all the while looks like a hang."""
        if not steps == self._pace.turn > 1:
            return repeated(step, steps, self._clock, self._channel.alive)
        loss = None
        for number in range(1, steps + 1):
            loss = step()
            self._channel.step(len(self._blocks) * steps + number)
        return loss

    def _begin_level(self) -> list[Block]:
        """The first steps. What workers have ready after them is no sign of how fast they are, and is let go: a few
        turns of usual steps would not use it up, and a loader that is too slow would pass for one that is ahead.
        """
        if self._ready() is None:
            return []
        first, may_be_ready = self._discard_steps(0, FIRST_STEPS), self._pace.discarded // 2
        for _ in range(may_be_ready):
            if not self._ready():
                break
            self._skip()
        return [first]

    def _discard(self) -> tuple[Block, ...]:
        """Take what must not count, in two halves: the later one tells how long a step usually takes.

        Where workers are seen to be ahead of the step, the turn before tells it, and is enough.
        """
        half = self._pace.discarded // 2
        first = self._discard_turns(half) if self._lead.may_be_seen() else (self._discard_steps(0, half),)
        if self._lead.is_seen:
            self._pace = ahead_of_step(self._pace)
            return first
        return (*first, self._discard_steps(half, self._pace.discarded))

    def _discard_turns(self, most: int) -> tuple[Block, ...]:
        """Turn by turn, until workers are seen to be ahead."""
        blocks: list[Block] = []
        self._waits.take()
        for done in range(0, most, self._pace.turn):
            blocks.append(self._discard_steps(done, min(most, done + self._pace.turn)))
            if self._lead.look(sum(self._waits.take()) / blocks[-1].seconds):
                break
        return tuple(blocks)

    def _settle(self) -> list[Block]:
        """Discard more, for as long as the pace wants. Each step is waited for: a host that runs ahead would queue far
        more of them in that time than the device can do.
        """
        start, done = self._clock(), self._pace.discarded
        blocks: list[Block] = []
        while self._clock() - start < self._pace.settling_seconds and self._supply.left() > self._pace.turn:
            blocks.append(self._discard_steps(done, done + 1))
            done += 1
        return [together(blocks)] if blocks else []

    def _discard_steps(self, first: int, end: int) -> Block:
        start = self._clock()
        for number in range(first, end):
            self._step()
            self._channel.step(number + 1)
        self._device.synchronize()
        return Block(steps=end - first, seconds=self._clock() - start)

    def _steps_of_block(self, usual: float) -> int:
        """Whole turns that last long enough for the clock, or as many as a pass has left."""
        wanted = min(block_steps(self._pace, usual), self._supply.left())
        return max(1, int(wanted) // self._pace.turn) * self._pace.turn


def counted_of(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """All but the first fifth."""
    return tuple(blocks[len(blocks) // UNCOUNTED :])


def _precise_mean(samples: Sequence[float], relative_interval: float) -> bool:
    """Whether the mean, which is what such a trial tells, is known well enough."""
    return relative_half_width(fmean(samples), mean_interval(samples)) <= relative_interval
