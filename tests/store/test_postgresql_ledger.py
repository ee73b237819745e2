"""The contracts on a real PostgreSQL server, and what is told when such a server is not as it should be."""

import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from postgres import PASSWORD, Cluster, running_cluster
from store.ledger_contract import LedgerContract
from store.open_ledger import OnServer
from store.processes_contract import ProcessesContract
from store.pulling_contract import PullingContract
from store.samples import REQUEST, failed, measured, spec_of
from store.sharing_contract import SharingContract
from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.outcomes import Outcome
from traindyno.store import server
from traindyno.store.ledger import Ledger, StoreAwayError, StudyRow, owner_here

STRESS_ROUNDS = 15


class TestPostgresqlLedger(OnServer, LedgerContract):
    pass


class TestPostgresqlSharing(OnServer, SharingContract):
    pass


class TestPostgresqlPulling(OnServer, PullingContract):
    pass


class TestPostgresqlProcesses(OnServer, ProcessesContract):
    pass


@pytest.fixture
def store(cluster: Cluster) -> str:
    return cluster.new_store()


@pytest.fixture
def own_cluster(cluster: Cluster) -> Iterator[Cluster]:
    """A server that a test may stop; it exists only where the common one does."""
    with running_cluster() as own:
        yield own


def refusal(store: str) -> TraindynoError:
    with pytest.raises(TraindynoError) as refused:
        Ledger.open(store)
    assert PASSWORD not in f"{refused.value.message} {refused.value.hint}"
    return refused.value


def place_of(store: str) -> str:
    """The schema that `Cluster.new_store` has made."""
    return store.rpartition("%3D")[2]


def test_time_is_that_of_the_server_and_not_of_this_machine(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 0.0)
    with Ledger.open(store) as ledger:
        assert ledger.create_study("here", "plan", REQUEST, None).created > "2024"


def test_a_lease_of_another_machine_expires_by_the_servers_clock(cluster: Cluster, store: str) -> None:
    with Ledger.open(store) as ledger:
        study = ledger.create_study("here", "plan", REQUEST, None)
        trial = ledger.enqueue(study.id, spec_of(1), 0)
        assert ledger.lease(trial, "far-away", 600) is not None
        assert ledger.lease(trial, "here", 60) is None
        cluster.execute(f"UPDATE {place_of(store)}.trials SET expires = extract(epoch FROM now()) - 1")
        assert ledger.lease(trial, "here", 60) is not None


def test_commits_are_durable_though_the_servers_settings_are_not(cluster: Cluster) -> None:
    store = cluster.url(options="-csynchronous_commit=off")
    database = server.open_server(store)
    try:
        with database.writer.begin() as connection:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
    finally:
        database.close()


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_other_names_of_the_same_scheme_are_understood(store: str, scheme: str) -> None:
    with Ledger.open(store) as ledger:
        ledger.create_study("here", "plan", REQUEST, None)
    with Ledger.open(store.replace("postgresql+psycopg", scheme)) as ledger:
        assert ledger.study("here").name == "here"


def test_a_wrong_password_is_told_without_showing_it(cluster: Cluster) -> None:
    error = refusal(cluster.url(password="not-it"))
    assert "does not accept the password" in error.message
    assert "not-it" not in f"{error.message} {error.hint}"
    assert "PGPASSWORD" in str(error.hint)


def test_a_database_that_is_not_there_is_told_with_the_command_that_makes_it(cluster: Cluster) -> None:
    error = refusal(cluster.url(database="nowhere"))
    assert 'database "nowhere" does not exist' in error.message
    assert "createdb" in str(error.hint)


def test_a_server_that_does_not_answer_is_told_at_once() -> None:
    error = refusal(f"postgresql+psycopg://ada:{PASSWORD}@127.0.0.1:9/runs")
    assert isinstance(error, StoreAwayError)
    assert "cannot be reached" in error.message
    assert "ada:***@127.0.0.1:9/runs" in error.message


def test_a_host_that_is_not_there_is_told() -> None:
    assert "host" in refusal(f"postgresql+psycopg://ada:{PASSWORD}@no-such-host.invalid/runs").message


