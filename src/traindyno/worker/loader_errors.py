"""What went wrong in a loader worker. torch rebuilds what one raised from a text, out of which this reads it again."""

import re
from dataclasses import dataclass

from traindyno.core.outcomes import Outcome
from traindyno.worker.data.bad import BadExampleError
from traindyno.worker.data.loading import UnpicklableError
from traindyno.worker.data.worker_faults import HandOverError, WorkerEndedError
from traindyno.worker.tracebacks import own_text

MORE_DESCRIPTORS = (
    "Allow more open files (`ulimit -n 65536`), use fewer workers, or let collate_fn make one tensor of each batch: "
    "every tensor that a worker hands over takes a descriptor."
)
PLAIN_BATCHES = "Let the dataset and collate_fn return tensors, numbers, text and plain containers of them."

_CAUGHT = re.compile(r"Caught \w+ in (?:DataLoader worker|pin memory)[^\n]*\nOriginal (.*)", re.DOTALL)
_SHARED_MEMORY = re.compile(
    r"(insufficient|out of)\s+shared memory|unable to (open|allocate|resize|mmap|write to) (file|shared memory)[^\n]*"
    r"(No space left|/torch_|shm)|unable to (open|allocate) shared memory"
)
_DESCRIPTORS = re.compile(r"Too many open files|received 0 items of ancdata")
_ENDED = re.compile(
    r"DataLoader worker \(pid(?:\(s\))? [\d, ]+\) (?:is killed by signal: (?P<signal>\w+)|exited unexpectedly)"
)


@dataclass(frozen=True)
class WorkerError:
    """An exception as it was in the worker: what it said, the user's part of its traceback, and where that ends."""

    said: str
    traceback: str
    place: str | None

    @property
    def message(self) -> str:
        """Its first line."""
        return self.said.splitlines()[0]


def worker_error(error: BaseException) -> WorkerError | None:
    """The exception behind one that torch has rebuilt; null for others."""
    caught = _CAUGHT.search(str(error))
    if caught is None:
        return None
    told, place = own_text(caught[1].rstrip() + "\n")
    return WorkerError(_said(told), told, place)


def loader_outcome(error: BaseException) -> Outcome | None:
    """The class of an exception that only loaders cause; null for others."""
    if isinstance(error, WorkerEndedError):
        return error.outcome
    if isinstance(error, BadExampleError | UnpicklableError):
        return Outcome.DATA_ERROR
    text = told.said if (told := worker_error(error)) is not None else str(error)
    if isinstance(error, RuntimeError | HandOverError):
        if _SHARED_MEMORY.search(text) or _DESCRIPTORS.search(text):
            return Outcome.OUT_OF_SHARED_MEMORY
        if ended := _ENDED.search(text):
            return Outcome.KILLED if ended["signal"] in ("Killed", "Terminated") else Outcome.CRASH
    return Outcome.DATA_ERROR if isinstance(error, HandOverError) else None


def loader_remedy(error: BaseException) -> str | None:
    """What helps against it, where the class alone does not tell."""
    if _DESCRIPTORS.search(str(error)):
        return MORE_DESCRIPTORS
    return PLAIN_BATCHES if isinstance(error, HandOverError) else None


def _said(told: str) -> str:
    """`KeyError: 'label'`, what stands after the last frame; the exception's module is left away."""
    lines = told.rstrip().splitlines()
    frames = [number for number, line in enumerate(lines) if line.startswith("  ")]
    after = lines[frames[-1] + 1 :] if frames and frames[-1] + 1 < len(lines) else lines[-1:]
    kind, colon, message = "\n".join(after).partition(": ")
    return f"{kind.rpartition('.')[2]}{colon}{message}"
