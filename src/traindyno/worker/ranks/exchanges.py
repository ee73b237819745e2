"""Communication with nothing beside it: what one step sends, and all-reduces of several sizes."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.distributed as distributed

from traindyno.analysis.intervals import median, median_interval
from traindyno.core.answers.interval import Interval
from traindyno.core.scaling import ExchangeReading
from traindyno.worker.devices import Device
from traindyno.worker.ranks.crew import Crew

SIZES = (1 << 12, 1 << 16, 1 << 20, 1 << 23, 1 << 26)
ALWAYS_BYTES = 1 << 20
FEWEST, MOST = 3, 40
SECONDS = 0.6
# A large size of which one exchange would take longer is left out.
LONGEST_SECONDS = 1.0


@dataclass(frozen=True)
class Exchanger:
    """Sends tensors of given sizes among all ranks, in the type of the gradients."""

    crew: Crew
    device: Device
    dtype: torch.dtype

    def time_of(self, sizes: Sequence[int], first: Callable[[], object] | None = None) -> tuple[float, Interval]:
        """Seconds until the last rank has them all, sent one after the other as the gradients of a step are; `first` is
        what the step sends before.
        """
        tensors = [self._tensor(size) for size in sizes]
        usual = max(self._once(tensors, first) for _ in range(2))
        repetitions = max(FEWEST, min(MOST, int(SECONDS / max(usual, 1e-6))))
        seconds = [self._once(tensors, first) for _ in range(repetitions)]
        return median(seconds), median_interval(seconds)

    def readings(self) -> tuple[ExchangeReading, ...]:
        """All-reduces from small to large, as far as the links are fast enough for them."""
        found: list[ExchangeReading] = []
        for size in SIZES:
            if size > ALWAYS_BYTES and found[-1].seconds * size / found[-1].bytes > LONGEST_SECONDS:
                break
            seconds, ci95 = self.time_of((size,))
            found.append(ExchangeReading(bytes=size, seconds=seconds, ci95=ci95))
        return tuple(found)

    def _tensor(self, size: int) -> torch.Tensor:
        return torch.zeros(max(1, size // self.dtype.itemsize), dtype=self.dtype, device=self.device.torch_device)

    def _once(self, tensors: Sequence[torch.Tensor], first: Callable[[], object] | None) -> float:
        """The longest time of all ranks, which all of them know: so they decide alike how often to repeat."""
        self.crew.wait_for_all()
        start = time.perf_counter()
        if first is not None:
            first()
        works = [distributed.all_reduce(tensor, async_op=True) for tensor in tensors]
        for work in works:
            assert work is not None, "a call that does not wait gives its work"
            work.wait()
        self.device.synchronize()
        seconds = time.perf_counter() - start
        return max(of_rank[0] for of_rank in self.crew.gather([seconds]))
