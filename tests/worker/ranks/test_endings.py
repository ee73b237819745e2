"""One cause of many ends: what a rank did itself goes before what others only suffered from."""

import signal

import pytest

from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure
from traindyno.worker.ranks.endings import absent_failure, first_cause, hung_failure, not_started_failure
from traindyno.worker.ranks.launching import exit_codes_in
from traindyno.worker.ranks.members import Member, NodeMember, RankError, furthest_behind
from traindyno.worker.ranks.rank import is_consequence

GLOO = "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:545] Connection closed by peer [127.0.0.1]:38804"
TABLE = """
traindyno.worker.ranks.main FAILED
Failures:
[1]:
  time      : 2026-11-16_01:56:58
  host      : localhost
  rank      : 0 (local_rank: 0)
  exitcode  : -15 (pid: 32482)  (SIGTERM)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 32482
Root Cause (first observed failure):
[0]:
  time      : 2026-11-16_01:56:58
  host      : localhost
  rank      : 1 (local_rank: 1)
  exitcode  : -9 (pid: 32483)  (SIGKILL)
"""


def member(rank: int, **known: object) -> Member:
    return Member(rank=rank, node=0, host=f"host{rank}", line=None, heard=0.0, **known)  # type: ignore[arg-type]


def told(outcome: Outcome, consequence: bool = False) -> RankError:
    return RankError(Failure(outcome=outcome, message="what it said", remedy="what to do"), consequence)


def cause_of(members: list[Member], nodes: tuple[NodeMember, ...] = (), codes=None, oom_kills: int = 0) -> Failure:
    failure = first_cause(members, nodes, len(members), codes or {}, oom_kills, node_silence=5.0, now=1.0)
    assert failure is not None
    return failure


def test_out_of_memory_on_one_rank_is_told_and_not_the_broken_connections_of_the_others():
    broken = [member(rank, error=told(Outcome.CRASH, consequence=True)) for rank in (0, 2)]
    failure = cause_of([broken[0], member(1, error=told(Outcome.OUT_OF_DEVICE_MEMORY)), broken[1]])
    assert failure.outcome is Outcome.OUT_OF_DEVICE_MEMORY
    assert failure.message == "rank 1 of 3 on host1: what it said"
    assert failure.details["rank"] == "1"
    assert failure.details["node"] == "host1"


def test_torchruns_table_tells_how_a_rank_went_that_said_nothing():
    codes = exit_codes_in(TABLE)
    assert codes == {0: -signal.SIGTERM, 1: -signal.SIGKILL}
    failure = cause_of([member(0, gone=0.1), member(1, gone=0.2)], codes=codes)
    assert failure.outcome is Outcome.KILLED
    assert "rank 1 of 2 on host1 was ended by SIGKILL" in failure.message


@pytest.mark.parametrize(
    ("code", "oom_kills", "outcome", "evidence"),
    [
        (3, 0, Outcome.CRASH, "exited with code 3"),
        (-signal.SIGSEGV, 0, Outcome.CRASH, "SIGSEGV"),
        (-signal.SIGKILL, 1, Outcome.OUT_OF_HOST_MEMORY, "memory was exhausted"),
    ],
)
def test_the_way_a_rank_went_is_its_class(code: int, oom_kills: int, outcome: Outcome, evidence: str):
    broken = member(0, error=told(Outcome.CRASH, consequence=True))
    failure = cause_of([broken, member(1, gone=0.1)], codes={1: code}, oom_kills=oom_kills)
    assert failure.outcome is outcome
    assert evidence in failure.message


def test_a_group_of_one_is_told_of_as_any_process():
    assert cause_of([member(0, error=told(Outcome.USER_ERROR))]).message == "what it said"
    assert cause_of([member(0, gone=0.1)], codes={0: 3}).message.startswith("the process exited with code 3")


def test_a_lost_machine_is_named_before_the_ranks_that_went_with_it():
    node = NodeMember(node=1, host="other", line=None, heard=0.9, gone=True)  # type: ignore[arg-type]
    failure = cause_of([member(0), member(1, gone=0.5)], (node,))
    assert failure.outcome is Outcome.INFRASTRUCTURE
    assert failure.message == "node 1 (other) closed its connection"


def test_nothing_is_made_up_where_nothing_went_wrong():
    assert first_cause([member(0), member(1)], (), 2, {}, 0, node_silence=5.0, now=1.0) is None


def test_the_rank_with_the_fewest_places_behind_it_is_the_one_that_hangs():
    waiting = member(0, marks=41, stage="backward", step=7)
    hanging = member(1, marks=40, stage="forward", step=7, phase="turns")
    assert furthest_behind([waiting, hanging], now=1.0) == [hanging]
    failure = hung_failure([hanging], 2, silence=15.4, allowed=15.0)
    assert failure.outcome is Outcome.HANG
    assert "rank 1 of 2 on host1 made no progress for 15 s in 'forward' of step 8" in failure.message


def test_a_rank_that_tells_nothing_at_all_hangs_wherever_it_was_last():
    silent, talking = member(0, marks=90), member(1, marks=40)
    talking.heard = 9.0
    assert furthest_behind([silent, talking], now=10.0) == [silent]


def test_ranks_that_never_met_are_sent_to_the_network_interface():
    failure = hung_failure([member(0, phase="meeting"), member(1, phase="meeting")], 2, 31.0, 30.0)
    assert failure.outcome is Outcome.INFRASTRUCTURE
    assert "GLOO_SOCKET_IFNAME" in failure.remedy
    assert "NCCL_SOCKET_IFNAME" in failure.remedy


def test_who_did_not_come_is_named():
    assert "node 2 did not join within 120 s" in absent_failure([4, 5], [2], 120.0).message
    assert "rank 4, 5 did not join" in absent_failure([4, 5], [], 120.0).message


def test_a_launcher_that_never_began_tells_its_last_line():
    failure = not_started_failure("Traceback\nModuleNotFoundError: No module named 'torch'\n=====\n")
    assert failure.outcome is Outcome.INFRASTRUCTURE
    assert "No module named 'torch'" in failure.message


@pytest.mark.parametrize(
    ("text", "consequence"),
    [
        (GLOO, True),
        ("NCCL error: remote process exited or there was a network error", True),
        ("NCCL error: invalid usage: Duplicate GPU detected", False),
        ("mat1 and mat2 shapes cannot be multiplied", False),
    ],
)
def test_only_a_broken_connection_is_a_consequence(text: str, consequence: bool):
    assert is_consequence(RuntimeError(text)) is consequence


def test_a_launcher_that_was_killed_is_told_and_not_the_ranks_that_went_with_it():
    members = [member(0, gone=1.0), member(1, gone=0.9)]
    failure = first_cause(members, (), 2, {}, 0, node_silence=5.0, now=1.0, launcher_signal=signal.SIGKILL)
    assert failure is not None
    assert failure.outcome is Outcome.KILLED
    assert failure.message == "torchrun was ended by SIGKILL, and its ranks with it"


def test_a_rank_that_does_not_answer_is_told_to_be_stopped_and_not_to_read_a_traceback():
    silent = hung_failure([member(1, phase="turns")], 2, 16.0, 15.0)
    answering = hung_failure([member(1, phase="turns", stack='  File "job.py"\n')], 2, 16.0, 15.0)
    assert "is stopped" in silent.remedy
    assert "traceback" in answering.remedy
