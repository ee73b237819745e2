"""The end of one of several processes is told as such by the others, and not as a mistake in the user's code."""

import pytest

from traindyno.core.outcomes import Outcome
from traindyno.worker.classify import failure_of

GLOO = (
    "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:545] Read error [127.0.0.1]:38804: Connection reset by peer."
)


@pytest.mark.parametrize("text", [GLOO, "NCCL communicator was aborted on rank 1.", "TCPStore: no answer"])
def test_a_lost_connection_to_another_process_is_a_crash_that_can_be_resumed_from(text):
    failure = failure_of(RuntimeError(text), None, "training")
    assert failure.outcome is Outcome.CRASH
    assert failure.message == "another process of this training ended, or could not be reached"
    assert "traindyno resume" in failure.remedy


def test_the_user_s_own_errors_stay_what_they_are():
    failure = failure_of(RuntimeError("mat1 and mat2 shapes cannot be multiplied"), None, "training")
    assert failure.outcome is Outcome.USER_ERROR
