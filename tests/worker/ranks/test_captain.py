"""The captain's deadlines, with members that only say what a test lets them."""

import itertools
import queue
from typing import Any

import pytest

from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure, Settings, TrialSpec, WorkloadSpec
from traindyno.core.scaling import Group
from traindyno.worker.channel import Channel
from traindyno.worker.errors import RankFailedError
from traindyno.worker.ranks import captain
from traindyno.worker.ranks.captain import Captain
from traindyno.worker.ranks.limits import Limits, limits_of
from traindyno.worker.ranks.lines import Inbox, News

WHERE = {"marks": 1, "step": 0, "stage": "start"}


class Paper:
    """A line that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []

    def tell(self, kind: str, **fields: Any) -> None:
        self.told.append((kind, fields))


class Launcher:
    """A torchrun that has nothing to say."""

    ended, ended_by, exit_codes, printed = False, None, {}, ""  # type: ignore[var-annotated]


class Silent(Channel):
    def __init__(self) -> None:
        super().__init__(descriptor=-1)
        self.phases: list[str] = []

    def _send(self, kind: str, **fields: Any) -> None:
        if kind == "phase":
            self.phases.append(fields["name"])


class Talking(queue.Queue[News]):
    """An inbox in which ranks go on to say where they stand once they have said all else."""

    def __init__(self, still: list[News]) -> None:
        super().__init__()
        self._still = still

    def get(self, block: bool = True, timeout: float | None = None) -> News:
        if block and self.empty():
            for each in self._still:
                self.put(each)
        return super().get(block, timeout)


def spec_of(devices: int, nodes: int = 1, **more: Any) -> TrialSpec:
    settings = Settings(batch_size=8)
    group = Group(devices=devices, nodes=nodes)
    return TrialSpec(kind="scale", workload=WorkloadSpec(model="mlp:8"), settings=settings, group=group, **more)


@pytest.fixture(autouse=True)
def _no_real_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captain, "LOOK_SECONDS", 0.0)


def ended(
    spec: TrialSpec, news: list[News], limits: Limits, launcher: Any = None, still: tuple[News, ...] = ()
) -> tuple[Failure, Silent]:
    """How a group ends that says this, and then only what it `still` says."""
    inbox: Inbox = Talking(list(still))
    for each in news:
        inbox.put(each)
    channel, seconds = Silent(), itertools.count()
    leader = Captain(spec, channel, limits, inbox, launcher or Launcher(), clock=lambda: float(next(seconds)) / 4)
    with pytest.raises(RankFailedError) as raised:
        leader.lead()
    return raised.value.failure, channel


def hello(line: Any, rank: int, node: int = 0) -> News:
    return News(line, {"type": "hello", "of": "rank", "rank": rank, "node": node, "host": f"host{node}"})


def phase(line: Any, name: str, **where: Any) -> News:
    return News(line, {"type": "phase", "name": name, **WHERE, **where})


def test_a_rank_that_never_comes_is_an_infrastructure_failure_after_the_limit():
    failure, _ = ended(spec_of(2), [hello(Paper(), 0)], Limits(start_up=20.0))
    assert failure.outcome is Outcome.INFRASTRUCTURE
    assert "rank 1 did not join within 20 s" in failure.message


def test_a_launcher_may_load_torch_for_minutes_but_a_machine_that_does_not_come_is_told_soon():
    limits = Limits(connect=20.0, start_up=100.0)
    slow, _ = ended(spec_of(2), [hello(Paper(), 0)], limits)
    assert "rank 1 did not join within 100 s" in slow.message
    away, _ = ended(spec_of(2, nodes=2), [hello(Paper(), 0)], limits)
    assert "node 1 did not join within 20 s" in away.message


def test_ranks_are_told_nothing_to_run_and_the_first_ones_phases_are_the_trials():
    first, second = Paper(), Paper()
    news = [hello(first, 0), hello(second, 1), phase(first, "model"), phase(second, "data", marks=2)]
    failure, channel = ended(spec_of(2), news, Limits(set_up=10.0))
    assert {kind for kind, _ in (*first.told, *second.told)} <= {"where"}
    assert channel.phases == ["model"]
    assert failure.outcome is Outcome.HANG


def test_a_group_that_stands_still_is_told_with_the_rank_that_is_behind():
    first, second = Paper(), Paper()
    news = [hello(first, 0), hello(second, 1)]
    news += [phase(first, "turns", marks=9), phase(second, "turns", marks=8)]
    still = (
        News(first, {"type": "alive", "marks": 9, "step": 3, "stage": "backward"}),
        News(second, {"type": "stack", "text": '  File "job.py"\n', "marks": 8, "step": 3, "stage": "forward"}),
    )
    failure, _ = ended(spec_of(2), news, limits_of(spec_of(2, silence_seconds=5.0)), still=still)
    assert failure.outcome is Outcome.HANG
    assert failure.details["rank"] == "1"
    assert "'forward' of step 4" in failure.message
    assert ("where", {}) in second.told
    assert "job.py" in (failure.traceback or "")


def test_a_node_that_is_not_heard_of_is_lost():
    node, first, second = Paper(), Paper(), Paper()
    hello_node = News(node, {"type": "hello", "of": "node", "node": 1, "host": "other"})
    failure, _ = ended(spec_of(2, nodes=2), [hello_node, hello(first, 0), hello(second, 1, 1)], Limits(node_silence=5))
    assert failure.outcome is Outcome.INFRASTRUCTURE
    assert "node 1 (other) was not heard of" in failure.message
    assert node.told[-1][0] == "error"


def test_a_rank_that_breaks_off_waits_for_the_one_that_broke_it():
    first, second = Paper(), Paper()
    broken = Failure(outcome=Outcome.CRASH, message="Connection closed by peer", remedy="")
    own = Failure(outcome=Outcome.USER_ERROR, message="KeyError", remedy="")
    news = [hello(first, 0), hello(second, 1)]
    for line, failure, consequence in ((first, broken, True), (second, own, False)):
        news.append(News(line, {"type": "error", "failure": _plain(failure), "consequence": consequence, **WHERE}))
        news.append(News(line, None))
    failure, _ = ended(spec_of(2), news, Limits())
    assert failure.outcome is Outcome.USER_ERROR
    assert failure.details["rank"] == "1"


def test_a_launcher_that_ends_before_any_rank_came_says_why():
    class Ended(Launcher):
        ended, printed = True, "error: argument --rdzv-endpoint: no such host"

    failure, _ = ended(spec_of(2), [], Limits(), Ended())
    assert failure.outcome is Outcome.INFRASTRUCTURE
    assert "no such host" in failure.message


def test_what_the_launcher_of_another_node_said_is_told():
    node = Paper()
    news = [News(node, {"type": "hello", "of": "node", "node": 1, "host": "other"})]
    said = "ModuleNotFoundError: No module named 'torch'"
    still = (News(node, {"type": "ended", "exit_codes": {}, "printed": said}),)
    failure, _ = ended(spec_of(2, nodes=2), news, Limits(), still=still)
    assert failure.outcome is Outcome.INFRASTRUCTURE
    assert said in failure.message


def _plain(failure: Failure) -> dict[str, Any]:
    return {name: getattr(failure, name) for name in ("outcome", "message", "remedy")}
