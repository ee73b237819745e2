"""A workload made real: the model, its batches, its loss and its optimiser."""

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from traindyno.core.errors import UsageError
from traindyno.core.records import Mode, WorkloadSpec
from traindyno.worker.batches import (
    BatchSource,
    ExampleSource,
    FunctionSource,
    ImageSource,
    as_tensor,
    in_fresh_containers,
    map_leaves,
    own_copy,
)
from traindyno.worker.data.pipeline import Data
from traindyno.worker.handing import Signature, call, signature_of, split
from traindyno.worker.image_data import DEFAULT_IMAGE_SIZE, Progress, open_data, source_of, with_classes
from traindyno.worker.knobs.accumulation import WHOLE, Share
from traindyno.worker.loaders import dataset_source, loader_source
from traindyno.worker.losses import Criterion, scalar
from traindyno.worker.models import build_named_model
from traindyno.worker.optimizers import OptimizerFactory, make_optimizer, named_optimizer
from traindyno.worker.resident import CHANGES_BATCH, handed_again
from traindyno.worker.single_values import accept_single_values, refuses_single_values
from traindyno.worker.user_file import build_model, load_workload
from traindyno.worker.workload import Workload

ASSUMED_IMAGES = (
    "traindyno assumed that the model takes batches of images; if it takes something else, "
    "return traindyno.Workload(model=..., example_input=...)"
)
WITHOUT_BATCH = "example_input is ONE example without batch dimension; traindyno adds that dimension"


