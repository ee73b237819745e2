"""The head and its agents over real sockets: who comes in, what they run together, and what becomes of a lost one."""

import pickle
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from pathlib import Path

import pytest

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.machine import MachineFacts
from traindyno.core.outcomes import REMEDIES, Outcome
from traindyno.core.records import Failure, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.scaling import Group
from traindyno.runner import node_link, nodes
from traindyno.runner.agent import Agent, RefusedError
from traindyno.runner.node_door import Door
from traindyno.runner.node_link import Address, Link, LinkLostError, WrongTokenError, call, parse_address
from traindyno.runner.node_messages import Hello, Refusal, Welcome
from traindyno.runner.nodes import NodesRunner
from traindyno.runner.protocol import Deadlines, Runner, Watcher

TOKEN = b"a secret of sixteen or more"
GENEROUS = 120.0


def trial(*, nodes: int) -> TrialSpec:
    return TrialSpec(
        kind="scale",
        workload=WorkloadSpec(model="mlp:64"),
        settings=Settings(batch_size=8),
        group=Group(devices=2, nodes=nodes),
    )


def ended(spec: TrialSpec, outcome: Outcome, message: str = "as it was told to") -> TrialRecord:
    failure = Failure(outcome=outcome, message=message, remedy=REMEDIES[outcome]) if outcome is not Outcome.OK else None
    return TrialRecord(spec=spec, outcome=outcome, seconds=0.1, failure=failure)


class Playing:
    """A runner whose trials end as they are told to, unless somebody stops them before."""

    simulated = False

    def __init__(self, outcome: Outcome = Outcome.OK, seconds: float = 0.3, message: str = "as it was told to") -> None:
        self.outcome, self.seconds, self.message = outcome, seconds, message
        self.specs: list[TrialSpec] = []
        self.running = threading.Event()
        self.stopped = 0

    def run(self, spec: TrialSpec, watcher: Watcher, log_path: Path | None) -> TrialRecord:
        self.specs.append(spec)
        self.running.set()
        deadline = time.monotonic() + self.seconds
        while time.monotonic() < deadline:
            watcher.tick(time.monotonic(), None)
            if watcher.should_stop():
                self.stopped += 1
                return ended(spec, Outcome.INTERRUPTED)
            time.sleep(0.01)
        return ended(spec, self.outcome, self.message)

    def close(self) -> None: ...


class Guest:
    """An agent in a thread of its own, on a machine of its own name."""

    def __init__(self, address: Address, runner: Runner, host: str = "other") -> None:
        self.link = call(address, TOKEN)
        self.heard: list[str] = []
        self.parting: str | None = None
        self.refused: RefusedError | None = None
        self.wants_to_stop = False
        agent = Agent(hello(host), lambda _: _open(runner), self._here, self.heard.append, lambda: self.wants_to_stop)
        self.thread = threading.Thread(target=self._serve, args=(agent,), daemon=True)
        self.thread.start()

    def _here(self, spec: TrialSpec) -> TrialSpec:
        return spec

    def _serve(self, agent: Agent) -> None:
        try:
            self.parting = agent.serve(self.link)
        except RefusedError as error:
            self.refused = error


@contextmanager
def _open(runner: Runner) -> Iterator[Runner]:
    yield runner


def hello(host: str) -> Hello:
    return Hello(machine=MachineFacts(hostname=host, system="Linux", python="3.11", traindyno="1"))


