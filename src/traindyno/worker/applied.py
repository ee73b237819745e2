"""What `traindyno.apply` hands back: the loader, the step and the prediction of a training script."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from traindyno.core.errors import UsageError
from traindyno.core.records import Settings
from traindyno.worker.applied_loading import AppliedLoader
from traindyno.worker.batches import to_device
from traindyno.worker.devices import open_device
from traindyno.worker.job import Job
from traindyno.worker.knobs.compiling import outlasting, with_fresh_graphs
from traindyno.worker.knobs.layout import laid_out
from traindyno.worker.steps import mixed


@dataclass(frozen=True, eq=False)
class Applied:
    """What a script trains with. `loader` gives batches, `step` trains on one and returns its loss.

    `model` and `optimizer` are those that were given, changed in place. `notes` are what to know about the settings.
    """

    settings: Settings
    device: torch.device
    model: nn.Module | None = field(repr=False)
    optimizer: torch.optim.Optimizer | None = field(repr=False)
    notes: tuple[str, ...]
    _loader: AppliedLoader | None = field(repr=False)
    _job: Job | None = field(repr=False)
    _train: Callable[[Any], Tensor] | None = field(repr=False)

    @property
    def loader(self) -> AppliedLoader:
        """Batches on the device; to iterate is one epoch."""
        if self._loader is None:
            raise UsageError(
                "there is no data to load: neither apply nor its settings named any",
                "give traindyno.apply(settings, model, dataset), a DataLoader or a name such as folder:PATH",
            )
        return self._loader

    def step(self, batch: Any) -> Tensor:
        """Forward, loss, backward and update, on a batch of `loader` or of any other; the loss, not yet waited for.

        A model in evaluation mode is put into training mode first; single layers that you put there stay.
        """
        if self._train is None:
            raise UsageError(
                "a step needs a model and an optimiser", "give traindyno.apply(settings, model, ..., optimizer=...)"
            )
        assert self.model is not None, "who trains has a model"
        if not self.model.training:
            self.model.train()
        return outlasting(self._train(batch), self.settings)

    def predict(self, batch: Any) -> Any:
        """The model's output as in evaluation: no gradients, and the precision and layout of the settings."""
        if self._job is None:
            raise UsageError("a prediction needs a model", "give traindyno.apply(settings, model, ...)")
        job, placed = self._job, laid_out(to_device(batch, self.device), self.settings)
        compute = mixed(lambda: job.predict(job.model, placed), self.settings, open_device(str(self.device)))
        with modes_kept(job.model), torch.inference_mode():
            job.model.eval()
            return outlasting(with_fresh_graphs(compute, self.settings)(), self.settings)


@contextlib.contextmanager
def modes_kept(model: nn.Module) -> Iterator[None]:
    """Afterwards every layer is in training or in evaluation as it was before."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training
