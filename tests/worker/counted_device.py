"""A device with a memory of its own: counts the bytes of live tensors and raises torch's real error when it is full."""

import weakref
from typing import Any, Self

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from traindyno.core.outcomes import Outcome
from traindyno.core.records import Measurement, Memory, TrialRecord, TrialSpec
from traindyno.worker.channel import Channel
from traindyno.worker.classify import failure_of
from traindyno.worker.kinds import KINDS


class LiveBytes(TorchDispatchMode):
    """Counts every storage from the operation that made it to its end."""

    def __init__(self, limit_bytes: float) -> None:
        super().__init__()
        self._limit_bytes = limit_bytes
        self._sizes: dict[int, int] = {}
        self.live_bytes = self.peak_bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        tree_map_only(torch.Tensor, self._count, result)
        return result

    def _count(self, tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key not in self._sizes:
            self._sizes[key] = storage.nbytes()
            self.live_bytes += storage.nbytes()
            weakref.finalize(storage, self._forget, key)
            if self.live_bytes > self._limit_bytes:
                raise torch.OutOfMemoryError(f"CUDA out of memory. Tried to allocate {storage.nbytes()} bytes.")
            self.peak_bytes = max(self.peak_bytes, self.live_bytes)
        return tensor

    def _forget(self, key: int) -> None:
        self.live_bytes -= self._sizes.pop(key)


class CountedDevice:
    """The worker's device protocol over counted memory."""

    torch_device = torch.device("cpu")

    def __init__(self, limit_bytes: float) -> None:
        self._limit_bytes = limit_bytes
        self._mode = LiveBytes(limit_bytes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._mode.__exit__(None, None, None)

    def prepare(self, spec: TrialSpec) -> None:
        self._mode = LiveBytes(self._limit_bytes * (1 - spec.margin))
        self._mode.__enter__()

    def synchronize(self) -> None:
        pass

    def check_memory(self) -> None:
        pass

    def memory(self) -> Memory:
        return Memory(
            peak_bytes=self._mode.peak_bytes,
            limit_bytes=None if self._limit_bytes == float("inf") else int(self._limit_bytes),
            allocator_retries=0,
        )

    def free_bytes(self) -> int | None:
        return None


class SilentChannel(Channel):
    def __init__(self) -> None:
        super().__init__(-1)

    def _send(self, kind: str, **fields: Any) -> None:
        pass


def run_on_counted_device(spec: TrialSpec, limit_bytes: float) -> TrialRecord:
    """One real trial of the worker's own code, on a device of the given size."""
    channel = SilentChannel()
    with CountedDevice(limit_bytes) as device:
        try:
            measurement: Measurement = KINDS[spec.kind](spec, device, channel)
        except torch.OutOfMemoryError as error:
            failure = failure_of(error, device, channel.phase_name)
            return TrialRecord(spec=spec, outcome=failure.outcome, seconds=0.0, failure=failure)
    return TrialRecord(spec=spec, outcome=Outcome.OK, seconds=0.0, measurement=measurement)
