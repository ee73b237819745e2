"""What a driver and its lanes tell each other, as JSON text: no pickled state of ours travels."""

from traindyno.core.base import Record
from traindyno.core.events import TrialProgress
from traindyno.core.machine import MachineFacts
from traindyno.core.records import TrialRecord
from traindyno.core.units import format_bytes
from traindyno.machine.gpu import cuda_index
from traindyno.runner.protocol import Deadlines


class LaneOrders(Record, frozen=True):
    """How a lane is to run its trials. `folder` is the driver's own, `threads` its OMP_NUM_THREADS."""

    runner: str
    deadlines: Deadlines
    device: str
    folder: str
    threads: str | None = None


class LaneFacts(Record, frozen=True):
    """What a lane says of its machine. `refused_because` is set where nothing can be measured there now."""

    machine: MachineFacts
    memory_limit_bytes: int | None = None
    refused_because: str | None = None


class Word(Record, frozen=True):
    """What a lane has to tell since it was last asked; at a trial's end its record, and the end of its log."""

    progress: tuple[TrialProgress, ...] = ()
    record: TrialRecord | None = None
    log: str = ""


def kind_of(facts: MachineFacts, device: str) -> str:
    """What measurements of two lanes must share to stand in one study, in words that people read too."""
    index = cuda_index(device)
    gpu = next((each for each in facts.gpus if each.index == index), None)
    parts = [] if gpu is None else [_gpu_words(gpu.name, gpu.memory_bytes)]
    if facts.cpus_usable is not None:
        parts.append(f"{facts.cpus_usable:g} CPUs of {facts.cpu_model or 'an unknown kind'}")
    return ", ".join([*parts, f"torch {facts.torch}", *([] if gpu is None else [f"CUDA {facts.cuda}"])])


def _gpu_words(name: str, memory_bytes: int | None) -> str:
    return name if memory_bytes is None else f"{name} with {format_bytes(memory_bytes)}"
