"""Learning from data that a loader reads: folders of images, prepared sets, the user's own."""

import contextlib
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, ParamSpec, Protocol, TypeVar

import torch

from traindyno.core.records import Settings
from traindyno.worker.data.bad import SkippedExamples
from traindyno.worker.data.flow import Flow
from traindyno.worker.data.loading import Endless
from traindyno.worker.data.stopwatch import Stopwatch
from traindyno.worker.learning.gate import Gate
from traindyno.worker.learning.order import (
    Order,
    PlannedBatches,
    Run,
    drawn,
    drawn_places,
    evaluation_places,
    own_places,
)

P = ParamSpec("P")
T = TypeVar("T")
# What chance there is in evaluation is the same for all seeds.
EVALUATION_SEED = 0


class Part(Protocol):
    """What is trained on, or what is evaluated on."""

    @property
    def examples(self) -> int: ...

    @property
    def skip_bad(self) -> bool: ...

    def loader(
        self, settings: Settings, seed: int, batches: PlannedBatches, skipped: SkippedExamples | None, gate: Gate
    ) -> Endless: ...

    def placing(
        self, take: Callable[[], Any], settings: Settings, device: torch.device, waits: Stopwatch
    ) -> AbstractContextManager[Callable[[], Any]]: ...


@dataclass(frozen=True, eq=False)
class LoadedData:
    """Both parts of the data behind torch's loader, with the workers, the decoder and the pinning of the settings.

    `gate` is that of the workers which read for training. `told` is what is to be known about the data beforehand.
    """

    trained: Part
    evaluated: Part
    run: Run
    classes: int | None
    told: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    gate: Gate = field(default_factory=Gate)
    _reading: list[SkippedExamples] = field(default_factory=list, init=False)
    _left_out: set[str] = field(default_factory=set, init=False)

    @property
    def notes(self) -> list[str]:
        """What is to be known about the data, and how much of it was left out until now, whoever still reads."""
        bad = self._left_out.union(*(skipped.every for skipped in self._reading))
        return [*self.told, *([_left_out_note(bad)] if bad else [])]

    @property
    def training_examples(self) -> int:
        return self.trained.examples

    @property
    def evaluation_examples(self) -> int:
        return self.evaluated.examples

    @contextlib.contextmanager
    def training(self, first_step: int) -> Iterator[Callable[[], Any]]:
        order = Order(self.training_examples, self.run.seed)
        plan = (order.tickets(*places) for places in own_places(self.run, first_step))
        with self._opened(self.trained, self.run.seed, plan, self.gate) as take:
            try:
                yield take
            finally:
                self.gate.open()

    @contextlib.contextmanager
    def supplying(self) -> Iterator[None]:
        self.gate.open()
        try:
            yield
        finally:
            self.gate.shut()

    @contextlib.contextmanager
    def evaluation(self) -> Iterator[Iterator[Any]]:
        plan = [list(range(*places)) for places in evaluation_places(self.evaluation_examples, self.run)]
        if not plan:
            yield iter(())
            return
        with self._opened(self.evaluated, EVALUATION_SEED, plan, Gate()) as take:
            yield (take() for _ in plan)

    def micro_batches(self, size: int, count: int, draw: int) -> list[Any]:
        order = drawn(self.training_examples, self.run.seed, size, count, draw)
        plan = [order.tickets(*places) for places in drawn_places(order, size, count)]
        with self._opened(self.trained, order.seed, plan, Gate()) as take:
            return [take() for _ in plan]

    @contextlib.contextmanager
    def _opened(self, part: Part, seed: int, plan: Iterable[list[int]], gate: Gate) -> Iterator[Callable[[], Any]]:
        """A function for the next planned batch on the device. Closing ends the workers."""
        with self._skipping() if part.skip_bad else contextlib.nullcontext() as skipped:
            settings, device = self.run.settings, self.run.device
            with Flow(part.loader(settings, seed, PlannedBatches(plan), skipped, gate)) as flow:
                taken = itertools.chain([flow.start()[1]], (flow.take() for _ in itertools.count()))
                with part.placing(taken.__next__, settings, device, _Untimed()) as place:
                    yield place

    @contextlib.contextmanager
    def _skipping(self) -> Iterator[SkippedExamples]:
        """Where bad examples are counted; what was counted outlives it."""
        with SkippedExamples() as skipped:
            self._reading.append(skipped)
            try:
                yield skipped
            finally:
                self._left_out.update(skipped.every)
                self._reading.remove(skipped)


def _left_out_note(names: Collection[str]) -> str:
    left_out = "1 bad example was" if len(names) == 1 else f"{len(names):,} bad examples were"
    return f"{left_out} left out, and the next good one taken instead, such as for {min(names)}"


class _Untimed(Stopwatch):
    """Keeps no readings: a run may have millions of batches."""

    def around(self, function: Callable[P, T]) -> Callable[P, T]:
        return function
