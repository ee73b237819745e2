"""Settings set in a training script: flags, model, optimiser, loader and step, by the code that measured them."""

import os
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from traindyno.core.errors import UsageError
from traindyno.core.loading import GPU_DECODER, Decoder
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.setting_checks import check_settings
from traindyno.core.settings_file import check_settings_table, settings_of
from traindyno.core.setups import SettingsFile
from traindyno.machine.settings_files import read_settings_file
from traindyno.worker.applied import Applied, modes_kept
from traindyno.worker.applied_loading import open_applied
from traindyno.worker.applied_loss import GivenTargets
from traindyno.worker.batches import ExampleSource, to_device
from traindyno.worker.devices import open_device
from traindyno.worker.handing import signature_of
from traindyno.worker.image_data import SYNTHETIC
from traindyno.worker.job import Job
from traindyno.worker.knobs.checkpointing import checkpoint_activations
from traindyno.worker.knobs.compiling import compile_model
from traindyno.worker.knobs.flags import QUEUES, set_before_cuda, set_flags, set_queues
from traindyno.worker.knobs.layout import lay_out_model
from traindyno.worker.knobs.streams import leave_default_stream
from traindyno.worker.optimizers import OptimizerFactory, make_optimizer
from traindyno.worker.steps import make_fed_step
from traindyno.worker.updates import USUAL_LOSS_SCALE

Given = Settings | SettingsFile | Mapping[str, Any] | str | os.PathLike[str]


def apply(
    settings: Given,
    model: nn.Module | None,
    dataset: Any = None,
    *,
    optimizer: torch.optim.Optimizer | OptimizerFactory | None = None,
    loss: Callable[[Any, Any], Tensor] | None = None,
    training_step: Callable[[nn.Module, Any], Tensor] | None = None,
    device: str | torch.device | None = None,
    image_size: int | None = None,
    skip_bad: bool | None = None,
    seed: int = 0,
) -> Applied:
    """Set the settings in this process, and make ready what a training loop needs.

    `settings` is a settings file or its path, a `Settings` or a dict. `dataset` is a map-style dataset, a `DataLoader`,
    which is rebuilt, or a name such as `prepared:PATH`; without it, the data that the file names. `optimizer` is an
    optimiser or what makes one of parameters. `loss` and `training_step` are those of `traindyno.Workload`. `device` is
    by default that of the settings, and without one there (a file has none) the GPU if there is one. `image_size` and
    `skip_bad` are for data by name, and by default the file's. Call it once.
    """
    file = _file_of(settings)
    decoder = settings_of(file, Settings(batch_size=1)).decoder
    late = _comes_late(decoder)
    # To ask torch whether there is a GPU starts CUDA's driver.
    set_queues(decoder)
    chosen = _device(device if device is not None else _named_device(settings))
    complete = _complete(file, dataset, str(chosen))
    _check(complete, file, model, optimizer, chosen)
    data = dataset if dataset is not None or file.data == SYNTHETIC else file.data
    spec = _spec(file, data, image_size=image_size, skip_bad=skip_bad)
    for note in late:
        warnings.warn(note, stacklevel=2)
    set_before_cuda(complete)
    set_flags(complete)
    if chosen.type == "cuda":
        torch.cuda.set_device(chosen)
    leave_default_stream(complete, chosen)
    loader = None if data is None else open_applied(data, spec, complete, chosen, seed)
    notes = [] if model is None else _set_up(model, complete, chosen)
    made = _optimizer(optimizer, model)
    job = None if model is None else _job(model, made, loss, training_step)
    return Applied(
        settings=complete,
        device=chosen,
        model=model,
        optimizer=made,
        notes=(*late, *notes),
        _loader=loader,
        _job=job,
        _train=None if job is None or made is None else _training(job, complete, chosen),
    )


def _file_of(given: Given) -> SettingsFile:
    if isinstance(given, SettingsFile):
        return msgspec.structs.replace(given, settings=_checked(given.settings))
    if isinstance(given, Settings):
        return SettingsFile(settings=_checked(msgspec.structs.asdict(given)))
    if isinstance(given, Mapping):
        return SettingsFile(settings=_checked(given))
    if isinstance(given, str | os.PathLike):
        return read_settings_file(given)
    raise UsageError(
        f"settings cannot be a {type(given).__name__}", "give the path of a settings file, a dict or traindyno.Settings"
    )


def _checked(settings: Mapping[Any, Any]) -> dict[str, Any]:
    """As those of a file are checked; what numpy computed is as good as a plain number."""
    for name in settings:
        if not isinstance(name, str):
            raise UsageError(f"{name!r} is no name of a setting", 'write settings such as {"batch_size": 256}')
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in settings.items()}
    return check_settings_table(plain, "the settings")


def _spec(file: SettingsFile, data: Any, **asked: int | None) -> WorkloadSpec:
    """What the settings were found for, with what was asked for here instead."""
    given = {name: value for name, value in asked.items() if value is not None}
    if given and not isinstance(data, str):
        raise UsageError(
            f"{' and '.join(given)} can be chosen for data by name alone, and your own dataset decides it itself",
            f'leave {" and ".join(given)} away, or name the data, such as dataset="folder:PATH"',
        )
    return msgspec.structs.replace(file.workload or WorkloadSpec(model=""), **given)


