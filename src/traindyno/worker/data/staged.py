"""Whole batches made in this one process, each stage timed by a clock of the caller's choice."""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from traindyno.core.loading import StageName
from traindyno.worker.data.bad import read_example, read_stream
from traindyno.worker.data.pipeline import Batch, Pipeline, is_stream
from traindyno.worker.data.sampling import EndlessBatches, Shuffled
from traindyno.worker.data.shallow import WholeBytes
from traindyno.worker.data.stored import Stored
from traindyno.worker.data.warmth import Alive, read_files

Clock = Callable[[], float]
Stages = dict[StageName, float]


class Staged(Protocol):
    """One batch after another, in the way a loader worker makes them."""

    def touch(self, alive: Alive) -> None:
        """Read the next batch's data once, so that it comes out of the page cache and not from disk."""

    def make(self, clock: Clock) -> tuple[Stages, Any]:
        """Make the next batch; the clock's seconds in each stage, and the batch."""
        ...


class Laps:
    """Seconds per stage by one clock, less what reading the clock costs."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seconds: dict[StageName, float] = {}
        self._laps: Counter[StageName] = Counter()
        self._last = clock()

    def start(self) -> None:
        self._last = self._clock()

    def lap(self, stage: StageName) -> None:
        """What has passed since the last reading belongs to this stage."""
        now = self._clock()
        self._seconds[stage] = self._seconds.get(stage, 0.0) + now - self._last
        self._laps[stage] += 1
        self._last = now

    def total(self, stage: StageName) -> float:
        return self._seconds[stage]

    def stages(self) -> Stages:
        cost = _lap_seconds(self._clock)
        return {stage: max(0.0, seconds - self._laps[stage] * cost) for stage, seconds in self._seconds.items()}


class StagedExamples:
    """Batches of examples by index."""

    def __init__(self, pipeline: Pipeline, batch_size: int) -> None:
        data = pipeline.data
        assert not is_stream(data)
        self._pipeline, self._data = pipeline, data
        self._batches = iter(EndlessBatches(Shuffled(len(pipeline.data), pipeline.seed), batch_size))
        self._tickets = next(self._batches)

    def touch(self, alive: Alive) -> None:
        reader = WholeBytes(self._data, self._pipeline.size, skipped=self._pipeline.skipped)
        reader.batch(self._tickets)

    def make(self, clock: Clock) -> tuple[Stages, Batch]:
        pipeline, laps, made, labels = self._pipeline, Laps(clock), [], []

        def use(stored: Stored) -> Any:
            return _finished(pipeline, stored, lambda: pipeline.random.at(ticket), laps)

        for ticket in self._tickets:
            laps.start()
            example, label = read_example(self._data, ticket % len(self._data), use, pipeline.skipped)
            made.append(example)
            labels.append(label)
        self._tickets = next(self._batches)
        return _collated(pipeline, made, labels, laps)


class StagedStream:
    """Batches of a stream. It is only read forward, so its files are touched as a whole, once."""

    def __init__(self, pipeline: Pipeline, batch_size: int) -> None:
        self._pipeline, self._batch_size = pipeline, batch_size
        self._rng = np.random.default_rng(pipeline.seed)
        self._stream = pipeline.stream(0, 1)
        self._untouched: Sequence[str] = pipeline.data.paths

    def touch(self, alive: Alive) -> None:
        read_files(self._untouched, alive)
        self._untouched = ()

    def make(self, clock: Clock) -> tuple[Stages, Batch]:
        pipeline, laps, made, labels = self._pipeline, Laps(clock), [], []

        def use(stored: Stored) -> Any:
            return _finished(pipeline, stored, lambda: self._rng, laps)

        laps.start()
        for example, label in itertools.islice(read_stream(self._stream, use, pipeline.skipped), self._batch_size):
            made.append(example)
            labels.append(label)
        return _collated(pipeline, made, labels, laps)


def _finished(pipeline: Pipeline, stored: Stored, rng: Callable[[], np.random.Generator], laps: Laps) -> Any:
    laps.lap("fetch")
    decoded = pipeline.decode(stored)
    if isinstance(stored.content, bytes):
        laps.lap("decode")
    made = pipeline.augment(decoded, rng())
    laps.lap("augment")
    return made


def _collated(pipeline: Pipeline, made: list[Any], labels: list[int], laps: Laps) -> tuple[Stages, Batch]:
    laps.start()
    batch = pipeline.collate(made, labels)
    laps.lap("collate")
    return laps.stages(), batch


def _lap_seconds(clock: Clock) -> float:
    """What a lap reads with nothing in it: the least of some means, because interruptions only ever add."""
    means = []
    for _ in range(8):
        laps = Laps(clock)
        for _ in range(16):
            laps.lap("fetch")
        means.append(laps.total("fetch") / 16)
    return min(means)
