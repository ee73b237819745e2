"""Where the runs of a study are made that several processes share: on which machine, beside whom, or nowhere yet."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.round_files import sizes_round
from postgres import Cluster
from store.samples import REQUEST, spec_of
from traindyno.app import shared_waiting, workshop
from traindyno.app.context import Context
from traindyno.app.rounds import run
from traindyno.app.rounds.requests import request_of
from traindyno.app.rounds.run import run_round
from traindyno.app.shared_view import Looking
from traindyno.app.workshop import Workshop, open_workshop
from traindyno.core.events import Event, Notice, TrialStarted
from traindyno.core.requests import Bench, RoundRequest
from traindyno.core.round_file import parse_round
from traindyno.machine.gpu import NullReader
from traindyno.runner.choose import open_runner
from traindyno.runner.protocol import Deadlines, NowhereToRunError, Runner
from traindyno.runner.ray_cluster import Place
from traindyno.runner.ray_runner import RayRunner
from traindyno.runner.ray_words import LaneOrders
from traindyno.store.ledger import Ledger, owner_here

ROUND = sizes_round(trials=2)
OTHER_MACHINE = "gpu-box/4026531836/other-machine:7:1.00"


def asked(bench: Bench) -> RoundRequest:
    return request_of(parse_round(ROUND, "sizes.toml"), bench)


class Busy:
    """A cluster with one machine, which others always have."""

    knocks = 0

    def places(self, on_gpus: bool) -> list[Place]:
        return [Place(node_id="1", node="one", number=0, cpus=1, gpus=int(on_gpus))]

    def take(self, place: Place, orders: LaneOrders) -> str:
        self.knocks += 1
        return "in use by others"


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> Busy:
    """Rounds run over that cluster here, by a process that had a lane once."""
    cluster = Busy()
    orders = LaneOrders(runner="simulated", deadlines=Deadlines(), device="simulated", folder="/")

    @contextmanager
    def opened(bench: Bench, store: str, pinned: bool) -> Iterator[Workshop]:
        runner = RayRunner(cluster, orders, pinned=pinned)  # type: ignore[arg-type]
        with open_workshop(Bench(device="simulated", runner="simulated"), store) as local, Ledger.open(store) as ledger:
            yield Workshop(ledger, runner, NullReader("none"), local.machine, local.bench, local.asked)

    monkeypatch.setattr(run, "open_workshop", opened)
    monkeypatch.setattr(shared_waiting, "NOWHERE_SECONDS", 0.5)
    monkeypatch.setattr(shared_waiting, "NOWHERE_POLL_SECONDS", 0.1)
    return cluster


def test_whoever_has_no_machine_says_so_once_and_takes_no_trial_from_others(
    busy: Busy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    heard: list[Event] = []
    with pytest.raises(NowhereToRunError, match="one is in use by others") as nowhere:
        run_round(asked(Bench(device="simulated", runner="simulated")), Context(emit=heard.append))
    assert "`traindyno resume sizes`" in str(nowhere.value.hint)
    assert busy.knocks > 2
    assert [each for each in heard if isinstance(each, TrialStarted)] == []
    assert [each.text for each in heard if isinstance(each, Notice) and "waiting for what others" in each.text] == [
        "of 1 machine of the Ray cluster none is free for this study: one is in use by others; "
        "waiting for what others make of it"
    ]
    with Ledger.open("traindyno.db") as ledger:
        assert ledger.queue(ledger.study("sizes").id) == []


def as_if_measured(_: str, __: Deadlines) -> Runner:
    """A runner that is not known to be a simulation."""
    runner = open_runner("simulated", Deadlines())
    runner.simulated = False
    return runner


def test_on_a_server_every_run_says_on_which_machine_and_kind_it_was_made(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(workshop, "open_runner", as_if_measured)
    document = run_round(asked(Bench(device="cpu")), Context(store=cluster.new_store()))
    conditions = [trial["conditions"] for trial in document.trials]
    assert {each["machine"] for each in conditions} == {os.uname().nodename}
    (kind,) = {each["machine_kind"] for each in conditions}
    assert "torch" in kind


def test_runs_on_other_machines_are_not_beside_ours(tmp_path: Path) -> None:
    with Ledger.open(str(tmp_path / "traindyno.db")) as ledger:
        study = ledger.create_study("sizes", "throughput", REQUEST, None)
        for size, owner in ((1, OTHER_MACHINE), (2, owner_here())):
            assert ledger.lease(ledger.enqueue(study.id, spec_of(size), size), owner, 600) is not None
        view = Looking(ledger, study.id).look()
    assert (len(view.running), view.here) == (2, 1)
