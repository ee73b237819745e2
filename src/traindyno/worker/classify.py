"""From an exception inside a trial to the way the trial ended."""

import errno
import re

from traindyno.analysis.probes import MOST_WORKERS
from traindyno.core.base import Record
from traindyno.core.errors import TraindynoError
from traindyno.core.outcomes import REMEDIES, Outcome
from traindyno.core.records import Failure
from traindyno.worker.devices import Device, HostMemoryExceededError
from traindyno.worker.errors import (
    ArmFailedError,
    CompileFailedError,
    DataError,
    DoesNotApplyError,
    LargerThanDataError,
    NothingToLoadError,
    NotSharedError,
    RankFailedError,
)
from traindyno.worker.loader_errors import loader_outcome, loader_remedy, worker_error
from traindyno.worker.steps import NonfiniteLossError
from traindyno.worker.tracebacks import own_traceback

CUDA_OUT_OF_MEMORY_CODE = 2
TRACEBACK_CHARACTERS = 20_000

_DEVICE_MEMORY = re.compile(
    r"CUDA out of memory|HIP out of memory|CUDA error: out of memory|cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY"
)
# A library that could not get its workspace does not say that memory is full; free memory must bear it out.
_DISGUISED_DEVICE_MEMORY = re.compile(
    r"CUBLAS_STATUS_(ALLOC_FAILED|NOT_INITIALIZED)|CUDNN_STATUS_(ALLOC_FAILED|NOT_INITIALIZED|INTERNAL_ERROR|"
    r"EXECUTION_FAILED)|CUSOLVER_STATUS_(ALLOC_FAILED|NOT_INITIALIZED|INTERNAL_ERROR)|CUSPARSE_STATUS_(ALLOC_FAILED|"
    r"INSUFFICIENT_RESOURCES|NOT_INITIALIZED)|CUFFT_(ALLOC_FAILED|INTERNAL_ERROR)|NVRTC_ERROR_OUT_OF_MEMORY|"
    r"[Uu]nable to find an engine|FIND was unable to find an engine|no valid execution plans? built|"
    r"NCCL error.*unhandled cuda error"
)
_HOST_MEMORY = re.compile(
    r"DefaultCPUAllocator: (can't allocate|not enough) memory|std::bad_alloc|Cannot allocate memory|"
    r"could not create a (primitive|memory object)"
)
_CUDA_FAULT = re.compile(
    r"CUDA error|CUDA driver error|device-side assert|illegal memory access|cuDNN error|CUBLAS_STATUS_|CUDNN_STATUS_"
)
# What is left to say where training in several processes loses one: each of the others only misses its answer.
_LOST_PROCESS = re.compile(
    r"gloo.*(Connection (reset|closed)|Broken pipe|[Rr]ead error|[Ww]rite error)|NCCL (error|communicator)|TCPStore"
)
_BATCH_NORM = "Expected more than 1 value per channel when training"


class MemoryEvidence(Record, frozen=True):
    """How full the device was when the exception came."""

    free_bytes: int | None = None
    total_bytes: int | None = None

    @property
    def full(self) -> bool:
        """Less than 2 % of the device, or less than 1 GiB of a large one, was left."""
        if self.free_bytes is None or not self.total_bytes:
            return False
        return self.free_bytes < max(0.02 * self.total_bytes, min(2**30, 0.1 * self.total_bytes))


def outcome_of(error: BaseException, evidence: MemoryEvidence) -> Outcome:
    """The class of an exception. A user's bug is never taken for out-of-memory."""
    if isinstance(error, DataError):
        cause = error.__cause__
        inner = Outcome.DATA_ERROR if cause is None else outcome_of(cause, evidence)
        return Outcome.DATA_ERROR if inner is Outcome.USER_ERROR else inner
    if (of_loader := loader_outcome(error)) is not None:
        return of_loader
    if isinstance(error, NonfiniteLossError):
        return Outcome.NONFINITE
    if isinstance(error, HostMemoryExceededError | MemoryError):
        return Outcome.OUT_OF_HOST_MEMORY
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return Outcome.OUT_OF_HOST_MEMORY
    if isinstance(error, RuntimeError):
        return _runtime_error(error, evidence)
    return Outcome.USER_ERROR


