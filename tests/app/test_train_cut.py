"""A training that is cut short, again and again: what is kept, what is said, and what to type next."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from traindyno.app.attempt import TrialFailedError
from traindyno.app.context import Context
from traindyno.app.library import study_document
from traindyno.app.resume import resume
from traindyno.app.sources import hash_source
from traindyno.app.study import open_study
from traindyno.app.train import train
from traindyno.app.workshop import open_workshop
from traindyno.core.errors import BudgetSpentError
from traindyno.core.events import Notice
from traindyno.core.learning import LEARNING, Recipe
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure, Measurement, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.requests import Bench, TrainRequest
from traindyno.runner.profile import Profile
from traindyno.runner.protocol import Watcher
from traindyno.runner.simulated import SimulatedRunner
from traindyno.search.once import Once

DIGITS = WorkloadSpec(model="mlp:64", data="digits:")
BUDGET = 0.05


def told(spec: TrialSpec, steps: int, *notes: str) -> Measurement:
    """What a run tells that came as far as this."""
    whole = SimulatedRunner(Profile()).run(spec, Watcher(), None).measurement
    assert whole is not None
    assert whole.learning is not None
    learning = msgspec.structs.replace(whole.learning, steps=steps, seconds=float(steps), checkpoint="/kept/last.pt")
    return msgspec.structs.replace(whole, learning=learning, notes=notes)


def cut(phase: str = LEARNING, steps: int | None = None, *notes: str) -> Callable[[TrialSpec], TrialRecord]:
    def record(spec: TrialSpec) -> TrialRecord:
        failure = Failure(outcome=Outcome.INTERRUPTED, message="ended", remedy="go on", phase=phase)
        measured = None if steps is None else told(spec, steps, *notes)
        return TrialRecord(spec=spec, outcome=Outcome.INTERRUPTED, seconds=1.0, failure=failure, measurement=measured)

    return record


def damaged(spec: TrialSpec) -> TrialRecord:
    failure = Failure(
        outcome=Outcome.USER_ERROR,
        message="no checkpoint is whole",
        remedy="remove last.pt",
        error_type="DamagedCheckpointsError",
        traceback="many lines",
    )
    return TrialRecord(spec=spec, outcome=Outcome.USER_ERROR, seconds=1.0, failure=failure)


class Cut:
    """Ends each run in one of these ways when it is asked to stop, and lets the rest come to their end."""

    simulated = False

    def __init__(self, endings: Sequence[Callable[[TrialSpec], TrialRecord]]) -> None:
        self._endings = list(endings)
        self.specs: list[TrialSpec] = []

    def run(self, spec: TrialSpec, watcher: Watcher, log_path: Path | None) -> TrialRecord:
        self.specs.append(spec)
        if not self._endings:
            return SimulatedRunner(Profile()).run(spec, Watcher(), log_path)
        record = self._endings.pop(0)(spec)
        while record.outcome is Outcome.INTERRUPTED and not watcher.should_stop():
            time.sleep(0.01)
        return record

    def close(self) -> None:
        """Nothing was started."""


@pytest.fixture
def ending(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Cut]:
    def use(*endings: Callable[[TrialSpec], TrialRecord]) -> Cut:
        runner = Cut(endings)
        monkeypatch.setattr("traindyno.app.workshop.open_runner", lambda name, deadlines: runner)
        return runner

    return use


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context(store=str(tmp_path / "studies.db"))


def request(workload: WorkloadSpec = DIGITS, budget: float | None = BUDGET) -> TrainRequest:
    return TrainRequest(
        workload=workload,
        bench=Bench(time_budget_seconds=budget),
        settings=Settings(batch_size=32),
        recipe=Recipe(learning_rate=0.05, epochs=2.0),
    )


def go_on(context: Context, budget: float | None = BUDGET, **others: Any) -> Any:
    return resume("it", context, time_budget_seconds=budget, **others)


@pytest.mark.parametrize(
    ("phase", "words"),
    [("data", "all of it went into start-up, before the first step"), ("first step", "the first step, which was not")],
)
def test_a_budget_that_start_up_eats_is_told_with_a_longer_one(
    phase: str, words: str, context: Context, ending: Callable[..., Cut]
) -> None:
    ending(cut(phase))
    with pytest.raises(BudgetSpentError, match=words) as spent:
        train(request(), replace(context, name="it"))
    assert "--time-budget 1m" in (spent.value.hint or "")


def test_a_budget_in_which_no_step_was_made_is_not_proposed_again(context: Context, ending: Callable[..., Cut]) -> None:
    ending(cut(LEARNING, 64), cut("data"), cut(LEARNING, 80))
    train(request(), replace(context, name="it"))
    assert "--time-budget 1m" in (go_on(context).hint or "")
    assert "--time-budget 0.05s" in (go_on(context).hint or "")


def test_what_a_shorter_run_has_to_say_is_told_with_the_longer_one_that_is_kept(
    context: Context, ending: Callable[..., Cut]
) -> None:
    ending(cut(LEARNING, 64), cut(LEARNING, 31, "last.pt is damaged and was passed over"))
    first = train(request(), replace(context, name="it"))
    assert first.answer.checkpoint == "/kept/last.pt"
    said: list[Any] = []
    again = go_on(replace(context, emit=said.append))
    assert again.answer.steps == 64
    assert again.answer.checkpoint is None
    assert any("last.pt is damaged" in warning for warning in again.warnings)
    assert any("last.pt is damaged" in each.text for each in said if isinstance(each, Notice))


def test_damaged_checkpoints_of_a_training_are_for_the_user_to_judge(
    context: Context, ending: Callable[..., Cut]
) -> None:
    ending(cut(LEARNING, 64), damaged)
    train(request(), replace(context, name="it"))
    with pytest.raises(TrialFailedError, match="no checkpoint is whole") as failed:
        go_on(context)
    assert failed.value.hint == "remove last.pt"
    assert failed.value.traceback is None
    before = study_document("it", context.store)
    assert (before.answer.steps, before.state, len(before.trials)) == (64, "interrupted", 1)
    assert go_on(context, budget=600.0).state == "done"


def test_damaged_checkpoints_that_only_the_study_kept_are_given_up_with_a_word(
    context: Context, ending: Callable[..., Cut]
) -> None:
    runner, said = ending(damaged), []
    spec = TrialSpec(kind="learn", workload=DIGITS, settings=Settings(batch_size=8), recipe=Recipe(learning_rate=0.1))
    with (
        open_workshop(Bench(), context.store) as workshop,
        open_study(workshop, replace(context, emit=said.append), request(), "learning") as study,
    ):
        assert [record.ok for record in study.drive(Once(spec, "learning"))] == [True]
    assert len(runner.specs) == 2
    assert any("begins anew" in each.text for each in said if isinstance(each, Notice))


class Killed(BaseException):
    """What a test raises where a user would kill the process."""


def test_a_study_that_is_killed_while_it_goes_on_does_not_tell_how_it_ended_before(
    context: Context, ending: Callable[..., Cut]
) -> None:
    def killed(spec: TrialSpec) -> TrialRecord:
        raise Killed

    ending(cut(LEARNING, 64), killed)
    assert any("time budget ended" in warning for warning in train(request(), replace(context, name="it")).warnings)
    with pytest.raises(Killed):
        go_on(context, budget=600.0)
    document = study_document("it", context.store)
    assert document.answer.steps == 64
    assert not any("time budget ended" in warning for warning in document.warnings)


def test_a_training_whose_code_has_moved_goes_on_from_its_own_state(
    context: Context, ending: Callable[..., Cut], tmp_path: Path
) -> None:
    (old := tmp_path / "old.py").write_text("def job(): ...\n")
    workload = WorkloadSpec(model=f"{old}:job", source_sha256=hash_source(f"{old}:job"))
    runner = ending(cut(LEARNING, 64))
    train(request(workload), replace(context, name="it"))
    new = old.rename(tmp_path / "new.py")
    go_on(context, budget=600.0, named_again=((f"{new}:job", hash_source(f"{new}:job")),))
    before, after = runner.specs
    assert after.workload.model == f"{new}:job"
    assert after.checkpoints == before.checkpoints
    assert after.checkpoints_of == before.checkpoints_of == before.key