@pytest.mark.parametrize("rest", [f"ada:{PASSWORD}@db:port/runs", f"ada:{PASSWORD}@db", f"ada:{PASSWORD}@db/"])
def test_what_is_no_url_of_a_database_is_refused_with_the_right_form(rest: str) -> None:
    error = refusal(f"postgresql+psycopg://{rest}")
    assert isinstance(error, UsageError)
    assert "postgresql+psycopg://USER@HOST/DATABASE" in str(error.hint)


def test_a_missing_driver_is_told_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    error = refusal(f"postgresql+psycopg://ada:{PASSWORD}@db/runs")
    assert error.hint == 'pip install "traindyno[postgres]"'


def test_a_database_of_another_program_is_refused(cluster: Cluster, store: str) -> None:
    place = place_of(store)
    cluster.execute(f"CREATE TABLE {place}.customers (id integer)")
    error = refusal(store)
    assert "other program" in error.message
    assert cluster.execute(f"SELECT count(*) FROM pg_tables WHERE schemaname = '{place}'") == [(1,)]


def test_a_user_who_may_not_create_tables_is_told_what_to_grant(cluster: Cluster, store: str) -> None:
    cluster.execute(f"CREATE ROLE guest LOGIN PASSWORD '{PASSWORD}'")
    try:
        error = refusal(store.replace("ada", "guest"))
        assert "GRANT" in str(error.hint)
    finally:
        cluster.execute("DROP ROLE guest")


def test_a_study_that_somebody_keeps_locked_is_told(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "SETTINGS", "SELECT set_config('lock_timeout', '100ms', false)")
    monkeypatch.setattr(server, "PATIENCE_SECONDS", 0.5)
    with Ledger.open(store) as ledger:
        ledger.create_study("here", "plan", REQUEST, None)
        holder = server.open_server(store)
        with holder.writer.begin() as connection:
            connection.exec_driver_sql("SELECT id FROM studies FOR UPDATE")
            with pytest.raises(TraindynoError, match="locked by another process"):
                ledger.claim_study("here", owner_here(), 60)
        holder.close()
        assert ledger.claim_study("here", owner_here(), 60).owner == owner_here()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
def test_a_server_that_is_restarted_loses_nothing(
    own_cluster: Cluster, how: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "PATIENCE_SECONDS", 30.0)
    store = own_cluster.new_store()
    with Ledger.open(store) as ledger:
        study = ledger.create_study("here", "plan", REQUEST, None)
        lease = ledger.lease(ledger.enqueue(study.id, spec_of(1), 0), owner_here(), 600)
        assert lease is not None
        own_cluster.stop(how)
        with pytest.raises(StoreAwayError, match="cannot be reached"):
            ledger.renew(lease, 600)
        # The server dies with the thread that starts it: the other waits for it.
        commit = threading.Thread(target=ledger.commit, args=(lease, measured(spec_of(1))))
        commit.start()
        own_cluster.start()
        commit.join(60)
        assert ledger.trials(study.id) == [measured(spec_of(1))]


def test_a_server_that_stays_away_is_waited_for_once(own_cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "PATIENCE_SECONDS", 0.5)
    pauses: list[float] = []
    with Ledger.open(own_cluster.new_store()) as ledger:
        ledger.create_study("here", "plan", REQUEST, None)
        own_cluster.stop()
        pause = time.sleep
        monkeypatch.setattr(time, "sleep", lambda seconds: (pauses.append(seconds), pause(seconds)))
        for waits in (True, False):
            pauses.clear()
            with pytest.raises(StoreAwayError):
                ledger.study("here")
            assert bool(pauses) is waits


def test_who_did_not_hear_of_its_lease_has_it_nevertheless(store: str) -> None:
    """The connection breaks after the server has committed and before it could say so."""
    with Ledger.open(store) as ledger:
        study = ledger.create_study("here", "plan", REQUEST, None)
        trial = ledger.enqueue(study.id, spec_of(1), 0)
        _break_after_next_commit(ledger)
        lease = ledger.lease(trial, owner_here(), 600)
        assert lease is not None
        _break_after_next_commit(ledger)
        ledger.commit(lease, measured(spec_of(1)))
        assert len(ledger.attempts(trial)) == 1


@pytest.mark.parametrize("name", ["here", None])
def test_who_did_not_hear_that_its_study_was_written_has_it_once(store: str, name: str | None) -> None:
    with Ledger.open(store) as ledger:
        _break_after_next_commit(ledger)
        study = ledger.create_study(name, "plan", REQUEST, None, owner_here(), 600)
        assert [row.name for row in ledger.studies()] == [study.name]
        assert ledger.claim_study(study.name, owner_here(), 600).owner == owner_here()
        other = ledger.create_study(None, "plan", REQUEST, None, owner_here(), 600)
        assert other.id != study.id


