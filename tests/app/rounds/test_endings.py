"""What becomes of a round some of whose runs end badly, or whose processes died."""

import multiprocessing
from collections import Counter
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from app.round_files import sizes_round
from traindyno.app.attempt import TrialFailedError
from traindyno.app.context import Context
from traindyno.app.rounds.partners import check_processes
from traindyno.app.rounds.requests import request_of
from traindyno.app.rounds.run import driving, run_round
from traindyno.app.shared_study import TAKEN_OVER
from traindyno.app.stopping import stopping
from traindyno.core.answers import Document
from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.events import Event, Notice, TrialStarted
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure, Settings, TrialRecord, TrialSpec
from traindyno.core.requests import Bench, RoundRequest
from traindyno.core.round_file import parse_round
from traindyno.runner.protocol import Runner, Watcher
from traindyno.search.rounds.strategy import RoundStrategy
from traindyno.store.ledger import Ledger, owner_here

ROUND = sizes_round(trials=4, fixed="[fixed.momentum]\nvalue = 0.9\n")


def asked(runner: str = "simulated") -> RoundRequest:
    return request_of(parse_round(ROUND, "sizes.toml"), Bench(device="simulated", runner=runner))


def ran(folder: Path, runner: str = "simulated", heard: list[Event] | None = None) -> Document:
    events: list[Event] = [] if heard is None else heard
    return run_round(asked(runner), Context(store=str(folder / "traindyno.db"), emit=events.append))


def outcomes(document: Document) -> Counter[tuple[str, str]]:
    return Counter((trial["draw"]["arm"], trial["outcome"]) for trial in document.trials)


@pytest.mark.parametrize("ending", ["crash", "timeout", "hang", "out_of_device_memory", "nonfinite"])
def test_runs_that_end_badly_are_kept_with_their_class_and_the_round_goes_on(tmp_path: Path, ending: str) -> None:
    document = ran(tmp_path, f"simulated:fail=32:{ending}")
    assert document.state == "done"
    assert outcomes(document) == {("64", "ok"): 2 + 4, ("32", ending): 4}


def test_a_users_error_that_one_value_causes_is_a_result_like_others(tmp_path: Path) -> None:
    document = ran(tmp_path, "simulated:fail=32:user_error")
    assert outcomes(document) == {("64", "ok"): 2 + 4, ("32", "user_error"): 4}


def test_a_users_error_before_any_run_has_succeeded_ends_the_round_at_once(tmp_path: Path) -> None:
    with pytest.raises(TrialFailedError, match="simulated failure at batch size 64"):
        ran(tmp_path, "simulated:fail=64:user_error")
    with Ledger.open(str(tmp_path / "traindyno.db")) as ledger:
        study = ledger.study("sizes")
        assert (study.state, study.trials) == ("failed", 1)


def test_what_ended_the_round_is_run_again_when_somebody_goes_on_with_it(tmp_path: Path) -> None:
    with pytest.raises(TrialFailedError):
        ran(tmp_path, "simulated:fail=64:data_error")
    with pytest.raises(TrialFailedError):
        ran(tmp_path, "simulated:fail=64:data_error")
    document = ran(tmp_path)
    assert document.state == "done"
    assert outcomes(document) == {("64", "ok"): 2 + 4, ("32", "ok"): 4}


def test_a_run_that_is_killed_is_tried_three_times_and_once_more_when_somebody_goes_on(tmp_path: Path) -> None:
    assert outcomes(ran(tmp_path, "simulated:fail=32:killed"))[("32", "killed")] == 4
    with Ledger.open(str(tmp_path / "traindyno.db")) as ledger:
        queue = ledger.queue(ledger.study("sizes").id)
        assert {trial.losses for trial in queue if trial.outcome is Outcome.KILLED} == {3}
    assert outcomes(ran(tmp_path)) == {("64", "ok"): 2 + 4, ("32", "ok"): 4}


def _lease_and_die(store: str) -> None:
    """Begin the round's first run and be gone before it ends."""
    request = asked()
    template = TrialSpec(kind="fit", workload=request.workload, settings=Settings(batch_size=1))
    with Ledger.open(store) as ledger:
        study, _ = ledger.take_part("sizes", "round run", request, None, lambda _: request, owner_here(), 3600)
        proposal = RoundStrategy(request, template).ask([], [])
        assert proposal is not None
        assert ledger.enqueue_all_if(study.id, [proposal.spec], known_trials=0)
        assert ledger.lease_next(study.id, owner_here(), 3600) is not None


