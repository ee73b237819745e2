"""Which machines may train together, and a whole study with one of them lost: over loopback, on pretended hardware."""

import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import traindyno.app.agent
import traindyno.app.nodes
import traindyno.app.workshop
from traindyno.app.agent import allowed, serve_head
from traindyno.app.context import Context
from traindyno.app.node_checks import MAKE_TOKEN, TOKEN_VARIABLE, check_nodes, refusal, token_from, unlike_machines
from traindyno.app.nodes import agent_command, gathered
from traindyno.app.resume import resume
from traindyno.app.scale import scale
from traindyno.app.sources import NamedAgain, hash_source
from traindyno.app.workshop import open_workshop
from traindyno.core.answers import Document, ScaleAnswer
from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.events import Event, Notice, TrialStarted
from traindyno.core.machine import GpuFacts, MachineFacts
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.requests import Bench, ScaleRequest
from traindyno.core.scaling import Group
from traindyno.runner import nodes
from traindyno.runner.node_link import Address
from traindyno.runner.node_messages import Hello
from traindyno.runner.profile import parse_profile
from traindyno.runner.protocol import Watcher
from traindyno.runner.simulated import SimulatedRunner

TOKEN = "0123456789abcdef"
GENEROUS = 120.0
HEAD = MachineFacts(
    hostname="head", system="Linux", python="3.11", traindyno="1", torch="2.12", cpu_model="Fast", cpus_usable=8.0
)
NAMED = WorkloadSpec(model="mlp:64")


def like_head(**changes: object) -> MachineFacts:
    return MachineFacts(**{name: getattr(HEAD, name) for name in HEAD.__struct_fields__} | changes)  # type: ignore[arg-type]


def gpus(*names: str) -> tuple[GpuFacts, ...]:
    return tuple(GpuFacts(index=i, name=name, uuid=str(i), memory_bytes=1) for i, name in enumerate(names))


def test_an_agent_does_no_other_work_than_to_measure_scaling() -> None:
    group = TrialSpec(kind="scale", workload=NAMED, settings=Settings(batch_size=2), group=Group(devices=2, nodes=2))
    assert allowed(group, ()) == group
    for other in ({"kind": "learn"}, {"group": None}):
        with pytest.raises(UsageError, match="measures scaling alone"):
            allowed(msgspec.structs.replace(group, **other), ())


def test_a_missing_or_short_token_is_refused_with_a_command_that_makes_one() -> None:
    for environment in ({}, {TOKEN_VARIABLE: ""}, {TOKEN_VARIABLE: "tiny"}):
        with pytest.raises(UsageError) as refused:
            token_from(environment)
        assert MAKE_TOKEN in (refused.value.hint or "")
        assert "tiny" not in refused.value.message
    made = subprocess.run(
        ["sh", "-c", f'{MAKE_TOKEN}; echo "${TOKEN_VARIABLE}"'], capture_output=True, text=True, check=True
    )
    assert token_from({TOKEN_VARIABLE: made.stdout.strip()}) == made.stdout.strip().encode()


@pytest.mark.parametrize(
    ("changes", "device", "why"),
    [
        ({"traindyno": "2"}, "cpu", "traindyno 2"),
        ({"torch": "2.13"}, "cpu", "torch 2.13"),
        ({"gpus": gpus("H200")}, "cuda:0", "it has 1 GPU, and 2 are needed"),
    ],
)
def test_a_machine_that_cannot_take_part_is_told_why(changes: dict[str, object], device: str, why: str) -> None:
    found = refusal(Hello(machine=like_head(**changes)), HEAD, NAMED, device, 2)
    assert found is not None
    assert why in found.message
    assert found.hint


def test_a_machine_of_the_same_kind_may_come_in() -> None:
    assert (
        refusal(Hello(machine=like_head(hostname="other", gpus=gpus("H200", "H200"))), HEAD, NAMED, "cuda:0", 2) is None
    )
    assert refusal(Hello(machine=like_head(hostname="other")), HEAD, NAMED, "cpu", 2) is None


