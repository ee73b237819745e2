"""Real error texts, as seen in the wild, and the class each must get."""

import errno
import json

import pytest
import scipy.stats
import torch

from traindyno.core.errors import TraindynoError
from traindyno.core.outcomes import Outcome
from traindyno.worker.batches import guarded
from traindyno.worker.classify import MemoryEvidence, failure_of, outcome_of
from traindyno.worker.devices import HostMemoryExceededError
from traindyno.worker.errors import DataError
from traindyno.worker.steps import NonfiniteLossError

GIBIBYTE = 1 << 30
FULL = MemoryEvidence(free_bytes=40 << 20, total_bytes=140 * GIBIBYTE)
ROOMY = MemoryEvidence(free_bytes=60 * GIBIBYTE, total_bytes=140 * GIBIBYTE)
UNKNOWN = MemoryEvidence()


class AcceleratorError(RuntimeError):
    """Stands in for torch's class of that name, whose constructor needs a device fault."""

    def __init__(self, text: str, error_code: int) -> None:
        super().__init__(text)
        self.error_code = error_code


PLAIN_OUT_OF_MEMORY = [
    torch.OutOfMemoryError(
        "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 139.80 GiB, 1.12 GiB is free."
    ),
    RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 10.76 GiB total capacity)"),
    RuntimeError(
        "CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported at some other API call"
    ),
    RuntimeError("HIP out of memory. Tried to allocate 512.00 MiB"),
    AcceleratorError("CUDA error: out of memory", 2),
]
DISGUISED = [
    "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
    "CUDA error: CUSOLVER_STATUS_ALLOC_FAILED, when calling `cusolverDnCreate(handle)`",
    "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
    "cuDNN error: CUDNN_STATUS_NOT_INITIALIZED",
    "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR",
    "GET was unable to find an engine to execute this computation",
    "Unable to find an engine to execute this computation",
    "FIND was unable to find an engine to execute this computation",
    "cuFFT error: CUFFT_ALLOC_FAILED",
]
CUDA_FAULTS = [
    AcceleratorError("CUDA error: device-side assert triggered", 710),
    AcceleratorError("CUDA error: an illegal memory access was encountered", 700),
    RuntimeError("CUDA error: unspecified launch failure"),
    RuntimeError("CUDA error: no kernel image is available for execution on the device"),
    RuntimeError("cuDNN error: CUDNN_STATUS_BAD_PARAM"),
]
HOST_MEMORY = [
    RuntimeError(
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
        "allocate 1073741824 bytes. Error code 12 (Cannot allocate memory)"
    ),
    RuntimeError(
        "[enforce fail at alloc_cpu.cpp:116] . DefaultCPUAllocator: not enough memory: you tried to allocate 8 bytes."
    ),
    RuntimeError("std::bad_alloc"),
    MemoryError("Unable to allocate 3.9 GiB for an array"),
    OSError(errno.ENOMEM, "Cannot allocate memory"),
    HostMemoryExceededError("the process took 3000000000 bytes"),
]
SHARED_MEMORY = [
    RuntimeError(
        "DataLoader worker (pid 4321) is killed by signal: Bus error. It is possible that dataloader's workers are "
        "out of shared memory. Please try to raise your shared memory limit."
    ),
    RuntimeError("unable to write to file </torch_4321_123_0>: No space left on device (28)"),
    RuntimeError("unable to open shared memory object </torch_4321_9> in read-write mode: Too many open files (24)"),
    RuntimeError(
        "unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm)."
    ),
]
USER_MISTAKES = [
    RuntimeError("mat1 and mat2 shapes cannot be multiplied (16x512 and 256x10)"),
    RuntimeError("Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"),
    RuntimeError("Trying to backward through the graph a second time"),
    ValueError("Expected input batch_size (16) to match target batch_size (8)."),
    IndexError("Target 1000 is out of bounds."),
    KeyError("memory"),
    TraindynoError("torchvision has no model 'resnet5'", "did you mean resnet50?"),
]


