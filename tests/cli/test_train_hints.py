"""What `train` hints to type next runs when it is typed."""

import math
import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cli.command_line import run
from traindyno.app.train_hints import next_command
from traindyno.core.learning import Evaluation, Learning, Recipe
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.requests import Bench, TrainRequest

SIMULATED = ("--runner", "simulated", "--device", "cpu")


def evaluation(step: int, accuracy: float | None, loss: float) -> Evaluation:
    return Evaluation(
        step=step, examples=32 * step, seconds=1.0, loss=loss, accuracy=accuracy, training_loss=loss, learning_rate=0.1
    )


def run_of(accuracy: float | None, *losses: float, **others: Any) -> Learning:
    evaluations = tuple(evaluation(45 * number, accuracy, loss) for number, loss in enumerate(losses, start=1))
    plain = Learning(
        evaluations=evaluations,
        steps=evaluations[-1].step,
        planned_steps=evaluations[-1].step,
        examples=evaluations[-1].examples,
        seconds=1.0,
        evaluation_seconds=0.1,
        training_examples=1440,
        evaluation_examples=360,
        classes=None if accuracy is None else 10,
    )
    return msgspec.structs.replace(plain, **others)


def request(batch_size: int = 32, settings: dict[str, Any] | None = None, **recipe: Any) -> TrainRequest:
    return TrainRequest(
        workload=WorkloadSpec(model="mlp:64", data="digits:"),
        bench=Bench(),
        settings=Settings(batch_size=batch_size, **(settings or {})),
        recipe=Recipe(**({"learning_rate": 0.1, "epochs": 2.0} | recipe)),
        checkpoints="runs/first",
    )


def hint_of(learning: Learning, asked: TrainRequest | None = None) -> str | None:
    return next_command(asked or request(), Bench(), learning)


CASES = {
    "learnt": (run_of(0.9, 0.5, 0.3), request(), "accuracy --batch-size 32,128"),
    "in steps": (run_of(0.9, 0.5, 0.3), request(steps=90), "--steps 90"),
    "small data": (run_of(0.9, 0.5, training_examples=100), request(), "--batch-size 16,32"),
    "no classes": (run_of(None, 0.5, 0.31234), request(), "target --batch-size 32,128 --metric loss --value 0.5 "),
    "no classes, once": (run_of(None, 0.31234), request(evaluation_examples=10), "--metric loss --value 0.313 "),
    "no classes, in steps": (run_of(None, 0.5, 0.3), request(steps=90), "--epochs 2"),
    "diverged": (run_of(0.1, math.nan, diverged=True, began_finite=True), request(), "train --model mlp:64"),
    "no classes and diverged": (run_of(None, 0.5, math.nan, diverged=True), request(), "--lr 0.01 --epochs 2"),
    "guessing": (run_of(0.1, 2.3), request(), "--lr 0.1 --epochs 20"),
    "guessing, in steps": (run_of(0.1, 2.3), request(steps=90), "--lr 0.1 --steps 900"),
    "guessing for long": (run_of(0.1, 2.3, planned_steps=4000), request(epochs=3.0), "--lr 1 --epochs 3"),
    "emulated": (run_of(0.9, 0.5, training_examples=100), request(emulated_devices=4), "--batch-size 16,32"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_command_hinted_at_fits_the_run_and_can_be_typed(case: str, tmp_path: Path) -> None:
    learning, asked, words = CASES[case]
    hint = hint_of(learning, asked)
    assert hint is not None
    assert words in hint
    typed = shlex.split(hint)[1:]
    fewer = () if typed[0] == "train" else ("--seeds", "2")
    completed = run(tmp_path, *typed, *SIMULATED, *fewer, "-q")
    assert completed.returncode == 0, completed.stderr


@pytest.mark.parametrize(
    ("learning", "asked"),
    [
        (run_of(0.9, 0.5, training_examples=100), request(33)),
        (run_of(0.9, 0.5, training_examples=100), request(32, emulated_devices=32)),
        (run_of(0.9, 0.5, training_examples=100), request(32, {"accumulation_steps": 32})),
        (run_of(0.9, 0.5, training_examples=12), request(4)),
        (run_of(0.9, 0.5, training_examples=30, norm_examples=4), request(4)),
        (run_of(None, -3.0, -4.0), request()),
        (run_of(None, math.nan), request()),
        (run_of(0.1, math.nan, diverged=True, began_finite=False), request()),
        (run_of(0.1, math.nan, diverged=True), request()),
    ],
)
def test_where_no_comparison_could_be_made_none_is_hinted_at(learning: Learning, asked: TrainRequest) -> None:
    assert hint_of(learning, asked) is None


def test_a_name_that_is_taken_is_a_mistake_of_usage(tmp_path: Path) -> None:
    assert run(tmp_path, "train", *SIMULATED, "--name", "it", "-q").returncode == 0
    refused = run(tmp_path, "train", *SIMULATED, "--name", "it", "-q")
    assert refused.returncode == 2
    assert "there is already a study named 'it'" in refused.stderr
