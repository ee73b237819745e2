"""Batches from the loader as training takes them: epoch after epoch, with what the edge between two of them costs."""

import math
from collections.abc import Callable
from typing import Any, Protocol, Self

from traindyno.core.records import TrialSpec
from traindyno.worker.data.bad import SkippedExamples
from traindyno.worker.data.flow import Flow
from traindyno.worker.data.loadable import Loadable


class Epochs(Protocol):
    """Where a long run stands in its epoch, in batches."""

    @property
    def length(self) -> float: ...

    def left(self) -> float:
        """How many batches the epoch still has."""
        ...


class NoEpochs:
    """A resident batch never ends."""

    length = math.inf

    def left(self) -> float:
        return math.inf


class EpochEndedError(Exception):
    """More was asked for than the epoch has. Not `StopIteration`: generators do not let that through."""


class EpochSupply:
    """A loader whose epochs end and begin as a training loop's do. Nothing is read beforehand: the first may be cold.

    An epoch must be asked for, so that who takes ahead does not come to it before training does. A stream has no end
    that could be waited for: after as many batches as it has, its workers are started anew, unless they persist.
    """

    def __init__(self, source: Loadable, spec: TrialSpec, skipped: SkippedExamples | None) -> None:
        endless = source.endless(spec.settings, spec.seed, skipped, "examples", None)
        if endless.batches is not None:
            endless.batches.stop_at_epochs()
        self.length = source.examples // spec.settings.batch_size
        self._taken = 0
        self._flow = Flow(endless)

    def start(self) -> tuple[float, Any]:
        """Seconds from asking for the first batch to having it, and the batch."""
        self._taken = 1
        return self._flow.start()

    def take(self) -> Any:
        """The next batch of the epoch."""
        if self._taken == self.length:
            raise EpochEndedError
        self._taken += 1
        if self._taken > 1:
            return self._flow.take()
        begun = self._flow.next_epoch()
        return self._flow.take() if begun is None else begun[1]

    def left(self) -> float:
        return self.length - self._taken

    def renew(self) -> None:
        """The next batch is the first of another epoch, which begins when it is asked for."""
        self._taken = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._flow.__exit__(kind, error, trace)


class EpochsUsed:
    """The epochs of a supply as the step has them: who decodes ahead has taken batches that the step has not had yet.

    `renew` begins another, once the step has had all of one. One batch was taken before the first step.
    """

    def __init__(self, supply: EpochSupply, next_batch: Callable[[], Any], renew: Callable[[], None]) -> None:
        self.length = supply.length
        self._next_batch, self._renew = next_batch, renew
        self._used = 1

    def next(self) -> Any:
        if self._used == self.length:
            self._renew()
            self._used = 0
        batch = self._next_batch()
        self._used += 1
        return batch

    def left(self) -> float:
        return self.length - self._used