def test_code_of_the_users_own_must_be_named_there_and_be_the_same(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text("def model(): ...\n")
    workload = WorkloadSpec(model=f"{job}:model", source_sha256=hash_source(f"{job}:model"))

    def look(*named: str) -> bool:
        code: NamedAgain = tuple((name, hash_source(name)) for name in named)
        return refusal(Hello(machine=HEAD, code=code), HEAD, workload, "cpu", 1) is None

    assert not look()
    assert look(f"{job}:model")
    assert not look(f"{job}:another")
    job.write_text("def model(): return 2\n")
    assert not look(f"{job}:model")


def test_unlike_machines_are_warned_of_and_like_ones_are_not() -> None:
    others = [
        ("slow (node 1)", like_head(hostname="slow", cpu_model="Slow", cpus_usable=64.0, gpus=gpus("A100"))),
        ("twin (node 2)", like_head(hostname="twin")),
        ("head (node 3)", HEAD),
    ]
    slow, same = unlike_machines(HEAD, others, "cpu")
    assert "slow (node 1) is unlike the head (processor: Slow against Fast; usable CPUs: 64 against " in slow
    assert "head (node 3) is the same machine as the head" in same
    with_gpus = like_head(gpus=gpus("H200"))
    (told,) = unlike_machines(with_gpus, [("other", like_head(hostname="other", gpus=gpus("A100")))], "cuda:0")
    assert "GPU: A100 against H200" in told


@pytest.mark.parametrize(
    ("nodes", "listen", "devices", "why"),
    [
        (1, "h:1", (1,), "--listen is for several machines"),
        (2, None, (2,), "meet at an address"),
        (2, "h:1", (1, 3), "no count of devices spreads evenly over 2 machines"),
        (2, "h:1", (), "how many devices the other machines have is not known here"),
        (2, "h", (2,), "'h' is no address"),
        (0, None, (2,), "no machines"),
    ],
)
def test_what_several_machines_cannot_do_is_refused_before_they_meet(
    nodes: int, listen: str | None, devices: tuple[int, ...], why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        check_nodes(request(nodes=nodes, listen=listen, devices=devices))


def test_several_machines_are_not_found_through_ray() -> None:
    with pytest.raises(UsageError, match="a lane of a Ray cluster is one device"):
        check_nodes(request(bench=Bench(device="cpu", executor="ray")))


def test_the_command_for_the_others_names_the_users_code_and_not_the_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    typed = agent_command(Address("10.0.0.1", 29400), request(workload=WorkloadSpec(model="my job.py:model")))
    assert typed == "traindyno agent 10.0.0.1:29400 --model 'my job.py:model'"


def request(**changes: object) -> ScaleRequest:
    fields: dict[str, object] = {
        "workload": NAMED,
        "bench": Bench(device="cpu"),
        "settings": Settings(batch_size=1),
        "devices": (1, 2),
        "nodes": 2,
        "listen": f"127.0.0.1:{free_port()}",
        "batches_per_device": (8, 16),
        "repeats": 1,
    }
    return ScaleRequest(**fields | changes)  # type: ignore[arg-type]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


class Pretending(SimulatedRunner):
    """Computes trials and calls them real. `then` is called with each trial of several machines, before its end."""

    simulated = False

    def __init__(self, then: Callable[[TrialSpec, Watcher], TrialRecord | None] = lambda *_: None) -> None:
        super().__init__(parse_profile(""))
        self._then = then

    def run(self, spec: TrialSpec, watcher: Watcher, log_path: Path | None) -> TrialRecord:
        early = self._then(spec, watcher) if spec.meeting is not None else None
        return early or super().run(spec, watcher, log_path)


def until_stopped(spec: TrialSpec, watcher: Watcher) -> TrialRecord | None:
    """A trial that never ends by itself."""
    deadline = time.monotonic() + GENEROUS
    while not watcher.should_stop() and time.monotonic() < deadline:
        watcher.tick(time.monotonic(), None)
        time.sleep(0.01)
    return TrialRecord(spec=spec, outcome=Outcome.INTERRUPTED, seconds=0.1)


class Lent:
    """`traindyno agent` in a thread."""

    def __init__(self, head: str, code: NamedAgain = ()) -> None:
        self.told: list[str] = []
        self.error: TraindynoError | None = None
        self.stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(head, code), daemon=True)
        self._thread.start()

    def _serve(self, head: str, code: NamedAgain) -> None:
        try:
            serve_head(head, code, self.told.append, self.stop.is_set, GENEROUS)
        except TraindynoError as error:
            self.error = error

    def ended(self) -> bool:
        self._thread.join(GENEROUS)
        return not self._thread.is_alive()


@pytest.fixture(autouse=True)
def pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both sides compute their trials; the secret is set; nobody is waited for long."""
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    monkeypatch.setattr(nodes, "CAPTAIN_SECONDS", 0.5)
    for room in (traindyno.app.workshop, traindyno.app.agent):
        monkeypatch.setattr(room, "open_runner", lambda name, deadlines: Pretending())


def answer_of(document: Document) -> ScaleAnswer:
    assert isinstance(document.answer, ScaleAnswer)
    return document.answer


def test_a_study_of_two_machines_is_done_with_both_and_the_other_is_told_to_go(tmp_path: Path) -> None:
    asked, events = request(), list[Event]()
    assert asked.listen is not None
    lent = Lent(asked.listen)
    document = scale(asked, Context(store=str(tmp_path / "s.db"), emit=events.append))
    assert [(row.devices, row.nodes) for row in answer_of(document).rows] == [(1, 1), (1, 1), (2, 2), (2, 2)]
    assert document.state == "done"
    assert any("is the same machine as the head" in warning for warning in document.warnings)
    waiting = next(event.text for event in events if isinstance(event, Notice))
    assert f"1 of 2 machines is here; on each other type, with the same {TOKEN_VARIABLE}: " in waiting
    assert waiting.endswith(f"traindyno agent {asked.listen}")
    assert lent.ended()
    assert "the head says that it is over" in lent.told


def test_when_a_machine_is_lost_the_study_ends_with_what_one_does_alone_and_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = request(repeats=2)
    assert asked.listen is not None

    def leave(spec: TrialSpec, watcher: Watcher) -> TrialRecord | None:
        lent.stop.set()
        return until_stopped(spec, watcher)

    monkeypatch.setattr(traindyno.app.nodes, "RETURN_SECONDS", 1.0)
    monkeypatch.setattr(traindyno.app.workshop, "open_runner", lambda *_: Pretending(leave))
    monkeypatch.setattr(traindyno.app.agent, "open_runner", lambda *_: Pretending(until_stopped))
    lent = Lent(asked.listen)
    events = list[Event]()
    document = scale(asked, Context(store=str(tmp_path / "s.db"), name="lost", emit=events.append))
    rows = {(row.devices, row.batch_per_device): row for row in answer_of(document).rows}
    assert rows[1, 8].examples_per_second is not None
    assert rows[1, 16].examples_per_second is not None
    assert rows[2, 8].failure is not None
    assert document.state == "interrupted"
    assert document.machine_lost
    assert document.warnings[0].startswith("A machine was lost after")
    assert document.hint is not None
    assert document.hint.startswith("traindyno resume lost")
    alone = [event for event in events if isinstance(event, TrialStarted) and event.spec.group is not None]
    assert sum(event.spec.group.nodes == 1 for event in alone if event.spec.group) == 4

    for room in (traindyno.app.workshop, traindyno.app.agent):
        monkeypatch.setattr(room, "open_runner", lambda *_: Pretending())
    back = Lent(asked.listen)
    resumed = resume("lost", Context(store=str(tmp_path / "s.db")))
    assert (resumed.state, resumed.machine_lost) == ("done", False)
    assert all(row.examples_per_second is not None for row in answer_of(resumed).rows)
    assert back.ended()


def test_a_stopped_head_leaves_the_other_machine_waiting_for_the_next(tmp_path: Path) -> None:
    asked, stop = request(), threading.Event()
    assert asked.listen is not None
    lent = Lent(asked.listen)

    def stop_at_first_trial(event: Event) -> None:
        if isinstance(event, TrialStarted):
            stop.set()

    first = scale(asked, Context(store=str(tmp_path / "s.db"), emit=stop_at_first_trial, should_stop=stop.is_set))
    assert first.state == "interrupted"
    document = scale(asked, Context(store=str(tmp_path / "s.db")))
    assert document.state == "done"
    assert lent.ended()
    assert lent.error is None
    assert sum("taken this machine in" in text for text in lent.told) == 2


def test_machines_that_do_not_come_are_not_waited_for_for_ever(tmp_path: Path) -> None:
    asked = request()
    with (
        open_workshop(asked.bench, str(tmp_path / "s.db")) as workshop,
        pytest.raises(TraindynoError, match="1 machine did not come within") as error,
        gathered(workshop, asked, Context(), within_seconds=0.2),
    ):
        pytest.fail("nobody came")
    assert f"traindyno agent {asked.listen}" in (error.value.hint or "")


@pytest.mark.parametrize(
    ("listen", "why"),
    [
        ("0.0.0.0:29400", "every address of this machine"),
        ("192.0.2.1:29400", "nothing can listen at"),
        ("no-such-host.invalid:29400", "is not known here"),
    ],
)
def test_an_address_at_which_nobody_could_find_the_head_is_refused(tmp_path: Path, listen: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        scale(request(listen=listen), Context(store=str(tmp_path / "s.db")))


def test_an_agent_does_not_run_code_that_its_command_line_does_not_name(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text("def model(): ...\n")
    own = WorkloadSpec(model=f"{job}:model", source_sha256=hash_source(f"{job}:model"))
    asked = request(workload=own)
    assert asked.listen is not None
    unnamed, named = Lent(asked.listen), Lent(asked.listen, ((own.model, own.source_sha256),))
    assert scale(asked, Context(store=str(tmp_path / "s.db"))).state == "done"
    assert unnamed.ended()
    assert named.ended()
    assert named.error is None
    assert unnamed.error is not None
    assert f"--model {own.model}" in (unnamed.error.hint or "")


def test_a_wrong_token_is_an_error_on_the_agents_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, events = request(), list[Event]()
    assert asked.listen is not None
    with open_workshop(asked.bench, str(tmp_path / "s.db")) as workshop:
        monkeypatch.setattr(os, "environ", dict(os.environ))

        def knock(event: Event) -> None:
            events.append(event)
            if len(events) == 1:
                os.environ[TOKEN_VARIABLE] = "another secret of length"
                lent.append(Lent(asked.listen or ""))

        lent: list[Lent] = []
        with pytest.raises(TraindynoError, match="did not come"), gathered(workshop, asked, Context(emit=knock), 3.0):
            pytest.fail("nobody may come in")
    assert lent[0].ended()
    assert lent[0].error is not None
    assert f"has another {TOKEN_VARIABLE}" in lent[0].error.message
    assert any(f"has another {TOKEN_VARIABLE}" in event.text for event in events if isinstance(event, Notice))