def _named_device(given: Given) -> str | None:
    return given.get("device") if isinstance(given, Mapping) else getattr(given, "device", None)


def _device(named: str | torch.device | None) -> torch.device:
    """The device with its number; the GPU in use, or the first. To ask for it must not start CUDA on the device yet."""
    if named is None:
        named = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(named)
    except (RuntimeError, TypeError):
        raise UsageError(f"{named!r} is no device", 'give device="cpu" or device="cuda:0"') from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UsageError(f"the device is {device}, and torch sees no GPU here", 'give device="cpu"')
    if str(device) == "cuda":
        return torch.device("cuda", torch.cuda.current_device() if _cuda_started() else 0)
    return device


def _cuda_started() -> bool:
    return bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call]


def _complete(file: SettingsFile, dataset: Any, device: str) -> Settings:
    """All settings; what is not named is as in the user's loader, if one was given."""
    own = _settings_of_loader(dataset) if isinstance(dataset, DataLoader) else {}
    own["batch_size"] = file.settings.get("batch_size", own.get("batch_size"))
    if own["batch_size"] is None:
        raise UsageError("the settings name no batch_size", "add batch_size = N to them")
    return settings_of(file, Settings(device=device, **own))


def _settings_of_loader(loader: DataLoader[Any]) -> dict[str, Any]:
    """A loader without workers has no `prefetch_factor`."""
    names = ("batch_size", "num_workers", "prefetch_factor", "pin_memory", "persistent_workers")
    found = {name: getattr(loader, name) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def _check(settings: Settings, file: SettingsFile, model: Any, optimizer: Any, device: torch.device) -> None:
    """Refuse what would be set without effect, or too late."""
    if model is not None and not isinstance(model, nn.Module):
        raise UsageError(
            f"the model is a {type(model).__name__}, and not a torch.nn.Module",
            "build it first, such as model = torchvision.models.resnet50()",
        )
    if file.workload is not None and file.workload.mode == "infer":
        raise UsageError(
            "these settings were found for inference, and apply makes ready to train",
            "use the code in the report with a dataset of your own, or find settings with --mode train",
        )
    check_settings(settings, "train", str(device))
    if settings.decoder == GPU_DECODER and device.type != "cuda":
        raise UsageError(f"the decoder nvjpeg needs a GPU, and the device is {device}", 'set decoder to "pil"')
    if settings.optimizer_kernel != "auto" and model is not None and optimizer is None:
        raise UsageError(
            f"optimizer_kernel={settings.optimizer_kernel} is a setting of the optimiser, and none was given",
            "give optimizer=..., or set optimizer_kernel to auto",
        )
    if _cuda_started() and (settings.expandable_segments or settings.determinism == "all"):
        late = "expandable_segments" if settings.expandable_segments else "determinism=all"
        raise UsageError(f"{late} must be set before CUDA starts", "call traindyno.apply before the GPU is first used")


def _comes_late(decoder: Decoder) -> list[str]:
    """What can no longer be set as it was measured, and costs nothing but speed."""
    if decoder != GPU_DECODER or not _cuda_started() or QUEUES in os.environ:
        return []
    return [f"CUDA had started: decoding takes turns with the step. Apply before the GPU is used, or set {QUEUES}=32"]


def _set_up(model: nn.Module, settings: Settings, device: torch.device) -> list[str]:
    """The model as a trial has it, in the same order; what to know about it."""
    model.to(device)
    lay_out_model(model, settings)
    notes = checkpoint_activations(model) if settings.activation_checkpointing else []
    compile_model(model, settings)
    return notes


def _optimizer(given: Any, model: nn.Module | None) -> torch.optim.Optimizer | None:
    if given is None or isinstance(given, torch.optim.Optimizer):
        return given
    if model is None:
        raise UsageError("an optimiser needs a model to be made for", "give the model, or leave optimizer away")
    return make_optimizer(given, model.parameters())


def _job(
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None,
    loss: Callable[[Any, Any], Tensor] | None,
    training_step: Callable[[nn.Module, Any], Tensor] | None,
) -> Job:
    """As a trial has it, with the usual loss scale. Its mode says how to predict: by the model, not the user's step."""

    def existing(_: list[nn.Parameter]) -> torch.optim.Optimizer:
        assert optimizer is not None, "there is no step without an optimiser"
        return optimizer

    return Job(
        model=model,
        examples_in_data=None,
        source=ExampleSource(None),
        signature=signature_of(model),
        criterion=GivenTargets(loss=loss),
        optimizer=existing,
        mode="infer",
        training_step=training_step,
        first_loss_scale=USUAL_LOSS_SCALE,
    )


def _training(job: Job, settings: Settings, device: torch.device) -> Callable[[Any], Tensor]:
    handed: list[Any] = []

    def take() -> Any:
        return to_device(handed.pop(), device, settings.pin_memory)

    with modes_kept(job.model):
        step = make_fed_step(job, take, WorkloadSpec(model="", mode="train"), settings, open_device(str(device)))

    def train(batch: Any) -> Tensor:
        handed[:] = [batch]
        loss = step()
        assert loss is not None, "a training step has a loss"
        return loss.detach()

    return train
