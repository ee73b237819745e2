"""Training: steps, and after every so many examples an evaluation, until the run is over."""

import math
import time
from collections.abc import Callable

import msgspec
import torch

from traindyno.core.learning import FIRST_STEP, LEARNING, Evaluation
from traindyno.core.records import Block
from traindyno.worker.learning.board import Board
from traindyno.worker.learning.checkpoints import Checkpoints
from traindyno.worker.learning.checks import Checks
from traindyno.worker.learning.course import Course
from traindyno.worker.learning.lost_numbers import check_batches, is_lost
from traindyno.worker.learning.story import Story, next_evaluation, reached

TELL_SECONDS = 1.0
# Between evaluations that are farther apart than this, the state is kept as well.
KEEP_SECONDS = 60.0

Clock = Callable[[], float]


class Loop:
    """Trains a course to its end. `clock` counts only while steps are made: the device is waited for at both edges.

    Loader workers make nothing for training while it stands still, apart from the one item that each was at: else a
    run that waits for its data would seem the faster, the more often it is evaluated.

    A loss that is no longer finite ends the run; it is looked at about once a second, and at every evaluation. If it is
    the data's fault, that is an error; a loss of the evaluation alone is noted, and training goes on. An evaluation
    that misses one of the course's floors ends the run as well. A run that is asked to end keeps its state first, and
    then tells how far it was by one evaluation more. One that goes on in another process has paid for a first step
    before: there the first counts as a usual one.
    """

    def __init__(
        self,
        course: Course,
        checkpoints: Checkpoints | None = None,
        board: Board | None = None,
        clock: Clock = time.monotonic,
        asked_to_end: Callable[[], bool] = lambda: False,
    ) -> None:
        self._course, self._checkpoints, self._board, self._clock = course, checkpoints, board, clock
        self._asked_to_end = asked_to_end
        self._checks = Checks(course.processes)
        self._first_step_seconds: float | None = None
        self._has_evaluated = False
        self._began_finite: bool | None = None

    def run(self, story: Story) -> Story:
        """Go on from what was done before, if anything was."""
        while not self._over(story):
            goal, first = self._next_evaluation(), self._course.step_count
            story = story.grown(*self._stretch(goal, story.usual_step_seconds), self._first_step_seconds)
            if first == 0:
                story = msgspec.structs.replace(story, began_finite=self._began_finite)
            if not math.isfinite(story.pending_loss):
                check_batches(self._course, first)
            ends = self._ends()
            if self._course.step_count < goal and math.isfinite(story.pending_loss):
                self._keep_between(story)
                if ends:
                    return self._evaluated(story)
                continue
            story = self._evaluated(story)
            if self._board is not None:
                self._board.write(story)
            if self._checkpoints is not None:
                self._checkpoints.keep(self._course, story, over=ends or self._over(story))
            if ends:
                break
        return story

    def _next_evaluation(self) -> int:
        course = self._course
        every = course.recipe.evaluation_examples or course.data.training_examples
        return next_evaluation(course.step_count, course.planned_steps, course.batch_size, every)

    def _keep_between(self, story: Story) -> None:
        if self._checkpoints is not None:
            self._checkpoints.keep_state(self._course, story)

    def _ends(self) -> bool:
        """Whether the run was asked to end: the first process hears of it, and all end at the same step."""
        return self._course.processes.from_first(self._asked_to_end())

    def _over(self, story: Story) -> bool:
        course = self._course
        confirmed = reached(course.recipe.target, story.evaluations)
        done = course.step_count >= course.planned_steps
        return story.diverged or story.pruned or confirmed is not None or done

    def _stretch(self, goal: int, usual_step_seconds: float | None) -> tuple[Block, float]:
        """Steps up to the goal, a pause or the loss of all numbers; the sum of their losses, as a mean of processes."""
        course, first = self._course, self._course.step_count
        total = torch.zeros((), dtype=torch.float64, device=course.device.torch_device)
        with course.data.supplying():
            course.device.synchronize()
            start = self._clock()
            if self._first_step_seconds is None:
                loss, self._first_step_seconds = self._first_step(start)
                total += loss
                start += 0.0 if usual_step_seconds is None else self._first_step_seconds - usual_step_seconds
            self._steps(total, first, start, goal)
            course.device.synchronize()
            block = Block(steps=course.step_count - first, seconds=self._clock() - start)
        course.device.check_memory()
        return block, course.processes.total(total).item() / course.processes.world_size

    def _first_step(self, start: float) -> tuple[torch.Tensor, float]:
        """The first in this process, which compiles and allocates: training has to pay for it, so the clock runs."""
        self._course.channel.phase(FIRST_STEP)
        loss = self._course.step().reshape(())
        self._course.device.synchronize()
        self._began_finite = math.isfinite(self._course.processes.total(loss).item())
        seconds = self._clock() - start
        self._course.channel.phase(LEARNING)
        return loss, seconds

    def _steps(self, total: torch.Tensor, first: int, start: float, goal: int) -> None:
        """Add the losses of the steps that are left to `total`, on the device."""
        course, told = self._course, start
        checked, checked_step = self._clock(), course.step_count
        while course.step_count < goal:
            total += course.step().reshape(())
            now, step = self._clock(), course.step_count
            if now - told >= TELL_SECONDS:
                told = now
                course.channel.step(step, (now - start) / (step - first), course.planned_steps)
            if self._checks.due(step, now - checked):
                if not math.isfinite(course.processes.total(total).item()) or self._pauses(now - start):
                    return
                self._checks.made(step, step - checked_step, self._clock() - checked)
                checked, checked_step = self._clock(), step

    def _pauses(self, seconds: float) -> bool:
        """Whether the state is to be kept here: training has gone on for long, or is asked to end."""
        return self._course.processes.from_first(seconds >= KEEP_SECONDS or self._asked_to_end())

    def _evaluated(self, story: Story) -> Story:
        assert story.pending is not None, "there are steps to evaluate"
        course, block, blocks = self._course, story.pending, (*story.blocks, story.pending)
        training_loss = story.pending_loss / block.steps
        start = self._clock()
        loss, accuracy = self._evaluation()
        evaluation = Evaluation(
            step=course.step_count,
            examples=course.examples,
            seconds=math.fsum(each.seconds for each in blocks),
            loss=loss,
            accuracy=accuracy,
            training_loss=training_loss,
            learning_rate=course.rate(course.step_count - 1),
        )
        course.channel.step(course.step_count, block.seconds / block.steps, course.planned_steps, accuracy)
        story = msgspec.structs.replace(
            story,
            blocks=blocks,
            evaluations=(*story.evaluations, evaluation),
            evaluation_seconds=story.evaluation_seconds + self._clock() - start,
            pending=None,
            pending_loss=0.0,
            diverged=is_lost(course, training_loss, loss),
        )
        return msgspec.structs.replace(story, pruned=not self._over(story) and self._behind(evaluation))

    def _behind(self, evaluation: Evaluation) -> bool:
        """Whether a run that could go on need not, because others were clearly better at this point."""
        return any(floor.is_missed_by(evaluation) for floor in self._course.floors)

    def _evaluation(self) -> tuple[float, float | None]:
        """The first in this process may compile the model once more, and so may take as long as a first step."""
        if self._has_evaluated:
            return self._course.evaluate()
        self._has_evaluated = True
        self._course.channel.phase(FIRST_STEP)
        found = self._course.evaluate()
        self._course.channel.phase(LEARNING)
        return found
