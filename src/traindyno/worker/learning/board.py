"""A run's curves as TensorBoard shows them."""

from pathlib import Path
from typing import Any

from traindyno.core.errors import UsageError
from traindyno.worker.learning.folders import make_folder
from traindyno.worker.learning.story import Story


class Board:
    """Writes a point at every evaluation, by step. Points of an earlier attempt after `step` are taken back."""

    def __init__(self, folder: Path, batch_size: int, step: int) -> None:
        self._batch_size = batch_size
        self._writer = _writer_class()(log_dir=str(folder), purge_step=step + 1 if step else 0)

    def write(self, story: Story) -> None:
        evaluation, block = story.evaluations[-1], story.blocks[-1]
        values = {
            "training/loss": evaluation.training_loss,
            "training/learning_rate": evaluation.learning_rate,
            "training/examples_per_second": self._batch_size * block.steps / max(block.seconds, 1e-9),
            "evaluation/loss": evaluation.loss,
            "evaluation/accuracy": evaluation.accuracy,
        }
        for name, value in values.items():
            if value is not None:
                self._writer.add_scalar(name, value, evaluation.step)
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


def check_board(folder: Path) -> None:
    """Whether curves can be written there, known before anything is trained."""
    _writer_class()
    make_folder(folder, "TensorBoard")


def _writer_class() -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "tensorboard":
            raise
        raise UsageError("tensorboard is not installed", "pip install 'traindyno[tensorboard]'") from error
    return SummaryWriter