@pytest.mark.parametrize("error", PLAIN_OUT_OF_MEMORY, ids=str)
@pytest.mark.parametrize("evidence", [FULL, ROOMY, UNKNOWN])
def test_out_of_device_memory_is_recognised_by_type_code_or_text(error: Exception, evidence: MemoryEvidence) -> None:
    assert outcome_of(error, evidence) is Outcome.OUT_OF_DEVICE_MEMORY


@pytest.mark.parametrize("text", DISGUISED)
def test_a_disguised_out_of_memory_needs_a_full_device_as_witness(text: str) -> None:
    assert outcome_of(RuntimeError(text), FULL) is Outcome.OUT_OF_DEVICE_MEMORY
    assert outcome_of(RuntimeError(text), ROOMY) is not Outcome.OUT_OF_DEVICE_MEMORY
    assert outcome_of(RuntimeError(text), UNKNOWN) is not Outcome.OUT_OF_DEVICE_MEMORY


@pytest.mark.parametrize(
    ("errors", "outcome"),
    [
        (CUDA_FAULTS, Outcome.CUDA_FAULT),
        (HOST_MEMORY, Outcome.OUT_OF_HOST_MEMORY),
        (SHARED_MEMORY, Outcome.OUT_OF_SHARED_MEMORY),
        (USER_MISTAKES, Outcome.USER_ERROR),
        ([NonfiniteLossError("the loss is nan")], Outcome.NONFINITE),
    ],
    ids=["cuda fault", "host memory", "shared memory", "user", "nonfinite"],
)
@pytest.mark.parametrize("evidence", [FULL, ROOMY])
def test_other_texts_get_their_own_class_however_full_the_device(
    errors: list[Exception], outcome: Outcome, evidence: MemoryEvidence
) -> None:
    assert [(str(error), outcome_of(error, evidence)) for error in errors] == [
        (str(error), outcome) for error in errors
    ]


def data_error(cause: Exception) -> DataError:
    error = DataError("reading item 3 failed")
    error.__cause__ = cause
    return error


def test_a_mistake_while_reading_data_is_a_data_error() -> None:
    assert outcome_of(data_error(OSError("cannot identify image file 'a.jpg'")), ROOMY) is Outcome.DATA_ERROR


def test_running_out_of_memory_while_reading_data_is_still_out_of_memory() -> None:
    assert outcome_of(data_error(MemoryError()), ROOMY) is Outcome.OUT_OF_HOST_MEMORY


def test_an_error_with_a_hint_hands_the_hint_on_as_remedy() -> None:
    failure = failure_of(TraindynoError("no such model", "did you mean resnet50?"), None, "model")
    assert failure.remedy == "did you mean resnet50?"
    assert failure.phase == "model"
    assert "did you mean" not in (failure.traceback or "")


def test_one_example_under_batch_norm_is_marked_so_that_a_sweep_can_go_on() -> None:
    error = ValueError("Expected more than 1 value per channel when training, got input size torch.Size([1, 512])")
    failure = failure_of(error, None, "first step")
    assert failure.outcome is Outcome.USER_ERROR
    assert failure.details["code"] == "batch_norm_single_value"


def test_the_users_line_is_named_and_not_that_of_a_library_or_of_python_itself() -> None:
    try:
        json.loads("{")
    except ValueError as error:
        failure = failure_of(error, None, "data")
    assert failure.remedy.startswith(f"Your code stood at {__file__}:")
    assert "decoder.py" not in str(failure.traceback)
    with pytest.raises(ValueError, match="scale") as raised:
        scipy.stats.norm.rvs(scale=-1.0)
    assert f"Your code stood at {__file__}:" in failure_of(raised.value, None, "data").remedy


def test_what_reading_data_raised_is_named_once() -> None:
    def read() -> None:
        raise KeyError("label")

    with pytest.raises(DataError) as raised:
        guarded("dataset", read)
    assert failure_of(raised.value, None, "data").message == "reading from the dataset failed: KeyError: 'label'"


def test_a_loss_that_is_no_number_is_first_looked_for_in_the_data() -> None:
    remedy = failure_of(NonfiniteLossError("the loss is nan"), None, "steps").remedy
    assert remedy.startswith("Look for NaN in the data")
