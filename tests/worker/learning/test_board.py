"""Curves for TensorBoard."""

import builtins
from pathlib import Path
from typing import Any

import pytest

from traindyno.core.errors import UsageError
from traindyno.worker.learning.checkpoints import LAST
from worker.learning.children import Stopped, stopping_at
from worker.learning.small_learners import learnt, run_keeping, spec_of
from worker.learning.test_checkpoints import exact_spec

accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
NAMES = {
    "training/loss",
    "training/learning_rate",
    "training/examples_per_second",
    "evaluation/loss",
    "evaluation/accuracy",
}


def curves(folder: Path) -> dict[str, list[tuple[int, float]]]:
    events = accumulator.EventAccumulator(str(folder)).Reload()
    return {name: [(each.step, each.value) for each in events.Scalars(name)] for name in events.Tags()["scalars"]}


def test_every_evaluation_is_a_point_of_each_curve(tmp_path):
    learning = learnt(spec_of("plain", tensorboard=str(tmp_path))).learning
    assert learning is not None
    found = curves(tmp_path)
    assert set(found) == NAMES
    steps = [each.step for each in learning.evaluations]
    assert all([step for step, _ in points] == steps for points in found.values())
    assert [value for _, value in found["evaluation/accuracy"]] == pytest.approx(
        [each.accuracy for each in learning.evaluations]
    )
    assert [value for _, value in found["training/loss"]] == pytest.approx(
        [each.training_loss for each in learning.evaluations]
    )


def test_a_run_that_goes_on_takes_back_what_came_after_its_checkpoint(tmp_path):
    checkpoints, board = tmp_path / "checkpoints", tmp_path / "board"
    with pytest.raises(Stopped):
        run_keeping(exact_spec(), checkpoints, stopping_at(10), board)
    (checkpoints / LAST).unlink()
    story, _, _ = run_keeping(exact_spec(), checkpoints, board=board)
    assert story.resumed_from == (6,)
    assert [step for step, _ in curves(board)["evaluation/loss"]] == [each.step for each in story.evaluations]


def test_without_tensorboard_the_way_to_install_it_is_told_before_the_training(monkeypatch, tmp_path):
    real = builtins.__import__

    def without(name: str, *others: Any, **more: Any) -> Any:
        if name.startswith(("tensorboard", "torch.utils.tensorboard")):
            raise ModuleNotFoundError("No module named 'tensorboard'", name="tensorboard")
        return real(name, *others, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UsageError, match="tensorboard is not installed") as refusal:
        learnt(spec_of("no_such_function", tensorboard=str(tmp_path)))
    assert refusal.value.hint == "pip install 'traindyno[tensorboard]'"