@dataclass
class Job:
    """What a trial runs. Batches are handed to `loss` and `predict` just as `batch` or a loader gave them.

    `first_loss_scale` is for training in fp16. The usual one is so large that the first updates overflow and are left
    out, with the time and the memory that the optimiser takes for them. From 1 on, every step measured is a whole one.
    `own_optimizer` tells that `optimizer` is the user's and not one by name, `changes_batch` that `training_step` was
    seen to change a batch that stays. `notes` are what may spoil a measurement, `remarks` are sentences on what is as
    it should be.
    """

    model: nn.Module
    examples_in_data: int | None
    source: BatchSource
    signature: Signature
    criterion: Criterion
    optimizer: OptimizerFactory
    mode: Mode = "train"
    training_step: Callable[[nn.Module, Any], Tensor] | None = None
    evaluation_dataset: Any = None
    communication_hook: Callable[[Any, Any], Any] | None = None
    advice: str | None = None
    known: bool = False
    first_loss_scale: float = 1.0
    own_optimizer: bool = False
    changes_batch: bool = False
    notes: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def batch(self, batch_size: int, device: torch.device, seed: int = 0) -> Any:
        """One batch that stays on the device; synthetic tensors are made there."""
        return self.source.batch(batch_size, device, seed)

    def loss(self, model: nn.Module, batch: Any, share: Share = WHOLE) -> Tensor:
        """Forward and loss of a training step, or of one part of it."""
        return self.bound_loss(model, batch, share)()

    def bound_loss(self, model: nn.Module, batch: Any, share: Share = WHOLE) -> Callable[[], Tensor]:
        """Forward and loss of a batch that stays the same; how to hand it over is settled once, not each step."""
        compute = self._bind(model, batch, share)

        def loss() -> Tensor:
            try:
                return compute()
            except Exception as error:
                if not self._taught(model, error):
                    self._advise(error)
                    raise
            return compute()

        return loss

    def predict(self, model: nn.Module, batch: Any) -> Any:
        """Forward alone. Of a job with its own training step only that is known, so evaluation runs it."""
        try:
            return self._predict(model, batch)
        except Exception as error:
            self._advise(error)
            raise

    def make_optimizer(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        return make_optimizer(self.optimizer, parameters)

    def _bind(self, model: nn.Module, batch: Any, share: Share) -> Callable[[], Tensor]:
        if self.training_step is not None:
            own_step, handed = self.training_step, handed_again(batch, self._note_change)
            return lambda: scalar(own_step(model, next(handed)), "training_step")
        inputs, target = split(batch, self.signature)
        criterion, signature = self.criterion, self.signature
        return lambda: criterion(call(model, inputs, signature), target, share)

    def _predict(self, model: nn.Module, batch: Any) -> Any:
        if self.training_step is not None and self.mode == "train":
            return self.training_step(
                model, own_copy(batch, pinned=False) if self.changes_batch else in_fresh_containers(batch)
            )
        inputs, _ = split(batch, self.signature)
        return call(model, inputs, self.signature)

    def _note_change(self) -> None:
        if not self.changes_batch:
            self.notes.append(CHANGES_BATCH)
        self.changes_batch = True

    def _taught(self, model: nn.Module, error: Exception) -> bool:
        """Whether a known model refused a batch of one, and now no longer will."""
        taught = self.known and refuses_single_values(error) and accept_single_values(model)
        if taught:
            self.notes.append("batch normalisation used its running statistics: one example has no variance")
        return taught

    def _advise(self, error: Exception) -> None:
        """Add a note to what the made-up input may have caused; the error stays the user's own."""
        suspect = type(error) in (RuntimeError, TypeError, ValueError, IndexError)
        if self.advice is not None and suspect and "memory" not in str(error):
            error.add_note(f"hint: {self.advice}")


def build_job(spec: WorkloadSpec, device: torch.device | None = None, progress: Progress | None = None) -> Job:
    """Build what the specification names. Known models are made directly on the device, if one is given."""
    data = open_data(spec, progress)
    return _user_job(spec, data) if spec.runs_user_code else _named_job(spec, data, device)


def open_source(spec: WorkloadSpec, progress: Progress | None = None) -> BatchSource:
    """The data without the model, which may be missing; a known one is built on shapes alone, for its image size."""
    data = open_data(spec, progress)
    if spec.runs_user_code:
        return _user_source(load_workload(spec.model, spec.source_sha256, spec.arguments), spec, data, [])[0]
    if spec.model:
        return _shape_job(spec, data).source
    return _images_of_any_size(spec) if data is None else source_of(data, spec, None, [])


def _shape_job(spec: WorkloadSpec, data: Data | None) -> Job:
    try:
        return _named_job(spec, data, torch.device("meta"))
    except (RuntimeError, NotImplementedError):
        return _named_job(spec, data, None)


def _named_job(spec: WorkloadSpec, data: Data | None, device: torch.device | None) -> Job:
    if data is not None:
        spec = with_classes(spec, data)
    with device or contextlib.nullcontext():
        named = build_named_model(spec)
    notes: list[str] = []
    source: BatchSource = ImageSource(named.input_shape, named.classes)
    if data is not None:
        source = source_of(data, spec, named.input_shape, notes)
    return Job(
        model=named.model,
        examples_in_data=source.examples,
        source=source,
        signature=signature_of(named.model),
        criterion=Criterion(classes=named.classes, auxiliary_weight=named.auxiliary_weight),
        optimizer=named_optimizer(spec.optimizer),
        mode=spec.mode,
        known=True,
        notes=notes,
    )


def _user_job(spec: WorkloadSpec, data: Data | None) -> Job:
    if spec.conv1_stride is not None:
        raise UsageError("your own model has no choice of conv1 stride", "only ir: models take --conv1-stride")
    workload = load_workload(spec.model, spec.source_sha256, spec.arguments)
    model = build_model(workload)
    notes: list[str] = []
    source, advice = _user_source(workload, spec, data, notes)
    return Job(
        model=model,
        examples_in_data=source.examples,
        source=source,
        signature=signature_of(model),
        criterion=Criterion(loss=workload.loss, classes=spec.classes),
        optimizer=workload.optimizer or named_optimizer(spec.optimizer),
        mode=spec.mode,
        training_step=workload.training_step,
        evaluation_dataset=workload.evaluation_dataset,
        communication_hook=_communication_hook(workload),
        advice=advice,
        own_optimizer=workload.optimizer is not None,
        notes=notes,
    )


def _communication_hook(workload: Workload) -> Callable[[Any, Any], Any] | None:
    if workload.communication_hook is not None and not callable(workload.communication_hook):
        raise UsageError(
            f"the workload's communication_hook is a {type(workload.communication_hook).__name__}",
            "give a function (state, bucket) -> torch.futures.Future, as register_comm_hook takes it",
        )
    return workload.communication_hook


def _user_source(
    workload: Workload, spec: WorkloadSpec, data: Data | None, notes: list[str]
) -> tuple[BatchSource, str | None]:
    """Where the batches come from, and what to suspect first if the model does not take them."""
    given = [name for name in ("example_input", "dataset", "loader") if getattr(workload, name) is not None]
    if len(given) > 1:
        raise UsageError(f"the workload has {' and '.join(given)}", "give only one of them")
    _check_evaluation(workload, spec, data)
    if data is not None:
        if given:
            raise UsageError(
                f"the workload has its own {given[0]}, and --data names {spec.data}", "give only one of them"
            )
        return source_of(data, spec, None, notes), ASSUMED_IMAGES
    if not given:
        return _images_of_any_size(spec), ASSUMED_IMAGES
    if spec.skip_bad:
        raise UsageError(
            f"--skip-bad cannot see which items of the workload's {given[0]} are bad",
            "leave it away, and let the dataset itself leave bad items out",
        )
    if spec.image_size is not None:
        raise UsageError(f"the image size is settled by the workload's {given[0]}", "leave --image-size away")
    if workload.dataset is not None:
        return dataset_source(workload.dataset), None
    if workload.loader is not None:
        return loader_source(workload.loader), None
    return _example_source(workload.example_input)


def _check_evaluation(workload: Workload, spec: WorkloadSpec, data: Data | None) -> None:
    """What accuracy is measured on must be of the same kind as what is trained on."""
    if workload.evaluation_dataset is None:
        return
    if data is not None:
        raise UsageError(
            f"the workload has its own evaluation_dataset, and --data names {spec.data}",
            "leave one of them away: data by name has an evaluation split, or a part of it is held out",
        )
    if workload.dataset is None and workload.loader is None:
        raise UsageError(
            "the workload has an evaluation_dataset and nothing to train on", "give it a dataset or a loader too"
        )


def _images_of_any_size(spec: WorkloadSpec) -> ImageSource:
    size = spec.image_size or DEFAULT_IMAGE_SIZE
    return ImageSource((3, size, size))


def _example_source(example: Any) -> tuple[BatchSource, str | None]:
    if callable(example):
        return FunctionSource(example), None
    map_leaves(as_tensor, example)
    return ExampleSource(example), WITHOUT_BATCH