def test_the_run_of_a_process_that_died_is_taken_over_first(tmp_path: Path) -> None:
    child = multiprocessing.get_context("fork").Process(target=_lease_and_die, args=(str(tmp_path / "traindyno.db"),))
    child.start()
    child.join()
    assert child.exitcode == 0
    heard: list[Event] = []
    document = ran(tmp_path, heard=heard)
    first = next(event for event in heard if isinstance(event, TrialStarted))
    assert (first.reason, first.expected_trials) == (TAKEN_OVER, 10)
    assert outcomes(document) == {("64", "ok"): 2 + 4, ("32", "ok"): 4}


def test_who_waited_while_the_round_was_changed_starts_nothing_of_what_it_was(tmp_path: Path) -> None:
    store, heard = str(tmp_path / "traindyno.db"), list[Event]()
    longer = request_of(parse_round(ROUND.replace("trials = 4", "trials = 5"), "sizes.toml"), asked().bench)
    with driving(asked(), Context(store=store, emit=heard.append)) as (study, strategy):
        with Ledger.open(store) as ledger:
            ledger.take_part("sizes", "round run", longer, None, lambda _: longer, owner_here(), 3600)
        with pytest.raises(TraindynoError, match="asked something else since this process joined"):
            study.drive(strategy)
    assert not any(isinstance(event, TrialStarted) for event in heard)


class Thief:
    """A runner during whose first run another process takes the trial over, and is done first."""

    simulated = True

    def __init__(self, runner: Runner, store: str) -> None:
        self._runner, self._store, self._stole = runner, store, False

    def run(self, spec: TrialSpec, watcher: Watcher, log_path: Path | None) -> TrialRecord:
        record = self._runner.run(spec, watcher, log_path)
        if not self._stole:
            self._stole = True
            with Ledger.open(self._store) as ledger:
                (trial,) = ledger.queue(ledger.study("sizes").id)
                lease = ledger.lease(trial.id, "somebody else", 3600)
                assert lease is not None
                ledger.commit(lease, msgspec.structs.replace(record, seconds=0.125))
        return record

    def close(self) -> None:
        self._runner.close()


def test_a_result_that_comes_too_late_is_left_to_whoever_took_over_and_the_round_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("traindyno.app.shared_study.LEASE_SECONDS", -1.0)
    store, heard = str(tmp_path / "traindyno.db"), list[Event]()
    with driving(asked(), Context(store=store, emit=heard.append)) as (study, strategy):
        study.workshop = replace(study.workshop, runner=Thief(study.workshop.runner, store))
        study.drive(strategy)
        records = study.records
    assert len(records) == 2 + 2 * 4
    assert records[0].seconds == 0.125
    assert [event.text for event in heard if isinstance(event, Notice) and "came too late" in event.text]


def ended(outcome: Outcome, message: str, seed: int) -> TrialRecord:
    """A run of the search that ended so."""
    spec = TrialSpec(kind="learn", workload=asked().workload, settings=Settings(batch_size=64), seed=seed)
    failure = None if outcome is Outcome.OK else Failure(outcome=outcome, message=message, remedy="mend it")
    return TrialRecord(spec=spec, outcome=outcome, seconds=1.0, failure=failure)


BUG, OTHER, FINE = (Outcome.USER_ERROR, "no such width"), (Outcome.USER_ERROR, "no such depth"), (Outcome.OK, "")


@pytest.mark.parametrize(
    ("endings", "stops"),
    [
        ([FINE, BUG], False),
        ([BUG], True),
        ([FINE, BUG, BUG], False),
        ([FINE, BUG, BUG, BUG], True),
        ([FINE, BUG, OTHER, BUG], False),
        ([FINE, BUG, BUG, BUG, FINE], False),
        ([FINE, FINE, FINE], False),
    ],
)
def test_an_error_is_the_users_own_when_nothing_succeeds_or_three_runs_in_a_row_end_by_it(
    endings: list[tuple[Outcome, str]], stops: bool
) -> None:
    records = [ended(outcome, message, seed) for seed, (outcome, message) in enumerate(endings)]
    assert (stopping(records, set()) is not None) is stops
    assert stopping(records, {record.spec.key for record in records}) is None


def test_a_gpu_is_for_one_process_at_a_time() -> None:
    with pytest.raises(UsageError, match="on a GPU one process runs at a time") as refused:
        check_processes(2, Bench(device="cuda:0"))
    assert refused.value.hint is not None
    assert "--device cuda:1" in refused.value.hint
    check_processes(1, Bench(device="cuda:0"))
    check_processes(4, Bench(device="cpu"))