class Head:
    """A door on loopback, and all that was told about it."""

    def __init__(self, machines: int) -> None:
        self.told: list[tuple[str, bool]] = []
        welcome = Welcome(node=0, nodes=machines, runner="fork", deadlines=Deadlines())
        self.door = Door(
            Address("127.0.0.1", 0), TOKEN, self._look, welcome, lambda text, warns: self.told.append((text, warns))
        )

    def _look(self, guest: Hello) -> Refusal | None:
        unwanted = guest.machine.hostname == "unwanted"
        return Refusal(message="it is unwanted", hint="stay away") if unwanted else None

    def has(self, count: int) -> bool:
        return until(lambda: len(self.door.nodes) == count)


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody here has more to tell by waiting longer."""
    monkeypatch.setattr(nodes, "CAPTAIN_SECONDS", 1.0)
    monkeypatch.setattr(nodes, "ENDING_SECONDS", 0.5)


@pytest.fixture
def head() -> Iterator[Head]:
    head = Head(machines=2)
    yield head
    head.door.close(over=True)


def until(condition: Callable[[], object]) -> bool:
    deadline = time.monotonic() + GENEROUS
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return bool(condition())


def test_a_trial_of_one_machine_needs_no_other(head: Head) -> None:
    local = Playing()
    record = NodesRunner(local, head.door).run(trial(nodes=1), Watcher(), None)
    assert record.ok
    assert local.specs[0].meeting is None


def test_all_machines_of_a_trial_meet_at_one_place_and_each_trial_has_its_own(head: Head) -> None:
    local, remote = Playing(), Playing()
    Guest(head.door.address, remote)
    runner = NodesRunner(local, head.door)
    assert runner.run(trial(nodes=2), Watcher(), None).ok
    assert runner.run(trial(nodes=2), Watcher(), None).ok
    (here, here_again), (there, _) = ([spec.meeting for spec in each.specs] for each in (local, remote))
    assert here is not None
    assert there is not None
    assert here_again is not None
    assert (here.node, there.node) == (0, 1)
    assert (here.id, here.captain) == (there.id, there.captain)
    assert parse_address(here.rendezvous).port == parse_address(there.rendezvous).port
    assert here.id != here_again.id
    assert here.captain != here.rendezvous


def test_torchrun_on_the_head_takes_the_address_of_the_meeting_for_its_own() -> None:
    found = nodes.new_meeting("127.0.0.2")
    assert found.rendezvous.startswith("127.0.0.2:")
    assert nodes._hosted_here(found).rendezvous == found.rendezvous.replace("127.0.0.2", "127.0.0.1")


def test_a_machine_that_is_lost_in_mid_trial_is_named_and_the_trial_here_ends(head: Head) -> None:
    local, remote = Playing(seconds=GENEROUS), Playing(seconds=GENEROUS)
    guest = Guest(head.door.address, remote, "lost-one")
    killer = threading.Thread(target=lambda: (remote.running.wait(GENEROUS), guest.link.close()))
    killer.start()
    record = NodesRunner(local, head.door).run(trial(nodes=2), Watcher(), None)
    assert record.outcome is Outcome.INFRASTRUCTURE
    assert record.failure is not None
    assert "lost-one (node 1) was lost in mid-trial" in record.failure.message
    assert "traindyno agent 127.0.0.1:" in record.failure.remedy
    assert record.failure.details["node"] == "lost-one"
    assert local.stopped == 1


def test_a_machine_that_falls_silent_is_lost_too(head: Head, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_link, "SILENCE_SECONDS", 2.0)
    silent = call(head.door.address, TOKEN)
    silent.send(hello("silent"))
    assert isinstance(silent.receive(), Welcome)
    record = NodesRunner(Playing(seconds=GENEROUS), head.door).run(trial(nodes=2), Watcher(), None)
    assert record.outcome is Outcome.INFRASTRUCTURE
    assert record.failure is not None
    assert "silent (node 1) was lost" in record.failure.message


def test_what_the_captain_found_out_counts_more_than_that_a_machine_went(
    head: Head, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "CAPTAIN_SECONDS", GENEROUS)
    remote = Playing(seconds=GENEROUS)
    guest = Guest(head.door.address, remote)
    threading.Thread(target=lambda: (remote.running.wait(GENEROUS), guest.link.close())).start()
    local = Playing(Outcome.OUT_OF_DEVICE_MEMORY, seconds=0.5, message="rank 1 ran out of memory")
    record = NodesRunner(local, head.door).run(trial(nodes=2), Watcher(), None)
    assert record.outcome is Outcome.OUT_OF_DEVICE_MEMORY


def test_what_failed_on_the_other_machine_is_told_with_its_name(head: Head) -> None:
    Guest(head.door.address, Playing(Outcome.USER_ERROR, message="it is not named here"), "strict")
    record = NodesRunner(Playing(seconds=GENEROUS), head.door).run(trial(nodes=2), Watcher(), None)
    assert record.outcome is Outcome.USER_ERROR
    assert record.failure is not None
    assert record.failure.message == "on strict (node 1): it is not named here"


def test_a_stop_ends_the_trial_on_all_machines_and_the_agent_waits_for_the_next(head: Head) -> None:
    class Stopping(Watcher):
        def should_stop(self) -> bool:
            return remote.running.is_set()

    local, remote = Playing(seconds=GENEROUS), Playing(seconds=GENEROUS)
    Guest(head.door.address, remote)
    runner = NodesRunner(local, head.door)
    assert runner.run(trial(nodes=2), Stopping(), None).outcome is Outcome.INTERRUPTED
    assert (local.stopped, remote.stopped) == (1, 1)
    local.seconds = remote.seconds = 0.1
    assert runner.run(trial(nodes=2), Watcher(), None).ok


def test_a_trial_goes_on_elsewhere_no_longer_than_here(head: Head) -> None:
    remote = Playing(seconds=GENEROUS)
    Guest(head.door.address, remote)
    assert NodesRunner(Playing(), head.door).run(trial(nodes=2), Watcher(), None).ok
    assert remote.stopped == 1


def test_a_machine_that_does_not_come_back_is_waited_for_once(head: Head) -> None:
    runner = NodesRunner(Playing(), head.door, return_seconds=1.0)
    first, second = (runner.run(trial(nodes=2), Watcher(), None) for _ in range(2))
    assert first.outcome is second.outcome is Outcome.INFRASTRUCTURE
    assert first.failure is not None
    assert "only 1 of 2 machines is here" in first.failure.message
    (waiting,) = [text for text, warns in head.told if warns]
    assert f"waiting up to 1 s for `traindyno agent {head.door.address}`" in waiting
    assert first.seconds >= 1.0 > second.seconds
    assert runner.missing
    Guest(head.door.address, Playing())
    assert head.has(1)
    assert runner.run(trial(nodes=2), Watcher(), None).ok
    assert not runner.missing


def test_an_agent_that_loses_its_head_ends_its_trial_at_once() -> None:
    head, remote = Head(machines=2), Playing(seconds=GENEROUS)
    guest = Guest(head.door.address, remote)
    assert head.has(1)
    head.door.nodes[0].order(trial(nodes=2))
    assert remote.running.wait(GENEROUS)
    head.door.close(over=False)
    assert until(lambda: guest.parting == "lost")
    assert remote.stopped == 1


def test_an_agent_whose_head_falls_silent_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_link, "SILENCE_SECONDS", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepted: list[Link] = []

        def greet() -> None:
            link = Link(listener.accept()[0])
            link.prove(TOKEN, calling=False)
            link.receive()
            link.send(Welcome(node=1, nodes=2, runner="fork", deadlines=Deadlines()))
            accepted.append(link)

        threading.Thread(target=greet, daemon=True).start()
        guest = Guest(Address(*listener.getsockname()), Playing())
        assert until(lambda: guest.parting == "lost")
        assert "nothing was heard" in guest.heard[-1]


def test_an_agent_ends_when_the_head_says_that_it_is_over() -> None:
    head = Head(machines=2)
    guest = Guest(head.door.address, Playing())
    assert head.has(1)
    head.door.close(over=True)
    assert until(lambda: guest.parting == "over")


def test_an_agent_that_is_stopped_ends_its_trial_and_is_lost_to_the_head(head: Head) -> None:
    remote = Playing(seconds=GENEROUS)
    guest = Guest(head.door.address, remote, "leaving")
    threading.Thread(
        target=lambda: (remote.running.wait(GENEROUS), setattr(guest, "wants_to_stop", True)), daemon=True
    ).start()
    record = NodesRunner(Playing(seconds=GENEROUS), head.door).run(trial(nodes=2), Watcher(), None)
    assert guest.parting == "stopped"
    assert record.outcome is Outcome.INFRASTRUCTURE
    assert record.failure is not None
    assert "leaving (node 1)" in record.failure.message


def test_who_knocks_and_says_nothing_keeps_nobody_out(head: Head) -> None:
    with closing(socket.create_connection(head.door.address)), closing(socket.create_connection(head.door.address)):
        Guest(head.door.address, Playing())
        assert head.has(1)


def test_another_token_is_told_on_both_sides_and_does_not_come_in(head: Head) -> None:
    with pytest.raises(WrongTokenError):
        call(head.door.address, b"another secret of that length")
    assert until(lambda: any("another TRAINDYNO_TOKEN" in text and warns for text, warns in head.told))
    assert not head.door.nodes
    assert not any(TOKEN.decode() in text for text, _ in head.told)


def test_something_else_that_speaks_at_the_door_is_sent_away(head: Head) -> None:
    with closing(socket.create_connection(head.door.address)) as visitor:
        visitor.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        visitor.settimeout(GENEROUS)
        while visitor.recv(4096):
            pass
    assert not head.door.nodes


def test_nothing_that_comes_in_is_unpickled(head: Head, tmp_path: Path) -> None:
    proof = tmp_path / "executed"

    class Harmful:
        def __reduce__(self) -> tuple[object, ...]:
            return (proof.touch, ())

    connection = Connection(socket.create_connection(head.door.address).detach())
    answer_challenge(connection, TOKEN)
    deliver_challenge(connection, TOKEN)
    connection.send_bytes(pickle.dumps(Harmful()))
    assert b"not understood" in connection.recv_bytes()
    with pytest.raises((EOFError, OSError)):
        connection.recv_bytes()
    assert not proof.exists()
    assert not head.door.nodes


def test_a_machine_that_does_not_fit_learns_why_and_one_too_many_may_try_again(head: Head) -> None:
    unwanted = Guest(head.door.address, Playing(), "unwanted")
    assert until(lambda: unwanted.refused is not None)
    assert unwanted.refused is not None
    assert unwanted.refused.for_good
    assert "it is unwanted" in unwanted.refused.message
    Guest(head.door.address, Playing())
    assert head.has(1)
    late = Guest(head.door.address, Playing())
    assert until(lambda: late.refused is not None)
    assert late.refused is not None
    assert not late.refused.for_good


def test_an_agent_of_a_version_with_other_words_learns_that_it_is_another(head: Head) -> None:
    link = call(head.door.address, TOKEN)
    link._connection.send_bytes(b'{"type": "hello", "machine": {"of": "the future"}}')
    answer = link.receive()
    assert isinstance(answer, Refusal)
    assert "same version of traindyno" in answer.hint
    assert until(lambda: any("not understood" in text and warns for text, warns in head.told))


def test_a_trial_that_cannot_be_run_on_the_agent_is_an_answer_and_not_its_end(head: Head) -> None:
    class Refusing(Guest):
        def _here(self, spec: TrialSpec) -> TrialSpec:
            raise UsageError("that code is not named here", "add --model")

    class Broken(Playing):
        def run(self, spec: TrialSpec, watcher: Watcher, log_path: Path | None) -> TrialRecord:
            raise TraindynoError("the trial server could not start")

    refusing = Refusing(head.door.address, Playing())
    runner = NodesRunner(Playing(seconds=GENEROUS), head.door)
    assert runner.run(trial(nodes=2), Watcher(), None).outcome is Outcome.USER_ERROR
    refusing.link.close()
    assert head.has(0)
    Guest(head.door.address, Broken())
    assert runner.run(trial(nodes=2), Watcher(), None).outcome is Outcome.INFRASTRUCTURE


def test_nobody_at_the_address_is_a_lost_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = Address(*listener.getsockname())
    with pytest.raises(LinkLostError, match="refused"):
        call(address, TOKEN)


@pytest.mark.parametrize("text", ["head", "head:", ":29400", "head:port", "head:0", "head:70000", "::1:29400", ""])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no address"):
        parse_address(text)


def test_an_address_is_read_and_written_alike() -> None:
    assert str(parse_address(" head.example:29400 ")) == "head.example:29400"
