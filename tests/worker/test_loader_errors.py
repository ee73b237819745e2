"""What loaders raise, as torch words it, and the class, message and remedy that each must get."""

import errno

import pytest
from torch._utils import ExceptionWrapper

from traindyno.core.outcomes import Outcome
from traindyno.worker.classify import MemoryEvidence, failure_of, outcome_of
from traindyno.worker.data.bad import bad_example
from traindyno.worker.data.worker_faults import HandOverError
from traindyno.worker.errors import DataError
from traindyno.worker.loader_errors import worker_error

UNKNOWN = MemoryEvidence()


class FrameError(Exception):
    """torch cannot build it anew from one text."""

    def __init__(self, frame: int, reason: str) -> None:
        super().__init__(f"frame {frame}: {reason}")


def rebuilt(error: Exception) -> Exception:
    """The exception as torch raises it again in the main process."""
    try:
        raise error
    except Exception:  # noqa: BLE001
        wrapper = ExceptionWrapper(where="in DataLoader worker process 1")
    with pytest.raises(Exception) as raised:  # noqa: PT011
        wrapper.reraise()
    return raised.value


def data_error(cause: Exception) -> DataError:
    error = DataError("reading from the loader failed")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "outcome", "message"),
    [
        (KeyError("label"), Outcome.DATA_ERROR, "KeyError: 'label'"),
        (FrameError(7, "no label"), Outcome.DATA_ERROR, "FrameError: frame 7: no label"),
        (OSError(errno.ENOENT, "No such file", "a.jpg"), Outcome.DATA_ERROR, "FileNotFoundError: [Errno 2]"),
        (MemoryError("no room"), Outcome.OUT_OF_HOST_MEMORY, "MemoryError: no room"),
        (
            RuntimeError("unable to allocate shared memory(shm) for file </torch_1_2_0>: No space left on device (28)"),
            Outcome.OUT_OF_SHARED_MEMORY,
            "unable to allocate shared memory",
        ),
        (
            RuntimeError("CUDA error: device-side assert triggered\nCompile with `TORCH_USE_CUDA_DSA`."),
            Outcome.CUDA_FAULT,
            "RuntimeError: CUDA error: device-side assert triggered",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_a_worker_raised_is_read_back(error: Exception, outcome: Outcome, message: str) -> None:
    failure = failure_of(data_error(rebuilt(error)), None, "steps")
    assert failure.outcome is outcome
    assert message in failure.message
    assert "Caught" not in failure.message


def test_the_remedy_points_to_the_users_line_in_the_worker() -> None:
    failure = failure_of(data_error(rebuilt(KeyError("label"))), None, "steps")
    assert __file__ in failure.remedy
    assert failure.traceback is not None
    assert failure.traceback.rstrip().endswith("KeyError: 'label'")


def test_an_ordinary_error_is_not_taken_for_one_of_a_worker() -> None:
    assert worker_error(ValueError("Caught nothing")) is None


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("DataLoader worker (pid 4321) is killed by signal: Killed. ", Outcome.KILLED),
        ("DataLoader worker (pid 4321) is killed by signal: Segmentation fault. ", Outcome.CRASH),
        ("DataLoader worker (pid(s) 4321, 4322) exited unexpectedly", Outcome.CRASH),
        (
            "DataLoader worker (pid 4321) is killed by signal: Bus error. It is possible that dataloader's workers are "
            "out of shared memory. Please try to raise your shared memory limit.",
            Outcome.OUT_OF_SHARED_MEMORY,
        ),
        ("received 0 items of ancdata", Outcome.OUT_OF_SHARED_MEMORY),
        (
            "Too many open files. Communication with the workers is no longer possible. Please increase the limit "
            "using `ulimit -n` in the shell or change the sharing strategy",
            Outcome.OUT_OF_SHARED_MEMORY,
        ),
    ],
)
def test_what_torch_says_of_its_workers_gets_its_class(text: str, outcome: Outcome) -> None:
    assert outcome_of(RuntimeError(text), UNKNOWN) is outcome
    assert outcome_of(data_error(RuntimeError(text)), UNKNOWN) is outcome


@pytest.mark.parametrize("text", ["received 0 items of ancdata", "Too many open files. Communication with the workers"])
def test_too_few_descriptors_are_answered_with_the_way_to_more(text: str) -> None:
    assert "ulimit -n" in failure_of(data_error(RuntimeError(text)), None, "steps").remedy


def test_a_batch_that_cannot_travel_is_the_datas_fault_and_one_without_room_the_machines() -> None:
    assert outcome_of(HandOverError("TypeError: cannot pickle 'generator' object"), UNKNOWN) is Outcome.DATA_ERROR
    full = HandOverError("RuntimeError: unable to write to file </torch_1_2_0>: No space left on device (28)")
    assert outcome_of(full, UNKNOWN) is Outcome.OUT_OF_SHARED_MEMORY


def test_files_that_a_dataset_forgot_to_close_are_not_taken_for_shared_memory() -> None:
    assert outcome_of(data_error(OSError(errno.EMFILE, "Too many open files")), UNKNOWN) is Outcome.DATA_ERROR


def test_a_bad_example_is_a_data_error_with_its_own_hint() -> None:
    failure = failure_of(bad_example("a/7.jpg", "it is empty"), None, "steps")
    assert failure.outcome is Outcome.DATA_ERROR
    assert failure.message.startswith("a/7.jpg cannot be used")
    assert "--skip-bad" in failure.remedy
