"""A driver and its lanes, with a cluster that exists only here."""

from pathlib import Path

import msgspec
import pytest

from traindyno.core.errors import UsageError
from traindyno.core.events import TrialProgress
from traindyno.core.machine import GpuFacts, MachineFacts
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.scaling import Group
from traindyno.machine.versions import own_version
from traindyno.runner.protocol import Deadlines, NowhereToRunError, Watcher
from traindyno.runner.ray_cluster import LaneLostError, Place
from traindyno.runner.ray_runner import RayRunner
from traindyno.runner.ray_words import LaneFacts, LaneOrders, Word, kind_of

SPEC = TrialSpec(kind="fit", workload=WorkloadSpec(model="mlp:64"), settings=Settings(batch_size=8))
ORDERS = LaneOrders(runner="fork", deadlines=Deadlines(), device="cpu", folder="/")
FACTS = MachineFacts(
    hostname="one", system="Linux", python="3.11", traindyno=own_version(), torch="2.10", cpu_model="A", cpus_usable=4.0
)


class FakeLane:
    """Says what it was told to say, one word at a time; an error among them is raised."""

    def __init__(self, place: Place, facts: LaneFacts, words: list[Word | Exception | None]) -> None:
        self.place, self.facts, self._words = place, facts, words
        self.calls: list[str] = []

    def begin(self, spec: TrialSpec) -> None:
        self.calls.append("begin")

    def hear(self) -> Word | None:
        word = self._words.pop(0)
        if isinstance(word, Exception):
            raise word
        return word

    def stop(self) -> None:
        self.calls.append("stop")

    def close(self) -> None:
        self.calls.append("close")

    def kill(self) -> None:
        self.calls.append("kill")


class FakeCluster:
    """Machines by name, and what each has. One that has said all its `words` has no lane any more."""

    def __init__(self, **machines: MachineFacts) -> None:
        self.machines = machines
        self.words: dict[str, list[Word | Exception | None]] = {}
        self.refused: dict[str, str] = {}
        self.taken: list[FakeLane] = []

    def places(self, on_gpus: bool) -> list[Place]:
        return [Place(node_id=name, node=name, number=0, cpus=1, gpus=int(on_gpus)) for name in self.machines]

    def take(self, place: Place, orders: LaneOrders) -> FakeLane | str:
        facts = LaneFacts(machine=self.machines[place.node], refused_because=self.refused.get(place.node))
        words = self.words.get(place.node, [finished()])
        if not words:
            return "without a lane: no machine"
        self.taken.append(FakeLane(place, facts, words))
        return self.taken[-1]


class Heard(Watcher):
    def __init__(self, stop: bool = False) -> None:
        self.phases: list[str] = []
        self._stop = stop

    def progress(self, progress: TrialProgress) -> None:
        self.phases.append(progress.phase)

    def should_stop(self) -> bool:
        return self._stop


def finished(log: str = "") -> Word:
    return Word(record=TrialRecord(spec=SPEC, outcome=Outcome.OK, seconds=1.0), log=log)


def runner_of(cluster: FakeCluster, *, kind: str | None = None, pinned: bool = True) -> RayRunner:
    return RayRunner(cluster, ORDERS, kind=kind, pinned=pinned)  # type: ignore[arg-type]


def other(**changes: object) -> MachineFacts:
    return msgspec.structs.replace(FACTS, **changes)


def test_a_record_says_which_machine_it_is_from() -> None:
    record = runner_of(FakeCluster(one=FACTS)).run(SPEC, Watcher(), None)
    assert (record.outcome, record.conditions.machine) == (Outcome.OK, "one")
    assert record.conditions.machine_kind == "4 CPUs of A, torch 2.10"


def test_progress_is_passed_on_and_the_end_of_the_log_is_kept(tmp_path: Path) -> None:
    cluster, watcher = FakeCluster(one=FACTS), Heard()
    told = Word(progress=(TrialProgress(phase="warm-up", steps=1, seconds=0.1),))
    cluster.words["one"] = [None, told, finished(log="it printed this\n")]
    runner_of(cluster).run(SPEC, watcher, tmp_path / "logs" / "0001.log")
    assert watcher.phases == ["warm-up"]
    assert (tmp_path / "logs" / "0001.log").read_text() == "it printed this\n"


