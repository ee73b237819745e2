"""One run of a recipe, from its first step or its last checkpoint to its end."""

import time
from pathlib import Path

import msgspec

from traindyno.core.learning import Learning
from traindyno.core.records import Measurement, TrialSpec
from traindyno.worker.channel import Channel
from traindyno.worker.devices import Device
from traindyno.worker.ending import ending_on_request
from traindyno.worker.image_data import image_size_of
from traindyno.worker.kinds.summary import measurement_of
from traindyno.worker.learning.board import Board, check_board
from traindyno.worker.learning.checkpoints import Checkpoints
from traindyno.worker.learning.course import Course, open_course
from traindyno.worker.learning.loop import Loop
from traindyno.worker.learning.processes import Join, joined
from traindyno.worker.learning.story import Story, reached
from traindyno.worker.ranks.leading import lead_learning
from traindyno.worker.steps import NO_MARKS, Marks


def measure_learn(spec: TrialSpec, device: Device, channel: Channel) -> Measurement:
    """Train in this process, or on several devices by ranks that this process only leads."""
    return learn(spec, device, channel) if spec.settings.devices == 1 else lead_learning(spec, channel)


def learn(
    spec: TrialSpec, device: Device, channel: Channel, join: Join = joined, marks: Marks = NO_MARKS
) -> Measurement:
    """Train, evaluate by the way, and tell the whole run. Divergence is a result, not a failure."""
    start = time.monotonic()
    if spec.tensorboard is not None:
        check_board(Path(spec.tensorboard))
    checkpoints = _checkpoints(spec)
    with open_course(spec, device, channel, join, marks) as course:
        story = _begun(course, checkpoints)
        board = _board(spec, course)
        start_up_seconds = time.monotonic() - start
        try:
            with ending_on_request() as asked_to_end:
                story = Loop(course, checkpoints, board, asked_to_end=asked_to_end).run(story)
        finally:
            if board is not None:
                board.close()
        return _measurement(spec, course, story, start_up_seconds, checkpoints)


def _checkpoints(spec: TrialSpec) -> Checkpoints | None:
    return None if spec.checkpoints is None else Checkpoints(Path(spec.checkpoints), spec.checkpoints_of or spec.key)


def _begun(course: Course, checkpoints: Checkpoints | None) -> Story:
    if checkpoints is not None:
        return checkpoints.resume(course)
    course.start()
    return Story()


def _board(spec: TrialSpec, course: Course) -> Board | None:
    if spec.tensorboard is None or not course.processes.first:
        return None
    return Board(Path(spec.tensorboard), course.batch_size, course.step_count)


def _measurement(
    spec: TrialSpec, course: Course, story: Story, start_up_seconds: float, checkpoints: Checkpoints | None
) -> Measurement:
    """`step_seconds` is the mean over the whole run; its interval is that of the stretches between evaluations."""
    measurement = measurement_of(
        spec,
        course.device,
        story.blocks,
        story.blocks,
        story.evaluations[-1].training_loss,
        steady=False,
        start_up_seconds=start_up_seconds,
        first_step_seconds=story.first_step_seconds,
        training_seconds=story.seconds,
        examples_in_data=course.job.examples_in_data,
        image_size=image_size_of(course.job.source),
        notes=course.notes,
    )
    mean = story.seconds / story.steps
    low, high = measurement.ci95
    return msgspec.structs.replace(
        measurement,
        step_seconds=mean,
        ci95=(min(low, mean), max(high, mean)),
        learning=_learning(course, story, checkpoints),
    )


def _learning(course: Course, story: Story, checkpoints: Checkpoints | None) -> Learning:
    return Learning(
        evaluations=story.evaluations,
        steps=story.steps,
        planned_steps=course.planned_steps,
        examples=story.steps * course.batch_size,
        seconds=story.seconds,
        evaluation_seconds=story.evaluation_seconds,
        training_examples=course.data.training_examples,
        evaluation_examples=course.data.evaluation_examples,
        classes=course.data.classes,
        norm_examples=course.norm_examples,
        processes=course.processes.world_size,
        reached=reached(course.recipe.target, story.evaluations),
        diverged=story.diverged,
        checkpoint=None if checkpoints is None else str(checkpoints.last),
        resumed_from=story.resumed_from,
        pruned=story.pruned,
        remarks=course.remarks,
        began_finite=story.began_finite,
    )