def test_a_study_that_another_wrote_meanwhile_is_not_taken_for_ones_own(store: str) -> None:
    with Ledger.open(store) as ledger, Ledger.open(store) as far:
        far.create_study("here", "plan", REQUEST, None, "far-away", 600)
        _break_after_next_commit(ledger, commits=False)
        mine = ledger.create_study("mine", "plan", REQUEST, None, owner_here(), 600)
        assert mine.owner == owner_here()
        with pytest.raises(UsageError, match="already a study named 'here'"):
            ledger.create_study("here", "plan", REQUEST, None, owner_here(), 600)


def test_a_database_without_an_encoding_keeps_every_letter(cluster: Cluster) -> None:
    cluster.execute("CREATE DATABASE plain ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    with Ledger.open(cluster.url("plain")) as ledger:
        study = ledger.create_study("here", "plan", REQUEST, None)
        ledger.finish("here", "done", {"told": "größer × 2 – 模型"})
        assert ledger.study(study.name).answer == {"told": "größer × 2 – 模型"}


def test_eight_threads_that_do_everything_at_once_never_wait_in_a_circle(cluster: Cluster, store: str) -> None:
    """Two studies, a few trials, and all that is written about either, in any order; the server counts deadlocks."""
    with Ledger.open(store) as ledger:
        rows = [ledger.create_study(name, "plan", REQUEST, None) for name in ("first", "second")]
        before = deadlocks(cluster)
        with ThreadPoolExecutor(8) as threads:
            done = sum(threads.map(lambda seed: everything(ledger, rows, seed), range(8)))
        assert sum(len(ledger.attempts(each.id)) for row in rows for each in ledger.queue(row.id)) == done
    assert done > 0
    assert deadlocks(cluster) == before


def everything(ledger: Ledger, rows: Sequence[StudyRow], seed: int) -> int:
    """All writers of one process, in an order of its own; how many results it kept."""
    chance, owner, kept = random.Random(seed), f"owner-{seed}", 0
    for _ in range(STRESS_ROUNDS):
        row, spec = chance.choice(rows), spec_of(chance.randrange(1, 5))
        trial = ledger.enqueue(row.id, spec, 0)
        lease = ledger.lease(trial, owner, 600)
        one_writer(ledger, row, owner, chance)()
        if lease is not None and ledger.renew(lease, 600):
            ledger.commit(lease, failed(spec, Outcome.INTERRUPTED))
            kept += 1
    return kept


def one_writer(ledger: Ledger, row: StudyRow, owner: str, chance: random.Random) -> Callable[[], object]:
    fresh = spec_of(chance.randrange(10, 10_000))
    writers: tuple[Callable[[], object], ...] = (
        lambda: ledger.join_study(row.name, owner, 600),
        lambda: ledger.release_study(row.name, owner),
        lambda: ledger.renew_study(row.name, owner, 600),
        lambda: ledger.finish(row.name, "running", None),
        lambda: ledger.take_part(row.name, "plan", REQUEST, None, lambda study: study.request, owner, 600),
        lambda: ledger.enqueue_all_if(row.id, [fresh], len(ledger.queue(row.id))),
        lambda: ledger.take_turn(row.id, owner, 600),
        lambda: ledger.end_turn(row.id, owner, 1.0),
    )
    return chance.choice(writers)


def deadlocks(cluster: Cluster) -> object:
    return cluster.execute(
        "SELECT pg_stat_force_next_flush(), deadlocks FROM pg_stat_database WHERE datname = 'postgres'"
    )[0][1]


def _break_after_next_commit(ledger: Ledger, commits: bool = True) -> None:
    """The next transaction's end is never heard of; whether it was committed is another matter."""
    from sqlalchemy import Connection, event
    from sqlalchemy.exc import OperationalError

    engine = ledger._database.writer

    def fail(connection: Connection) -> None:
        event.remove(engine, "commit", fail)
        if commits:
            connection.connection.commit()
        raise OperationalError("COMMIT", {}, Exception("server closed the connection"), connection_invalidated=True)

    event.listen(engine, "commit", fail)