def test_a_wish_to_stop_reaches_the_lane_once() -> None:
    cluster = FakeCluster(one=FACTS)
    cluster.words["one"] = [None, None, finished()]
    runner_of(cluster).run(SPEC, Heard(stop=True), None)
    assert cluster.taken[0].calls == ["begin", "stop"]


def test_a_lost_machine_is_named_and_the_next_trial_runs_on_another_of_its_kind() -> None:
    cluster = FakeCluster(one=FACTS, two=other(cpu_model="B"), three=FACTS)
    cluster.words["one"] = [None, LaneLostError("the actor died")]
    runner = runner_of(cluster)
    lost, after = runner.run(SPEC, Watcher(), None), runner.run(SPEC, Watcher(), None)
    assert lost.outcome is Outcome.INFRASTRUCTURE
    assert lost.failure is not None
    assert "machine one" in lost.failure.message
    assert lost.failure.details == {"node": "one", "reason": "the actor died"}
    assert after.conditions.machine == "three"


def test_without_another_machine_of_the_kind_the_study_ends_with_the_reason() -> None:
    cluster = FakeCluster(one=FACTS, two=other(cpu_model="B"))
    cluster.words["one"] = [LaneLostError("gone")]
    runner = runner_of(cluster)
    runner.run(SPEC, Watcher(), None)
    with pytest.raises(
        NowhereToRunError,
        match=r"one is without a lane: no machine; two is of another kind \(4 CPUs of B, torch 2.10\)",
    ):
        runner.run(SPEC, Watcher(), None)
    assert cluster.taken[-1].calls == ["close"], "a lane of another kind is given back"


def test_a_round_takes_machines_of_any_kind() -> None:
    cluster = FakeCluster(one=FACTS, two=other(cpu_model="B"))
    cluster.words["one"] = [LaneLostError("gone")]
    runner = runner_of(cluster, pinned=False)
    runner.run(SPEC, Watcher(), None)
    assert runner.run(SPEC, Watcher(), None).conditions.machine == "two"


def test_a_resumed_study_looks_for_the_kind_it_was_begun_on() -> None:
    cluster = FakeCluster(one=FACTS, two=other(cpu_model="B"))
    runner = runner_of(cluster, kind=kind_of(cluster.machines["two"], "cpu"))
    assert runner.facts().machine.cpu_model == "B"


@pytest.mark.parametrize(
    ("machine", "reason"),
    [(other(traindyno="0.0.9"), "traindyno 0.0.9"), (FACTS, "cuda:0 is being measured by another traindyno")],
)
def test_a_lane_that_must_not_be_used_is_passed_over_with_a_reason(machine: MachineFacts, reason: str) -> None:
    cluster = FakeCluster(one=machine)
    if machine is FACTS:
        cluster.refused["one"] = reason
    with pytest.raises(NowhereToRunError, match=reason):
        runner_of(cluster).facts()


def test_an_empty_cluster_is_told_apart_from_a_busy_one() -> None:
    with pytest.raises(NowhereToRunError, match="has no machine for trials now"):
        runner_of(FakeCluster()).facts()


def test_a_trial_whose_study_was_taken_over_does_not_run_on_unseen() -> None:
    class TakenOver(Watcher):
        def tick(self, now: float, pid: int | None) -> None:
            raise UsageError("another process has it")

    cluster = FakeCluster(one=FACTS)
    cluster.words["one"] = [None, finished()]
    with pytest.raises(UsageError):
        runner_of(cluster).run(SPEC, TakenOver(), None)
    assert cluster.taken[0].calls == ["begin", "kill"]


def test_several_devices_do_not_fit_into_a_lane_of_one_gpu() -> None:
    orders = msgspec.structs.replace(ORDERS, device="cuda:0")
    runner = RayRunner(FakeCluster(one=FACTS), orders)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="a lane of a Ray cluster has one GPU"):
        runner.run(msgspec.structs.replace(SPEC, group=Group(devices=2)), Watcher(), None)


def test_gpus_of_two_models_are_of_two_kinds_and_two_cards_of_one_model_are_not() -> None:
    def machine(name: str, uuid: str) -> MachineFacts:
        return other(cuda="13.0", gpus=(GpuFacts(index=0, name=name, uuid=uuid, memory_bytes=80 << 30),))

    assert kind_of(machine("H200", "a"), "cuda:0") == kind_of(machine("H200", "b"), "cuda:0")
    assert kind_of(machine("H200", "a"), "cuda:0") != kind_of(machine("A100", "a"), "cuda:0")
