"""GPUs out of a recording in JSON lines, so that tests and demonstrations need none."""

from collections import deque
from collections.abc import Collection, Iterator
from pathlib import Path

from traindyno.core.base import Record
from traindyno.core.codec import decode, encode
from traindyno.core.errors import TraindynoError
from traindyno.core.machine import DriverFacts, GpuFacts, GpuSample
from traindyno.machine.gpu import GpuReader


class RecordedLine(Record, frozen=True):
    """One line of a recording: the driver, a GPU, or a GPU's state at a moment."""

    driver: DriverFacts | None = None
    gpu: GpuFacts | None = None
    sample: GpuSample | None = None


class ReplayReader:
    """Answers with the recorded samples in their order, and with the last of them for ever after.

    Foreign processes are those in the GPU's recorded facts.
    """

    def __init__(self, lines: Collection[RecordedLine]) -> None:
        self._driver = next((line.driver for line in lines if line.driver is not None), DriverFacts())
        self._gpus = {line.gpu.index: line.gpu for line in lines if line.gpu is not None}
        self._samples: dict[int, deque[GpuSample]] = {}
        for line in lines:
            if line.sample is not None:
                self._samples.setdefault(line.sample.index, deque()).append(line.sample)

    @classmethod
    def from_file(cls, path: Path) -> "ReplayReader":
        """Read a recording; a file that is none is named with its line."""
        return cls(list(_read(path)))

    def driver(self) -> DriverFacts:
        return self._driver

    def gpus(self) -> tuple[GpuFacts, ...]:
        return tuple(self._gpus[index] for index in sorted(self._gpus))

    def sample(self, index: int, counters: bool = False) -> GpuSample | None:
        samples = self._samples.get(index)
        if samples is None:
            return None
        return samples.popleft() if len(samples) > 1 else samples[0]

    def foreign_processes(self, index: int, own_pids: Collection[int]) -> tuple[str, ...] | None:
        return self._gpus[index].foreign_processes if index in self._gpus else None

    def close(self) -> None:
        return None


def record(reader: GpuReader, samples: int) -> Iterator[str]:
    """The lines of a recording: driver and GPUs as they are, then `samples` states of each."""
    yield encode(RecordedLine(driver=reader.driver()))
    gpus = reader.gpus()
    yield from (encode(RecordedLine(gpu=gpu)) for gpu in gpus)
    for _ in range(samples):
        for gpu in gpus:
            sample = reader.sample(gpu.index, counters=True)
            if sample is not None:
                yield encode(RecordedLine(sample=sample))


def _read(path: Path) -> Iterator[RecordedLine]:
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            yield decode(text, RecordedLine)
        except ValueError as error:
            raise TraindynoError(f"{path}, line {number}, is no GPU recording: {error}") from error
