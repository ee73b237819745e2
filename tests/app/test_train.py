"""`train` from request to answer, and the checkpoints of every trial that learns."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

import traindyno
from app.stopping import Stop
from traindyno.app.checkpoints import LAST
from traindyno.app.companions import Companion
from traindyno.app.context import Context
from traindyno.app.learning_checks import without_deadline
from traindyno.app.library import study_document
from traindyno.app.resume import resume
from traindyno.app.study import open_study
from traindyno.app.train import train
from traindyno.app.weights import with_weights
from traindyno.app.workshop import open_workshop
from traindyno.core.answers import TrainAnswer
from traindyno.core.errors import NothingMeasuredError, UsageError
from traindyno.core.events import TrialProgress
from traindyno.core.learning import LEARNING, Recipe
from traindyno.core.outcomes import REMEDIES, Outcome
from traindyno.core.records import Failure, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.requests import Bench, TrainRequest
from traindyno.runner.profile import Profile
from traindyno.runner.protocol import Deadlines, Watcher
from traindyno.runner.simulated import SimulatedRunner
from traindyno.search.once import Once

DIGITS = WorkloadSpec(model="mlp:64", data="digits:")


class Writing:
    """Answers like the simulated runner, for trials that leave a checkpoint; `endings` come before that."""

    simulated = False

    def __init__(self, endings: Sequence[Outcome] = ()) -> None:
        self.specs: list[TrialSpec] = []
        self.found: list[bool] = []
        self._endings = list(endings)

    def run(self, spec: TrialSpec, watcher: Watcher, log_path: Path | None) -> TrialRecord:
        self.specs.append(spec)
        assert spec.checkpoints is not None
        last = Path(spec.checkpoints) / LAST
        self.found.append(last.exists())
        last.parent.mkdir(parents=True, exist_ok=True)
        last.write_text("state")
        if self._endings:
            return _failed(spec, self._endings.pop(0))
        return SimulatedRunner(Profile()).run(spec, watcher, log_path)

    def close(self) -> None:
        """Nothing was started."""


def _failed(spec: TrialSpec, outcome: Outcome) -> TrialRecord:
    failure = Failure(outcome=outcome, message="it ended", remedy=REMEDIES[outcome])
    return TrialRecord(spec=spec, outcome=outcome, seconds=1.0, failure=failure)


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "studies.db")


@pytest.fixture
def writing(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Writing]:
    def use(*endings: Outcome) -> Writing:
        runner = Writing(endings)
        monkeypatch.setattr("traindyno.app.workshop.open_runner", lambda name, deadlines: runner)
        return runner

    return use


def request(**changes: Any) -> TrainRequest:
    plain = TrainRequest(
        workload=DIGITS,
        bench=Bench(),
        settings=Settings(batch_size=32),
        recipe=Recipe(learning_rate=0.05, epochs=2.0),
    )
    return msgspec.structs.replace(plain, **changes)


def simulated(store: str, **options: Any) -> TrainAnswer:
    given = {"data": "digits:", "learning_rate": 0.05, "batch_size": 32, "epochs": 3.0} | options
    return traindyno.train("mlp:64", runner="simulated", store=store, **given)


def test_from_python_a_run_is_answered_by_accuracy_and_time(store: str) -> None:
    answer = simulated(store)
    assert answer.accuracy == answer.evaluations[-1].accuracy
    assert answer.epochs == pytest.approx(3, abs=0.01)
    assert answer.steps == answer.planned_steps
    assert answer.examples_per_second == pytest.approx(answer.examples / answer.training_seconds)
    assert answer.checkpoint is None
    assert answer.simulated


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"learning_rate": 0.0}, "learning rate"),
        ({"learning_rate": math.nan}, "learning rate"),
        ({"epochs": -1.0}, "epochs"),
        ({"epochs": 1.0, "steps": 5}, "one length"),
        ({"mode": "infer"}, "learns nothing"),
        ({"data": "synthetic:"}, "nothing to learn from"),
        ({"data": "memory:synthetic:"}, "nothing to learn from"),
        ({"data": "sythetic:"}, "no source of data"),
        ({"warm_up_epochs": 3.0}, "warm-up"),
        ({"emulated_devices": 5}, "emulated devices"),
        ({"emulated_devices": 4, "batch_norm": "sync"}, "emulated_devices"),
        ({"hold_out": 1.0}, "held out"),
        ({"schedule": "step", "step_at": [0.9, 0.5]}, "shares of the run"),
        ({"label_smoothing": 1.0}, "label smoothing"),
        ({"weights": "/nowhere/weights.pt"}, "no file"),
        ({"epoch": 3}, "no option epoch"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_a_study_begins(
    store: str, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        simulated(store, **options)
    assert not Path(store).exists()


def test_weights_are_known_by_their_content(tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    path.write_bytes(b"PK\x03\x04 and so on")
    recipe = with_weights(Recipe(learning_rate=0.1, weights=str(path)))
    assert recipe.weights_sha256 is not None
    path.write_bytes(b"PK\x03\x04 and other things")
    assert with_weights(recipe).weights_sha256 != recipe.weights_sha256


def test_a_study_does_not_go_on_with_changed_weights(store: str, tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    path.write_bytes(b"PK\x03\x04 and so on")
    recipe = with_weights(Recipe(learning_rate=0.1, weights=str(path)))
    train(request(recipe=recipe, bench=Bench(runner="simulated")), Context(store=store, name="it"))
    path.write_bytes(b"PK\x03\x04 and other things")
    with pytest.raises(UsageError, match="have changed since the study began"):
        resume("it", Context(store=store))


def test_a_file_that_holds_no_weights_is_refused(store: str, tmp_path: Path) -> None:
    (tmp_path / "weights.pt").write_text("hello")
    with pytest.raises(UsageError, match=r"holds no weights that torch\.save wrote"):
        simulated(store, weights=str(tmp_path / "weights.pt"))


def test_a_head_on_random_weights_is_trained_with_a_warning(store: str) -> None:
    recipe = Recipe(learning_rate=0.05, fine_tuning="head")
    document = train(request(recipe=recipe, bench=Bench(runner="simulated")), Context(store=store))
    assert any("on top of random weights" in warning for warning in document.warnings)


def test_checkpoints_lie_beside_the_store_and_stay(store: str, writing: Callable[..., Writing]) -> None:
    runner = writing()
    train(request(), Context(store=store, name="it"))
    folder = Path(store).parent / ".traindyno" / "checkpoints" / "it"
    assert runner.specs[0].checkpoints == str(folder)
    assert (folder / LAST).exists()


def test_a_folder_of_the_users_own_is_made_and_used(
    store: str, writing: Callable[..., Writing], tmp_path: Path
) -> None:
    runner = writing()
    train(request(checkpoints=str(tmp_path / "a" / "b")), Context(store=store))
    assert runner.specs[0].checkpoints == str(tmp_path / "a" / "b")


def test_a_new_run_does_not_go_on_from_the_checkpoint_of_another(
    store: str, writing: Callable[..., Writing], tmp_path: Path
) -> None:
    writing()
    train(request(checkpoints=str(tmp_path / "kept")), Context(store=store))
    with pytest.raises(UsageError, match="holds checkpoints of another run"):
        train(request(checkpoints=str(tmp_path / "kept")), Context(store=store))


def test_a_file_where_the_folder_should_be_is_refused(store: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is no folder"):
        simulated(store, tensorboard=str(tmp_path / "file"))


@pytest.mark.parametrize("outcome", [Outcome.CRASH, Outcome.CUDA_FAULT, Outcome.HANG])
def test_a_run_that_failed_goes_on_from_its_checkpoint_when_resumed(
    store: str, writing: Callable[..., Writing], outcome: Outcome
) -> None:
    runner = writing(outcome)
    with pytest.raises(NothingMeasuredError, match="the run failed: it ended"):
        train(request(), Context(store=store, name="it"))
    document = resume("it", Context(store=store))
    assert runner.found == [False, True]
    assert document.answer.accuracy > 0.5
    assert document.state == "done"
    assert [entry["outcome"] for entry in study_document("it", store).trials] == ["ok"]


def test_a_run_that_is_done_is_not_made_again(store: str, writing: Callable[..., Writing]) -> None:
    runner = writing()
    first = train(request(), Context(store=store, name="it"))
    again = resume("it", Context(store=store))
    assert len(runner.specs) == 1
    assert again.answer.evaluations == first.answer.evaluations


@pytest.mark.parametrize(("endings", "stays"), [((), False), ((Outcome.CRASH,), False), ((Outcome.KILLED,) * 3, True)])
def test_trials_of_other_studies_keep_checkpoints_only_until_they_are_done(
    store: str, writing: Callable[..., Writing], endings: tuple[Outcome, ...], stays: bool
) -> None:
    runner = writing(*endings)
    spec = TrialSpec(kind="learn", workload=DIGITS, settings=Settings(batch_size=8), recipe=Recipe(learning_rate=0.1))
    with (
        open_workshop(Bench(), store) as workshop,
        open_study(workshop, Context(store=store), request(), "learning") as study,
    ):
        study.drive(Once(spec, "learning"))
    folder = Path(runner.specs[0].checkpoints or "")
    assert folder.name == spec.key
    assert folder.exists() is stays
    assert all(later for later in runner.found[1:])
    assert {each.key for each in runner.specs} == {spec.key}


class Halved:
    """Ends every run early, when asked to, and tells what it had until then."""

    simulated = False

    def run(self, spec: TrialSpec, watcher: Watcher, log_path: Path | None) -> TrialRecord:
        assert watcher.should_stop()
        whole = SimulatedRunner(Profile()).run(spec, Watcher(), log_path)
        failed = _failed(spec, Outcome.INTERRUPTED)
        return msgspec.structs.replace(failed, measurement=whole.measurement)

    def close(self) -> None:
        """Nothing was started."""


def test_a_training_that_is_stopped_answers_with_what_it_had_and_is_resumed(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("traindyno.app.workshop.open_runner", lambda name, deadlines: Halved())
    document = train(request(), Context(store=store, name="it", should_stop=Stop()))
    assert document.state == "interrupted"
    assert document.answer.verdicts[0].startswith("Stopped after")
    assert document.hint == f"traindyno resume it --store {store}"
    assert study_document("it", store).answer.accuracy == document.answer.accuracy


def test_half_a_run_is_not_counted_among_the_runs_of_other_studies(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traindyno.app.workshop.open_runner", lambda name, deadlines: Halved())
    spec = TrialSpec(kind="learn", workload=DIGITS, settings=Settings(batch_size=8), recipe=Recipe(learning_rate=0.1))
    with (
        open_workshop(Bench(), store) as workshop,
        open_study(workshop, Context(store=store, should_stop=Stop()), request(), "learning") as study,
    ):
        assert study.drive(Once(spec, "learning")) == []
        assert [record.measurement for record in workshop.ledger.trials(study.row.id)] == [None]


def test_no_deadline_cuts_a_long_training_unless_the_user_gave_one(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Deadlines] = []

    def remember(name: str, deadlines: Deadlines) -> SimulatedRunner:
        seen.append(deadlines)
        return SimulatedRunner(Profile())

    monkeypatch.setattr("traindyno.app.workshop.open_runner", remember)
    for bench in (Bench(), Bench(trial_timeout_seconds=60.0)):
        train(request(bench=bench), Context(store=store))
    assert [each.trial for each in seen] == [math.inf, 60.0]
    assert {each.step for each in seen} == {Deadlines().step}
    assert without_deadline(Bench()).asked.trial_timeout_seconds is None


class TooLarge(SimulatedRunner):
    """The batch is larger than the data."""

    def run(self, spec: TrialSpec, watcher: Watcher, log_path: Path | None) -> TrialRecord:
        failure = Failure(
            outcome=Outcome.USER_ERROR,
            message="a batch of 32 is larger than the data",
            remedy="use a smaller batch",
            details={"code": "larger_than_data", "examples_in_data": "20"},
        )
        return TrialRecord(spec=spec, outcome=Outcome.USER_ERROR, seconds=1.0, failure=failure)


def test_a_batch_larger_than_the_data_is_told_by_the_trial_as_elsewhere(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("traindyno.app.workshop.open_runner", lambda name, deadlines: TooLarge(Profile()))
    with pytest.raises(NothingMeasuredError, match="the run failed: a batch of 32 is larger than the data") as refusal:
        train(request(), Context(store=store))
    assert refusal.value.hint == "use a smaller batch"


def test_the_hint_asks_what_a_larger_batch_costs(store: str) -> None:
    document = train(request(bench=Bench(runner="simulated")), Context(store=store))
    assert document.hint is not None
    assert document.hint.startswith("traindyno accuracy --batch-size 32,128 --data digits: --model mlp:64")
    assert "--lr 0.05@32 --epochs 2" in document.hint


def test_a_companion_lets_the_first_process_end_first(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("traindyno.app.companions.time.monotonic", lambda: now[0])
    learning, starting = Companion(lambda: now[0] >= 110), Companion(lambda: now[0] >= 110)
    learning.progress(TrialProgress(phase=LEARNING, steps=5, seconds=1.0))
    starting.progress(TrialProgress(phase="data", steps=0, seconds=1.0))
    assert not learning.should_stop()
    assert not starting.should_stop()
    now[0] = 110.0
    assert not learning.should_stop()
    assert starting.should_stop()
    now[0] = 136.0
    assert learning.should_stop()
