"""A run of a recipe, made ready: model, data, optimiser and schedule, and the step that puts them together."""

import contextlib
import os
from collections.abc import Iterator

import msgspec
import torch
from torch import Tensor, nn

from traindyno.core.learning import Recipe
from traindyno.core.recipe_checks import check_recipe
from traindyno.core.records import Settings, TrialSpec
from traindyno.core.scaling import USUAL_BUCKET_MIB
from traindyno.worker.applied_loss import GivenTargets
from traindyno.worker.building import build, prepare
from traindyno.worker.channel import Channel
from traindyno.worker.devices import Device
from traindyno.worker.job import Job
from traindyno.worker.learning.data import LearningData, open_learning_data
from traindyno.worker.learning.evaluating import evaluate
from traindyno.worker.learning.heads import freeze_all_but_head
from traindyno.worker.learning.normalising import check_not_normalising, normalise
from traindyno.worker.learning.optimising import optimizer_of
from traindyno.worker.learning.processes import Join, Processes, device_of, joined, place_of
from traindyno.worker.learning.randomness import seed_others
from traindyno.worker.learning.schedule import planned_steps, rate_of
from traindyno.worker.learning.weights import load_weights
from traindyno.worker.losses import check_not_smoothed
from traindyno.worker.ranks.sharing import share_gradients
from traindyno.worker.steps import NO_MARKS, Marks, make_fed_step
from traindyno.worker.updates import USUAL_LOSS_SCALE, update_with


@contextlib.contextmanager
def open_course(
    spec: TrialSpec, device: Device, channel: Channel, join: Join = joined, marks: Marks = NO_MARKS
) -> Iterator["Course"]:
    """Everything in place for the first step, which is not yet made. `join` connects this process to the others."""
    assert spec.recipe is not None, "a trial that learns has a recipe"
    check_recipe(spec.recipe, spec.settings)
    processes = place_of(os.environ)
    device = device_of(processes, device)
    batch_size = processes.share_of(spec.settings.batch_size)
    share = msgspec.structs.replace(spec.settings, batch_size=batch_size, devices=1)
    own = msgspec.structs.replace(spec, settings=share)
    prepare(own, device, channel)
    seed_others(spec.seed)
    with join(processes, device), contextlib.ExitStack() as stack:
        adapter = _Adapter(spec.recipe, processes, share, on_gpu=device.torch_device.type == "cuda")
        job = build(own, device, channel, adapter.adapt)
        channel.phase("data")
        data = open_learning_data(spec, job, device, processes)
        if not processes.alone:
            torch.manual_seed(spec.seed + processes.rank)
        yield Course(spec, job, data, device, channel, processes, adapter, stack, marks)


class _Adapter:
    """What the recipe changes of a model before the settings do; the last layer where that alone is trained."""

    def __init__(self, recipe: Recipe, processes: Processes, settings: Settings, on_gpu: bool) -> None:
        self.recipe, self.processes, self.settings, self.on_gpu = recipe, processes, settings, on_gpu
        self.head: nn.Module | None = None
        self.norm_examples: int | None = None

    def adapt(self, job: Job) -> None:
        recipe = self.recipe
        job.remarks.extend(load_weights(job.model, recipe))
        if recipe.fine_tuning == "head":
            check_not_normalising(recipe)
            self.head = freeze_all_but_head(job.model)
        else:
            examples = self.settings.batch_size // self.settings.accumulation_steps
            self.norm_examples = normalise(job.model, recipe, self.processes, examples, self.on_gpu)
        if job.criterion.loss is not None or job.training_step is not None:
            check_not_smoothed(recipe.label_smoothing, "the loss is the workload's own")
        job.criterion = GivenTargets(
            loss=job.criterion.loss, classes=job.criterion.classes, label_smoothing=recipe.label_smoothing
        )


class Course:
    """A run between its steps. `step_count` are those done; `settings` are those of this process's share of a batch.

    `model` is the plain module; in several processes `job.model` is the one that shares its gradients.
    """

    def __init__(
        self,
        spec: TrialSpec,
        job: Job,
        data: LearningData,
        device: Device,
        channel: Channel,
        processes: Processes,
        adapter: _Adapter,
        stack: contextlib.ExitStack,
        marks: Marks,
    ) -> None:
        assert spec.recipe is not None, "a trial that learns has a recipe"
        self.spec, self.recipe, self.settings = spec, spec.recipe, adapter.settings
        self.job, self.model, self.data = job, job.model, data
        self.device, self.channel, self.processes = device, channel, processes
        self.norm_examples, self._head = adapter.norm_examples, adapter.head
        self.batch_size, self.floors = spec.settings.batch_size, spec.floors
        self.steps_per_epoch = data.training_examples / self.batch_size
        self.planned_steps = planned_steps(self.recipe, data.training_examples, self.batch_size)
        self.step_count = 0
        self._rates = optimizer_of(job, spec.workload.optimizer, self.recipe)
        self.optimizer = self._rates.optimizer
        self.update = update_with(self.optimizer, self.settings, device, USUAL_LOSS_SCALE, self.recipe.clip_norm)
        self._stack, self._marks = stack, marks
        self._started = False
        if not processes.alone:
            self.job = share_gradients(job, USUAL_BUCKET_MIB, device)[0]

    @property
    def examples(self) -> int:
        """Training examples seen so far, in all processes."""
        return self.step_count * self.batch_size

    @property
    def notes(self) -> list[str]:
        """What to know about the run so far; reading data may add to it."""
        return list(dict.fromkeys((*self.job.notes, *self.data.notes)))

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences on what the run is made with, none of which spoils its numbers."""
        return (*self.data.remarks, *self.job.remarks)

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        return rate_of(self.recipe, step, self.planned_steps, self.steps_per_epoch)

    def start(self) -> None:
        """Begin to supply batches, from the step that comes next on."""
        next_batch = self._stack.enter_context(self.data.training(self.step_count))
        self._step = make_fed_step(
            self.job, next_batch, self.spec.workload, self.settings, self.device, self._marks, self.update
        )
        self._started = True
        self.train_mode()

    def step(self) -> Tensor:
        """One optimiser step with the schedule's rate; its loss, as a mean over this process's share of the batch."""
        if not self._started:
            self.start()
        self._rates.set(self.rate(self.step_count))
        loss = self._step()
        assert loss is not None, "a training step has a loss"
        self.step_count += 1
        return loss.detach()

    def evaluate(self) -> tuple[float, float | None]:
        """Loss and accuracy over the evaluation part."""
        self.processes.share_buffers(self.model)
        self.model.eval()
        try:
            with self.data.evaluation() as batches:
                return evaluate(
                    self.job, self.model, batches, self.settings, self.device, self.processes, self._show_life
                )
        finally:
            self.train_mode()

    def train_mode(self) -> None:
        """Everything that is trained; what is frozen keeps its batch-norm statistics and drops nothing out."""
        self.job.model.train()
        if self._head is not None:
            self.model.eval()
            self._head.train()

    def _show_life(self) -> None:
        self.channel.step(self.step_count, planned_steps=self.planned_steps)
