"""Blocks with communication and blocks without, by turns, on all ranks at once."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch.nn.parallel import DistributedDataParallel

from traindyno.analysis.flow_pace import LEAST_BLOCKS, OVERTIME, UNCOUNTED
from traindyno.analysis.intervals import relative_half_width
from traindyno.analysis.steady import steady_from
from traindyno.core.records import Block, Budget
from traindyno.core.scaling import Turn
from traindyno.worker.channel import Channel
from traindyno.worker.data.stopwatch import Stopwatch
from traindyno.worker.devices import Device
from traindyno.worker.ranks.crew import Crew
from traindyno.worker.ranks.figures import difference_of, figure_of
from traindyno.worker.ranks.position import Position
from traindyno.worker.ranks.step_times import Arrival, Arrivals, step_times_of, waited
from traindyno.worker.steps import Step, finite_loss
from traindyno.worker.timing import LARGEST_BLOCK_STEPS

BLOCK_SECONDS = 0.2
DEFAULT_SECONDS = 5.0


@dataclass(frozen=True)
class TurnReading:
    """One turn as all ranks know it: `own_seconds` and `load_seconds` are each rank's own step and wait without
    communication, `together_load_seconds` its wait with it, on average.
    """

    steps: int
    turn: Turn
    own_seconds: tuple[float, ...]
    load_seconds: tuple[float, ...]
    together_load_seconds: tuple[float, ...]


@dataclass(frozen=True)
class TurnsTaken:
    """All turns, and from which on they count; `fed` where loaders feed the ranks."""

    readings: tuple[TurnReading, ...]
    steady_from: int | None
    first_step_seconds: float
    loss: float | None
    fed: bool

    @property
    def counted(self) -> tuple[TurnReading, ...]:
        """From steady state on, or the later half; as many of either order, so that neither is favoured.

        Of those that loaders feed all but the first fifth: to begin where they agree would leave out late batches.
        """
        start = len(self.readings) // 2 if self.steady_from is None else self.steady_from
        start = len(self.readings) // UNCOUNTED if self.fed else start
        odd = (len(self.readings) - start) % 2
        return self.readings[start + odd :] or self.readings[start:]

    def precise(self, relative_interval: float, least: int = LEAST_BLOCKS) -> bool:
        """Whether the step is known well enough, and what communication adds as well, as a share of the step.

        Turns that count are twice as many as those discarded.
        """
        if self.steady_from is None or len(self.counted) < max(least, 2 * self.steady_from):
            return False
        together = [reading.turn.together for reading in self.counted]
        added = [reading.turn.together - reading.turn.alone for reading in self.counted]
        (step, interval), (_, (low, high)) = figure_of(together, self.fed), difference_of(added, self.fed)
        known = relative_half_width(step, interval) <= relative_interval
        return known and (high - low) / 2 <= 2 * relative_interval * step


def judged(
    readings: Sequence[TurnReading], first_step_seconds: float = 0.0, loss: float | None = None, fed: bool = False
) -> TurnsTaken:
    """The turns so far, and from where on both kinds of block are steady."""
    together = steady_from([reading.turn.together for reading in readings])
    alone = steady_from([reading.turn.alone for reading in readings])
    steady = None if together is None or alone is None else max(together, alone)
    return TurnsTaken(tuple(readings), steady, first_step_seconds, loss, fed)


def enough(taken: TurnsTaken, relative_interval: float) -> bool:
    """Whether all is precise at two looks in a row: at one it may look so by chance."""
    if not taken.precise(relative_interval):
        return False
    return judged(taken.readings[:-1], fed=taken.fed).precise(relative_interval, least=LEAST_BLOCKS - 2)


def turn_of(
    together: Sequence[float], alone: Sequence[Sequence[float]], arrivals: Sequence[Sequence[float]] = ()
) -> Turn:
    """From each rank's seconds per step with communication, and from its single steps without.

    Nobody can be faster together than the slowest rank of each step is alone: what it loses is not communication.
    `arrivals` are when each rank had the batch of each step, where loaders go on while their ranks wait.
    """
    steps = len(alone[0])
    return Turn(
        together=max(together),
        alone=_side_by_side(alone, arrivals or [[0.0] * steps] * len(alone)) / steps,
        mean=sum(map(sum, alone)) / steps / len(alone),
    )


def _side_by_side(alone: Sequence[Sequence[float]], arrivals: Sequence[Sequence[float]]) -> float:
    """How long all steps take if each begins when every rank has done the one before and has its batch.

    Workers deliver in bursts, each rank's at other times: what came while a rank waited for another, it need not wait
    for itself.
    """
    all_done, own_done = 0.0, [0.0] * len(alone)
    for seconds, arrived in zip(zip(*alone, strict=True), zip(*arrivals, strict=True), strict=True):
        begun = list(map(max, own_done, arrived))
        own_done = [done + each for done, each in zip(own_done, seconds, strict=True)]
        busy = [done - since for done, since in zip(own_done, begun, strict=True)]
        all_done = max(max(all_done, at) + each for at, each in zip(arrived, busy, strict=True))
    return all_done


class Pace(NamedTuple):
    """How many steps of a block of either kind do not count, and in how many every loader worker delivers once.

    They settle into the block's way: the first step after another kind of block still shares what that left to be
    shared. Alone, steps also take what was loaded while steps together, which are longer, went on. Without `workers` a
    batch is loaded when its rank asks for it: nothing goes on meanwhile.
    """

    settling_together: int = 1
    settling_alone: int = 1
    turn: int = 1
    workers: bool = False


class Turns:
    """Takes the turns of one rank. Each block begins with steps that do not count. `arrivals` are those of a loader."""

    def __init__(
        self,
        step: Step,
        wrapped: DistributedDataParallel,
        crew: Crew,
        device: Device,
        channel: Channel,
        position: Position,
        arrivals: Arrivals | None = None,
        pace: Pace = Pace(),  # noqa: B008 - it is frozen
    ) -> None:
        self._step, self._wrapped, self._crew, self._device = step, wrapped, crew, device
        self._channel, self._position, self._pace = channel, position, pace
        self._arrivals, self._fed = arrivals or Arrivals(Stopwatch()), arrivals is not None
        self._times = step_times_of(device.torch_device)
        self._loss: torch.Tensor | None = None
        self._done, self._start = 0, 0.0

    def take(self, budget: Budget) -> TurnsTaken:
        """Turns until all is steady and precise or the time is up, which the first rank decides."""
        self._channel.phase("first step")
        first_step_seconds = self._slowest(self._together(1, 0))
        finite_loss(self._loss)
        self._device.check_memory()
        self._channel.phase("warm-up")
        steps = self._steps_of_block()
        self._channel.phase("turns")
        seconds = DEFAULT_SECONDS if budget.seconds is None else budget.seconds
        deadline = time.monotonic() + seconds
        readings: list[TurnReading] = []
        while True:
            readings.append(self._turn(steps, together_first=len(readings) % 2 == 0))
            loss = finite_loss(self._loss)
            self._device.check_memory()
            self._channel.step(self._done, readings[-1].turn.together)
            taken = judged(readings, first_step_seconds, loss, self._fed)
            late = time.monotonic() - deadline
            over = late >= OVERTIME * seconds or (late >= 0 and len(readings) >= LEAST_BLOCKS)
            if self._crew.agreed(over or enough(taken, budget.relative_interval)):
                return taken

    def _turn(self, steps: int, together_first: bool) -> TurnReading:
        if together_first:
            together = self._settled_together(steps)
            alone, arrived = self._alone(steps)
        else:
            alone, arrived = self._alone(steps)
            together = self._settled_together(steps)
        beside = [each.at for each in arrived] if self._pace.workers else []
        told = self._crew.gather([*together, waited(alone, arrived), *alone, *beside])
        singles = [of_rank[3 : 3 + steps] for of_rank in told]
        return TurnReading(
            steps=steps,
            turn=turn_of(
                [of_rank[0] for of_rank in told], singles, [of_rank[3 + steps :] for of_rank in told if beside]
            ),
            own_seconds=tuple(sum(own) / steps for own in singles),
            load_seconds=tuple(of_rank[2] for of_rank in told),
            together_load_seconds=tuple(of_rank[1] for of_rank in told),
        )

    def _settled_together(self, steps: int) -> tuple[float, float]:
        """Of a block as training does its steps: seconds per step, and how long each waited for its batch."""
        seconds = self._together(steps, self._pace.settling_together)
        return seconds / steps, waited(self._times.read(), self._arrivals.take(self._start))

    def _together(self, steps: int, discarded: int) -> float:
        """Seconds of a block as training does its steps."""
        self._begin(discarded)
        return self._timed(steps)

    def _alone(self, steps: int) -> tuple[list[float], list[Arrival]]:
        """Of a block in which no gradients are sent: the seconds of each step, and when batches came."""
        with self._wrapped.no_sync():
            self._begin_alone()
            self._timed(steps)
        return self._times.read(), self._arrivals.take(self._start)

    def _timed(self, steps: int) -> float:
        """Seconds of so many steps, each of which is noted with when its batch came."""
        self._times.read()
        self._arrivals.take()
        self._start = time.perf_counter()
        self._times.tick()
        self._run(steps)
        self._device.synchronize()
        return time.perf_counter() - self._start

    def _begin(self, discarded: int) -> None:
        self._run(discarded)
        self._crew.wait_for_all()

    def _begin_alone(self) -> None:
        """At once; but a rank that waited for others now would find batches that it did not wait for."""
        if not self._pace.workers:
            self._begin(self._pace.settling_alone)
            return
        self._crew.wait_for_all()
        self._run(self._pace.settling_alone)
        self._device.synchronize()

    def _run(self, steps: int) -> None:
        for _ in range(steps):
            self._loss = self._step()
            self._position.step_done()
            self._times.tick()
        self._done += steps

    def _steps_of_block(self) -> int:
        """Blocks that double until one lasts long enough; all ranks know the slowest, and so decide alike."""
        self._together(1, 0)
        steps = self._pace.turn
        while True:
            seconds = self._slowest(self._together(steps, 0))
            self._channel.step(self._done, seconds / steps)
            if seconds >= BLOCK_SECONDS / 2 or steps >= LARGEST_BLOCK_STEPS:
                break
            steps *= 2
        turns = round(BLOCK_SECONDS / (seconds / steps) / self._pace.turn)
        return max(1, turns) * self._pace.turn

    def _slowest(self, seconds: float) -> float:
        return max(of_rank[0] for of_rank in self._crew.gather([seconds]))


def blocks_of(readings: Sequence[TurnReading]) -> list[Block]:
    """The blocks with communication, each as long as its slowest rank took."""
    return [Block(steps=each.steps, seconds=each.turn.together * each.steps) for each in readings]
