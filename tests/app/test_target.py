"""A race that is cut off and goes on later with equal seeds for all, and one on real digits."""

import itertools
from pathlib import Path

import msgspec
import pytest

from traindyno.app.context import Context
from traindyno.app.resume import resume
from traindyno.app.target import contenders_of, target
from traindyno.core.answers import TargetAnswer
from traindyno.core.errors import StoppedError
from traindyno.core.events import Event, TrialFinished
from traindyno.core.learning import Recipe, Target
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.requests import Bench, TargetRequest

SETTINGS = Settings(batch_size=32)
REQUEST = TargetRequest(
    workload=WorkloadSpec(model="mlp:64", data="digits:"),
    bench=Bench(runner="simulated"),
    recipe=Recipe(learning_rate=0.05, epochs=30.0),
    target=Target(metric="accuracy", value=0.9),
    contenders=contenders_of([16, 64, 256], [], SETTINGS),
    rule="none",
    reference_batch=32,
    settings=SETTINGS,
)


class Patience:
    """Somebody who stops the study after so many trials."""

    def __init__(self, trials: int) -> None:
        self._left = trials

    def listen(self, event: Event) -> None:
        self._left -= isinstance(event, TrialFinished)

    def is_over(self) -> bool:
        return self._left <= 0


def cut_after(trials: int, store: str) -> TargetAnswer:
    patience = Patience(trials)
    context = Context(store=store, name="race", emit=patience.listen, should_stop=patience.is_over)
    answer: TargetAnswer = target(REQUEST, context).answer
    return answer


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "studies.db")


def test_a_cut_race_is_judged_by_the_seeds_that_all_have_run(store: str) -> None:
    """After the first run and eight of the race, two of three have begun their third seed."""
    answer = cut_after(9, store)
    assert [row.seeds for row in answer.rows] == [2, 2, 2]


def test_a_resumed_race_repeats_nothing_and_ends_as_if_it_had_not_been_cut(store: str, tmp_path: Path) -> None:
    cut_after(9, store)
    events: list[Event] = []
    resumed = resume("race", Context(store=store, emit=events.append)).answer
    whole = target(REQUEST, Context(store=str(tmp_path / "other.db"))).answer
    assert sum(isinstance(event, TrialFinished) for event in events) == 19 - 9
    assert resumed.rows == whole.rows
    assert resumed.verdicts == whole.verdicts


def test_a_race_cut_within_its_first_seed_has_no_answer(store: str) -> None:
    with pytest.raises(StoppedError, match="before any seed was run by all contenders"):
        cut_after(2, store)


def test_real_training_on_digits_is_timed_to_the_first_of_two_evaluations_that_meet_the_target(tmp_path: Path) -> None:
    request = msgspec.structs.replace(
        REQUEST,
        bench=Bench(device="cpu"),
        recipe=Recipe(learning_rate=0.05, epochs=8.0, evaluation_examples=400),
        contenders=contenders_of([32], [], SETTINGS),
        seeds=1,
    )
    document = target(request, Context(store=str(tmp_path / "studies.db")))
    (trial,), (row,) = document.trials, document.answer.rows
    learning = trial["measurement"]["learning"]
    met = [evaluation["accuracy"] >= 0.9 for evaluation in learning["evaluations"]]
    assert met[-2:] == [True, True]
    assert not any(first and second for first, second in itertools.pairwise(met[:-1]))
    crossing = learning["evaluations"][-2]
    assert (row.median_seconds, row.examples) == (crossing["seconds"], crossing["examples"])
    assert row.median_seconds < learning["seconds"]
    assert learning["seconds"] + learning["evaluation_seconds"] < trial["seconds"]
    assert learning["planned_steps"] == round(8 * learning["training_examples"] / 32)
