"""Small things to learn, and how to run a recipe on them. Trials run this file too."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from traindyno import Workload
from traindyno.core.learning import Recipe
from traindyno.core.records import Measurement, Settings, TrialSpec, WorkloadSpec
from traindyno.worker.channel import Channel
from traindyno.worker.devices import open_device
from traindyno.worker.kinds import KINDS
from traindyno.worker.learning.board import Board
from traindyno.worker.learning.checkpoints import Checkpoints
from traindyno.worker.learning.course import Course, open_course
from traindyno.worker.learning.loop import Loop
from traindyno.worker.learning.story import Story

FEATURES, CLASSES, TRAINING, EVALUATION = 6, 3, 96, 40


def points(count: int, seed: int) -> TensorDataset:
    """Clouds around three corners, not quite apart."""
    generator = torch.Generator().manual_seed(seed)
    classes = torch.arange(count) % CLASSES
    places = 1.2 * torch.eye(CLASSES, FEATURES)[classes] + torch.randn(count, FEATURES, generator=generator)
    return TensorDataset(places, classes)


def perceptron() -> nn.Sequential:
    return nn.Sequential(nn.Linear(FEATURES, 16), nn.ReLU(), nn.Linear(16, CLASSES))


def forgetful() -> nn.Sequential:
    """With everything that has a state besides its weights."""
    return nn.Sequential(
        nn.Linear(FEATURES, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, CLASSES)
    )


class Bodied(nn.Module):
    """A body that normalises and a head by its usual name."""

    def __init__(self, classes: int = CLASSES) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(FEATURES, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5))
        self.fc = nn.Linear(8, classes)

    def forward(self, inputs: Tensor) -> Tensor:
        scores: Tensor = self.fc(self.body(inputs))
        return scores


def _workload(model: Callable[[], nn.Module], **others: Any) -> Workload:
    return Workload(
        model=model, dataset=points(TRAINING, seed=1), evaluation_dataset=points(EVALUATION, seed=2), **others
    )


def plain() -> Workload:
    return _workload(perceptron)


def _spoilt(count: int, seed: int, value: float) -> TensorDataset:
    places, classes = points(count, seed).tensors
    places[37, 2] = value
    return TensorDataset(places, classes)


def with_gaps() -> Workload:
    """One number of one training example is missing."""
    return Workload(
        model=perceptron, dataset=_spoilt(TRAINING, 1, float("nan")), evaluation_dataset=points(EVALUATION, seed=2)
    )


def with_gaps_in_evaluation() -> Workload:
    return Workload(
        model=perceptron, dataset=points(TRAINING, seed=1), evaluation_dataset=_spoilt(EVALUATION, 2, float("nan"))
    )


def with_padding() -> Workload:
    """The second half of the training examples has no target."""
    places, classes = points(TRAINING, seed=1).tensors
    classes[TRAINING // 2 :] = -100
    return Workload(
        model=perceptron, dataset=TensorDataset(places, classes), evaluation_dataset=points(EVALUATION, seed=2)
    )


def with_state() -> Workload:
    return _workload(forgetful)


def with_head() -> Workload:
    return _workload(Bodied)


def with_own_optimizer() -> Workload:
    def groups(parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
        parts = [{"params": parameters[:2], "lr": 0.02}, {"params": parameters[2:], "lr": 0.2}]
        return torch.optim.SGD(parts, momentum=0.5)

    return _workload(perceptron, optimizer=groups)


def with_own_loss() -> Workload:
    return _workload(perceptron, loss=nn.CrossEntropyLoss())


def without_numbers() -> Workload:
    """A loss that divides by nothing."""

    def empty_mean(scores: Tensor, targets: Tensor) -> Tensor:
        return scores.sum() * float("nan")

    return _workload(perceptron, loss=empty_mean)


class SilentChannel(Channel):
    """Keeps what it was told."""

    def __init__(self) -> None:
        super().__init__(-1)
        self.sent: list[tuple[str, dict[str, Any]]] = []

    def _send(self, kind: str, **fields: Any) -> None:
        self.sent.append((kind, fields))


def spec_of(
    function: str = "plain", recipe: Recipe | None = None, settings: Settings | None = None, **others: Any
) -> TrialSpec:
    return TrialSpec(
        kind="learn",
        workload=WorkloadSpec(model=f"{Path(__file__)}:{function}", **others.pop("workload", {})),
        settings=settings or Settings(batch_size=16),
        recipe=recipe or Recipe(learning_rate=0.1, epochs=4),
        **others,
    )


def learnt(spec: TrialSpec) -> Measurement:
    """One run as a trial makes it."""
    return KINDS["learn"](spec, open_device(spec.settings.device), SilentChannel())


def run_keeping(
    spec: TrialSpec,
    folder: Path,
    before_step: Callable[[Course], None] = lambda _course: None,
    board: Path | None = None,
) -> tuple[Story, dict[str, Tensor], list[str]]:
    """One run with a checkpoint at every evaluation; its weights and notes at the end."""
    with open_course(spec, open_device(spec.settings.device), SilentChannel()) as course:
        checkpoints = Checkpoints(folder, spec.key, every_seconds=0)
        story = checkpoints.resume(course)
        step = course.step

        def watched() -> Tensor:
            before_step(course)
            return step()

        course.step = watched  # type: ignore[method-assign]
        written = None if board is None else Board(board, course.batch_size, course.step_count)
        try:
            story = Loop(course, checkpoints, written).run(story)
        finally:
            if written is not None:
                written.close()
        return story, {name: value.clone() for name, value in course.model.state_dict().items()}, course.notes
