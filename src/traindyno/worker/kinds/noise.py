"""How noisy are the gradients? A run of a recipe that is halted now and then to read them at the weights it has."""

import math
import time

import msgspec
from torch import Tensor

from traindyno.analysis.gradient_moments import gradient_squared, noise_trace
from traindyno.core.errors import UsageError
from traindyno.core.learning import LEARNING, NORMALISED_MICRO_BATCH, Noise, NoisePlan, NoiseReading
from traindyno.core.records import Block, Measurement, TrialSpec
from traindyno.worker.channel import Channel
from traindyno.worker.devices import Device
from traindyno.worker.kinds.summary import measurement_of
from traindyno.worker.learning.course import Course, open_course
from traindyno.worker.learning.gradient_noise import GradientReader, unnoticed
from traindyno.worker.learning.lost_numbers import check_batch, check_batches
from traindyno.worker.steps import NonfiniteLossError
from traindyno.worker.timing import time_block

# Progress is shown about that often.
EDGE_SECONDS = 1.0
NOT_READY = "no gradient was read: those of this optimiser can be from its second step on"
# Of every run another; readings differ by their step.
SEED_STRIDE = 1_000_003


def measure_noise(spec: TrialSpec, device: Device, channel: Channel) -> Measurement:
    """Train as if nobody read anything; the time of readings is none of the steps'."""
    assert spec.noise_plan is not None, "a trial that reads gradients has a plan for it"
    start = time.monotonic()
    with open_course(spec, device, channel) as course:
        run = _Run(course, spec.noise_plan)
        start_up_seconds = time.monotonic() - start
        run.to_the_end()
        measurement = measurement_of(
            spec,
            device,
            run.blocks,
            run.blocks[1:] or run.blocks,
            run.readings[-1].loss,
            steady=False,
            start_up_seconds=start_up_seconds,
            examples_in_data=course.job.examples_in_data,
            notes=[*course.notes, *run.notes],
        )
        return msgspec.structs.replace(measurement, noise=run.noise())


class _Run:
    """A course with readings on the way."""

    def __init__(self, course: Course, plan: NoisePlan) -> None:
        self._course = course
        self._reader = GradientReader(course.job, course.optimizer, course.settings, course.device)
        self._size = micro_batch_of(course, plan)
        self._count = micro_batches_of(self._size, plan, course.data.training_examples)
        self._moments = reading_steps(course.planned_steps, plan.readings)
        self.blocks: list[Block] = []
        self.readings: list[NoiseReading] = []
        self.notes = _cautions(course, self._size)
        self._began_finite = False
        self._unread: Exception = UsageError(NOT_READY, "let runs have two steps or more")

    def to_the_end(self) -> None:
        """Readings come before the steps that they are numbered by, the last stretch behind the last of them."""
        for step in self._moments:
            self._train_to(step)
            if self._reader.ready and not self._read():
                break
        else:
            self._train_to(self._course.planned_steps)
        if not self.readings:
            raise self._unread

    def noise(self) -> Noise:
        normalised = self._course.norm_examples
        return Noise(
            readings=tuple(self.readings),
            micro_batch=self._size,
            micro_batches=self._count,
            preconditioned=self._reader.preconditioned,
            training_examples=self._course.data.training_examples,
            steps=self._course.step_count,
            norm_examples=None if normalised is None else _normalised_together(self._course, self._size),
            remarks=self._course.remarks,
        )

    def _train_to(self, step: int) -> None:
        course = self._course
        if not self.blocks and step > 0:
            course.channel.phase("first step")
            loss = self._time(1)
            self._began_finite = loss is not None and math.isfinite(loss.item())
            course.channel.phase(LEARNING)
        while course.step_count < step:
            self._time(min(step - course.step_count, _steps_to_edge(self.blocks[-1])))

    def _time(self, steps: int) -> Tensor | None:
        block, loss = time_block(self._course.step, steps, self._course.device, alive=self._course.channel.alive)
        self._course.device.check_memory()
        self.blocks.append(block)
        self._course.channel.step(self._course.step_count, block.seconds / block.steps, self._course.planned_steps)
        return loss

    def _read(self) -> bool:
        """Whether the loss is still a number; where it is none, the run is over.

        In half precision a gradient may overflow all the same; that reading is left out.
        """
        course, number = self._course, self._course.step_count
        course.train_mode()
        with unnoticed(course.model, course.device.torch_device, course.spec.seed * SEED_STRIDE + number):
            batches = course.data.micro_batches(self._size, self._count, number)
            moments, loss = self._reader.read(batches, self._size, course.data.training_examples)
        course.device.check_memory()
        if not math.isfinite(loss):
            for batch in batches:
                check_batch(course, batch, f"a micro-batch that was read before step {course.step_count + 1:,}")
            check_batches(course, self.readings[-1].step if self.readings else 0)
            since = "any more" if self._began_finite else "from the first step on"
            self._unread = NonfiniteLossError(f"no gradient was read: the loss was no number {since}")
            self.notes.append(f"the run lost its numbers before step {course.step_count}, and was not read further")
            return False
        reading = NoiseReading(
            step=course.step_count,
            examples=course.examples,
            loss=loss,
            gradient_squared=gradient_squared(moments),
            noise_trace=noise_trace(moments),
            learning_rate=course.rate(course.step_count),
        )
        if math.isfinite(reading.gradient_squared) and math.isfinite(reading.noise_trace):
            self.readings.append(reading)
        elif (note := f"gradients too large for {course.settings.precision} were left out") not in self.notes:
            self.notes.append(note)
            self._unread = NonfiniteLossError(
                f"no gradient was read: all were too large for {course.settings.precision}"
            )
        return True


def reading_steps(planned_steps: int, readings: int) -> list[int]:
    """Steps before which gradients are read: the middles of equal parts of the run."""
    return sorted({math.floor((number + 0.5) * planned_steps / readings) for number in range(readings)})


def micro_batch_of(course: Course, plan: NoisePlan) -> int:
    """Examples in a micro-batch: a multiple of the emulated devices, each of which normalises its own."""
    devices = course.recipe.emulated_devices
    normalises = course.norm_examples is not None
    size = plan.examples_together(normalises) * (devices if plan.micro_batch is None and normalises else 1)
    if size % devices:
        raise UsageError(
            f"a micro-batch of {size} cannot be shared by {devices} emulated devices",
            f"give --micro-batch a multiple of {devices}",
        )
    return size


def micro_batches_of(size: int, plan: NoisePlan, training_examples: int) -> int:
    """As many as planned, or as the data has; fewer than two have no differences."""
    count = min(plan.micro_batches, training_examples // size)
    if count < 2:
        raise UsageError(
            f"{training_examples} training examples are too few for two micro-batches of {size}",
            "give a smaller --micro-batch, or more data",
        )
    return count


def _steps_to_edge(block: Block) -> int:
    return max(1, round(EDGE_SECONDS * block.steps / max(block.seconds, 1e-9)))


def _cautions(course: Course, size: int) -> list[str]:
    """Statistics of few examples make gradients noisier than those of the batches that are trained on."""
    if course.norm_examples is None or (together := _normalised_together(course, size)) >= NORMALISED_MICRO_BATCH:
        return []
    seen = f"batch normalisation saw {together} examples at once where gradients were read, {course.norm_examples} else"
    return [f"{seen}; give a larger --micro-batch"]


def _normalised_together(course: Course, size: int) -> int:
    """The examples that one normalisation sees in a reading."""
    recipe = course.recipe
    each = size // recipe.emulated_devices
    return min(recipe.ghost_size, each) if recipe.batch_norm == "ghost" else each
