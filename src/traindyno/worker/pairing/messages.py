"""What an arm of a pair tells the process that gives the turns."""

from typing import Literal

from traindyno.core.base import Record
from traindyno.core.loading import Loading
from traindyno.core.records import Block, Memory
from traindyno.worker.channel import Channel

Side = Literal["baseline", "candidate"]


class Ready(Record, frozen=True):
    """The first answer: everything is built and warm. `warm_up` are all steps so far but the first."""

    start_up_seconds: float
    first_step_seconds: float
    warm_up: Block
    examples_in_data: int | None = None
    loading: Loading | None = None
    has_images: bool | None = None
    notes: tuple[str, ...] = ()


class Turn(Record, frozen=True):
    """Every further answer: one block, and what the arm has needed so far."""

    block: Block
    memory: Memory
    loss: float | None = None

    @property
    def step_seconds(self) -> float:
        return self.block.seconds / self.block.steps


class ArmChannel(Channel):
    """The line from an arm to its parent: progress as in any trial, and an answer to each command."""

    steps_done = 0

    def step(
        self,
        steps: int,
        step_seconds: float | None = None,
        planned_steps: int | None = None,
        accuracy: float | None = None,
    ) -> None:
        self.steps_done = steps
        super().step(steps, step_seconds, planned_steps, accuracy)

    def answer(self, told: Ready | Turn) -> None:
        self._send("answer", answer=told)
