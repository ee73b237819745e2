"""Taking part in studies that others have begun."""

import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.round_files import KNOWN, sizes_round
from postgres import Cluster, running_cluster
from store.samples import REQUEST
from traindyno.app import join as joining
from traindyno.app.context import Context
from traindyno.app.join import JoinAnswer, bench_here, join
from traindyno.app.rounds.requests import request_of
from traindyno.app.rounds.run import run_round
from traindyno.core.errors import NothingMeasuredError, TraindynoError, UsageError
from traindyno.core.events import Event, Notice, TrialFinished
from traindyno.core.requests import Bench, RoundRequest
from traindyno.core.round_file import parse_round
from traindyno.store import server
from traindyno.store.ledger import Ledger, StoreAwayError

PLANNED = 2 + 2 * 3


def asked(name: str, job: str = KNOWN) -> RoundRequest:
    text = sizes_round(trials=3, name=name, job=job)
    return request_of(parse_round(text, f"{name}.toml"), Bench(device="simulated", runner="simulated"))


def begin(store: str, request: RoundRequest, owner: str = "far-away") -> None:
    """As a process on another machine that has begun a round and not run anything yet."""
    with Ledger.open(store) as ledger:
        ledger.take_part(request.round.name, "round run", request, None, lambda _: request, owner, 600)


def joined(store: str, *names: str, heard: list[Event] | None = None, wait_seconds: float = 0.0) -> JoinAnswer:
    emit = (lambda _: None) if heard is None else heard.append
    return join(names, Context(store=store, emit=emit), wait_seconds=wait_seconds)


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    if request.param == "sqlite":
        return "traindyno.db"
    cluster: Cluster = request.getfixturevalue("cluster")
    return cluster.new_store()


def test_all_running_studies_are_joined_one_after_the_other_until_they_are_finished(store: str) -> None:
    begin(store, asked("sizes"))
    begin(store, asked("again"))
    heard: list[Event] = []
    answer = joined(store, heard=heard)
    assert [(part.study, part.state, part.ran) for part in answer.studies] == [
        ("sizes", "done", PLANNED),
        ("again", "done", PLANNED),
    ]
    assert sum(isinstance(event, TrialFinished) for event in heard) == answer.ran == 2 * PLANNED
    with Ledger.open(store) as ledger:
        assert [row.state for row in ledger.studies()] == ["done", "done"]
        assert all(row.answer["round"] == row.name for row in ledger.studies())


def test_only_named_studies_are_joined_and_one_that_was_cut_off_goes_on(store: str) -> None:
    for name in ("sizes", "again"):
        begin(store, asked(name))
    with Ledger.open(store) as ledger:
        ledger.release_study("sizes", "far-away")
        assert ledger.study("sizes").state == "interrupted"
    assert [part.study for part in joined(store, "sizes").studies] == ["sizes"]
    with Ledger.open(store) as ledger:
        assert {row.name: row.state for row in ledger.studies()} == {"sizes": "done", "again": "running"}


def test_a_study_that_one_process_runs_is_named_and_left_alone(store: str) -> None:
    with Ledger.open(store) as ledger:
        ledger.create_study("curve", "throughput", REQUEST, None)
        ledger.claim_study("curve", "far-away", 600)
    begin(store, asked("sizes"))
    heard: list[Event] = []
    answer = joined(store, heard=heard)
    assert [left.study for left in answer.left_alone] == ["curve"]
    told = [event.text for event in heard if isinstance(event, Notice)]
    assert any("'curve' is left alone: it is one of `throughput`" in text for text in told)
    with Ledger.open(store) as ledger:
        assert ledger.study("curve").owner == "far-away"


def test_who_leaves_early_says_that_the_study_goes_on_with_the_others(store: str) -> None:
    begin(store, asked("sizes"))
    heard: list[Event] = []

    def has_enough() -> bool:
        return sum(isinstance(event, TrialFinished) for event in heard) >= 3

    answer = join((), Context(store=store, emit=heard.append, should_stop=has_enough))
    assert [(part.state, part.ran) for part in answer.studies] == [("running", 3)]


def test_with_nothing_to_join_it_is_said_how_one_begins(store: str) -> None:
    with pytest.raises(NothingMeasuredError, match="no study") as nothing:
        joined(store)
    assert "traindyno round run FILE" in str(nothing.value.hint)
    assert "--wait 10m" in str(nothing.value.hint)
    assert "hunter2" not in f"{nothing.value.message} {nothing.value.hint}"


def test_a_study_that_is_not_there_is_refused_with_the_nearest_names(store: str) -> None:
    begin(store, asked("sizes"))
    with pytest.raises(TraindynoError, match="no study named 'size'") as unknown:
        joined(store, "size")
    assert "sizes" in str(unknown.value.hint)


def test_a_finished_study_is_not_joined(store: str) -> None:
    begin(store, asked("sizes"))
    joined(store)
    with pytest.raises(NothingMeasuredError, match="it is finished"):
        joined(store, "sizes")