def _runtime_error(error: RuntimeError, evidence: MemoryEvidence) -> Outcome:
    text = told.said if (told := worker_error(error)) is not None else str(error)
    name = type(error).__name__
    code = getattr(error, "error_code", None)
    if name == "OutOfMemoryError" or code == CUDA_OUT_OF_MEMORY_CODE or _DEVICE_MEMORY.search(text):
        return Outcome.OUT_OF_DEVICE_MEMORY
    if _DISGUISED_DEVICE_MEMORY.search(text) and evidence.full:
        return Outcome.OUT_OF_DEVICE_MEMORY
    if name == "AcceleratorError" or _CUDA_FAULT.search(text):
        return Outcome.CUDA_FAULT
    if _HOST_MEMORY.search(text):
        return Outcome.OUT_OF_HOST_MEMORY
    return Outcome.CRASH if is_lost_process(error) else Outcome.USER_ERROR


def is_lost_process(error: BaseException) -> bool:
    """Whether another process that trains together with this one has ended, or cannot be reached."""
    named = type(error).__name__ in ("DistBackendError", "DistNetworkError", "DistStoreError")
    return named or (isinstance(error, RuntimeError) and _LOST_PROCESS.search(str(error)) is not None)


def failure_of(error: BaseException, device: Device | None, phase: str) -> Failure:
    """The failure to report for an exception, with the evidence at hand."""
    if isinstance(error, ArmFailedError | RankFailedError):
        return error.failure
    evidence = MemoryEvidence() if device is None else memory_evidence(device)
    outcome = outcome_of(error, evidence)
    details = {}
    if evidence.free_bytes is not None:
        details["device_free_bytes"] = str(evidence.free_bytes)
    if outcome is Outcome.USER_ERROR and _BATCH_NORM in str(error):
        details["code"] = "batch_norm_single_value"
    if isinstance(error, LargerThanDataError):
        details |= {"code": "larger_than_data", "examples_in_data": str(error.examples)}
    if isinstance(error, DoesNotApplyError | CompileFailedError):
        details["code"] = "compile_failed" if isinstance(error, CompileFailedError) else "does_not_apply"
    if isinstance(error, NotSharedError):
        details[MOST_WORKERS] = "1"
    if isinstance(error, NothingToLoadError):
        details["code"] = "nothing_to_load"
    cause = cause_of(error)
    in_worker = worker_error(cause)
    told, place = own_traceback(cause) if in_worker is None else (in_worker.traceback, in_worker.place)
    return Failure(
        outcome=outcome,
        message=_message(error, named=outcome.stops_study),
        remedy=_remedy(error, outcome, details, place),
        error_type=type(error).__name__,
        traceback=told[-TRACEBACK_CHARACTERS:],
        phase=phase,
        details=details,
    )


def cause_of(error: BaseException) -> BaseException:
    """What the user's data code raised, or the error itself."""
    return error.__cause__ if isinstance(error, DataError) and error.__cause__ is not None else error


def memory_evidence(device: Device) -> MemoryEvidence:
    """Read how full the device is; a process under an enforced limit is full when its own share is used up."""
    free = device.free_bytes()
    total = None if free is None else device.memory().device_total_bytes
    return MemoryEvidence(free_bytes=free, total_bytes=total)


def _message(error: BaseException, named: bool) -> str:
    """The first line of what was said; of a user's mistake also the kind of exception."""
    if isinstance(error, DataError) and error.__cause__ is not None:
        return f"{error}: {_message(error.__cause__, named)}"
    if (told := worker_error(error)) is not None:
        return told.message
    if is_lost_process(error):
        return "another process of this training ended, or could not be reached"
    text = str(error).strip()
    first = text.splitlines()[0] if text else type(error).__name__
    foreign = named and text and not isinstance(error, TraindynoError)
    return f"{type(error).__name__}: {first}" if foreign else first


def _remedy(error: BaseException, outcome: Outcome, details: dict[str, str], place: str | None) -> str:
    if isinstance(error, TraindynoError) and error.hint:
        return error.hint
    if (remedy := loader_remedy(cause_of(error))) is not None:
        return remedy
    if details.get("code") == "batch_norm_single_value":
        return "Batch normalisation needs at least 2 examples (values) per channel: start at batch size 2."
    if is_lost_process(error):
        return "Read what that process said; `traindyno resume` goes on from the last checkpoint."
    if outcome.stops_study and place is not None:
        return f"Your code stood at {place}."
    return REMEDIES[outcome]
