"""From the evidence a process leaves to the class of its ending."""

import signal

import pytest

from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure
from traindyno.runner.endings import Ending, classify


def killed_by(number: int) -> int:
    return int(number)


def exited_with(code: int) -> int:
    return code << 8


@pytest.mark.parametrize(
    ("ending", "outcome"),
    [
        (Ending(status=killed_by(signal.SIGSEGV), phase="steps"), Outcome.CRASH),
        (Ending(status=killed_by(signal.SIGILL), phase="steps"), Outcome.CRASH),
        (Ending(status=killed_by(signal.SIGKILL), phase="steps"), Outcome.KILLED),
        (Ending(status=killed_by(signal.SIGTERM), phase="steps"), Outcome.KILLED),
        (Ending(status=killed_by(signal.SIGKILL), phase="steps", kernel_oom_kills=1), Outcome.OUT_OF_HOST_MEMORY),
        (
            Ending(status=killed_by(signal.SIGBUS), phase="data", log_tail="insufficient shared memory (shm)"),
            Outcome.OUT_OF_SHARED_MEMORY,
        ),
        (Ending(status=killed_by(signal.SIGBUS), phase="steps"), Outcome.CRASH),
        (
            Ending(status=killed_by(signal.SIGABRT), phase="steps", log_tail="terminate called: std::bad_alloc"),
            Outcome.OUT_OF_HOST_MEMORY,
        ),
        (
            Ending(status=killed_by(signal.SIGABRT), phase="steps", log_tail="CUDA error: unspecified launch failure"),
            Outcome.CUDA_FAULT,
        ),
        (Ending(status=exited_with(3), phase="steps", said_hello=True), Outcome.CRASH),
        (Ending(status=exited_with(0), phase="steps", said_hello=True), Outcome.CRASH),
        (Ending(status=exited_with(70), phase="start"), Outcome.INFRASTRUCTURE),
        (Ending(status=None, phase="steps", keeper_lost=True), Outcome.INFRASTRUCTURE),
        (Ending(status=killed_by(signal.SIGKILL), phase="steps", killed_for="hang"), Outcome.HANG),
        (Ending(status=killed_by(signal.SIGTERM), phase="steps", killed_for="timeout"), Outcome.TIMEOUT),
        (Ending(status=killed_by(signal.SIGKILL), phase="steps", killed_for="memory"), Outcome.OUT_OF_HOST_MEMORY),
        (Ending(status=killed_by(signal.SIGTERM), phase="steps", killed_for="interrupted"), Outcome.INTERRUPTED),
    ],
)
def test_every_ending_has_a_class_a_sentence_and_a_remedy(ending: Ending, outcome: Outcome) -> None:
    failure = classify(ending)
    assert failure is not None
    assert failure.outcome is outcome
    assert failure.remedy


def test_what_the_worker_itself_reported_wins_over_its_exit_code() -> None:
    error = Failure(outcome=Outcome.USER_ERROR, message="theirs", remedy="mend it")
    failure = classify(Ending(status=exited_with(1), phase="steps", error=error, log_tail="the end of the log"))
    assert failure is not None
    assert (failure.outcome, failure.message, failure.exit_code) == (Outcome.USER_ERROR, "theirs", 1)
    assert failure.log_tail == "the end of the log"


def test_processes_that_could_not_be_ended_are_named() -> None:
    failure = classify(Ending(status=exited_with(1), phase="steps", survivors=(17, 18)))
    assert failure is not None
    assert failure.details["survivors"] == "17, 18"