def test_a_study_that_begins_while_one_waits_is_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first look finds nothing; whoever asks whether to stop begins the study in the meantime."""
    monkeypatch.setattr(joining, "POLL_SECONDS", 0.2)
    store = str(tmp_path / "traindyno.db")
    begun: list[bool] = []

    def begin_meanwhile() -> bool:
        if len(begun) == 1:
            begin(store, asked("sizes"))
        begun.append(True)
        return False

    answer = join((), Context(store=store, should_stop=begin_meanwhile), wait_seconds=1)
    assert [(part.study, part.ran) for part in answer.studies] == [("sizes", PLANNED)]


def own_job(folder: Path) -> str:
    code = folder / "job.py"
    code.write_text("def build():\n    raise AssertionError\n")
    return f'model = "{code}:build"\ndata = "digits:"\nepochs = 10\nschedule = "constant"'


def test_code_of_the_users_own_runs_only_if_it_is_named_here(tmp_path: Path) -> None:
    store, own = str(tmp_path / "traindyno.db"), own_job(tmp_path)
    begin(store, asked("own", own))
    with pytest.raises(UsageError, match="must be named again") as refused:
        joined(store, "own")
    assert "--model" in str(refused.value.hint)
    with pytest.raises(NothingMeasuredError, match="must be named again"):
        joined(store)
    with Ledger.open(store) as ledger:
        assert ledger.queue(ledger.study("own").id) == []


def test_trials_run_on_the_studys_kind_of_device_and_what_was_found_there_is_found_anew() -> None:
    assert bench_here(Bench(device="cuda:3", settled=("device",)), None).device == "cuda"
    assert bench_here(Bench(device="cuda:3"), "cuda:1").device == "cuda:1"
    found = Bench(device="cpu", memory_limit_bytes=5, settled=("device", "memory_limit_bytes"))
    assert bench_here(found, None) == Bench(device="cpu")
    assert bench_here(Bench(device="cpu", time_budget_seconds=60), None) == Bench(device="cpu")


def test_a_study_over_a_cluster_is_lent_this_machine() -> None:
    over_cluster = Bench(device="cpu", executor="ray", address="head:6379", lane_kind="64 CPUs")
    assert bench_here(over_cluster, None) == Bench(device="cpu")


def test_a_file_in_use_by_another_machine_is_not_joined(tmp_path: Path) -> None:
    store = str(tmp_path / "traindyno.db")
    begin(store, asked("sizes"), owner="gpu-box/4026531836/other-machine:7:1.00")
    with pytest.raises(TraindynoError, match="in use by gpu-box") as refused:
        joined(store, "sizes")
    assert "--store postgresql+psycopg://" in str(refused.value.hint)


def test_on_a_server_a_study_of_another_machine_is_joined(cluster: Cluster, tmp_path: Path) -> None:
    store = cluster.new_store()
    begin(store, asked("sizes"), owner="gpu-box/4026531836/other-machine:7:1.00")
    assert joined(store, "sizes").ran == PLANNED


def test_logs_of_a_store_on_a_server_go_to_the_current_folder(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from traindyno.app.workshop import open_workshop

    monkeypatch.chdir(tmp_path)
    with open_workshop(Bench(device="simulated", runner="simulated"), cluster.new_store()) as workshop:
        assert workshop.log_folder.absolute() == tmp_path / ".traindyno" / "logs"


def test_commands_to_type_have_no_password() -> None:
    context = Context(store="postgresql+psycopg://ada:hunter2@db/runs?sslmode=require&password=hunter2")
    assert context.store_option == " --store 'postgresql+psycopg://ada@db/runs?sslmode=require'"
    assert "hunter2" not in replace(context, store="postgresql://ada:hunter2@db/runs").store_option


@pytest.fixture
def own_cluster(cluster: Cluster) -> Iterator[Cluster]:
    """A server that a test may stop; it exists only where the common one does."""
    with running_cluster() as own:
        yield own


def test_a_server_that_is_restarted_in_mid_study_costs_no_trial(
    own_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store, heard = own_cluster.new_store(), 0

    def restart_once(event: Event) -> None:
        nonlocal heard
        heard += isinstance(event, TrialFinished)
        if isinstance(event, TrialFinished) and heard == 2:
            own_cluster.stop(signal.SIGQUIT)
            own_cluster.start()

    document = run_round(asked("sizes"), Context(store=store, emit=restart_once))
    assert (document.state, len(document.trials), heard) == ("done", PLANNED, PLANNED)


def test_a_server_that_stays_away_ends_the_study_with_the_command_to_go_on(
    own_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(server, "PATIENCE_SECONDS", 0.5)
    store = own_cluster.new_store()

    def stop(event: Event) -> None:
        if isinstance(event, TrialFinished):
            own_cluster.stop()

    with pytest.raises(StoreAwayError, match="cannot be reached") as ended:
        run_round(asked("sizes"), Context(store=store, emit=stop))
    assert "`traindyno resume sizes --store 'postgresql+psycopg://ada@/postgres?" in str(ended.value.hint)
    assert "hunter2" not in f"{ended.value.message} {ended.value.hint}"
    own_cluster.start()
    assert joined(store, "sizes").ran == PLANNED - 1
