"""A job whose ranks share their gradients: the model in torch's wrapper, and what that sends."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from traindyno.core.scaling import USUAL_BUCKET_MIB
from traindyno.worker.devices import Device
from traindyno.worker.job import Job
from traindyno.worker.knobs.accumulation import WHOLE, Share

UNUSED_REMEDY = (
    "Some parameters have no part in the loss, and the other devices wait for their gradients: leave them out of the "
    "model, or freeze them by requires_grad_(False); TORCH_DISTRIBUTED_DEBUG=DETAIL has the log name them."
)
FORWARD_REMEDY = (
    "Gradients are shared by what the model's forward pass computes: let training_step call model(...) alone, and no "
    "other method or attribute of it."
)


@dataclass
class SharedJob(Job):
    """The job on a wrapped model. Of an accumulated step only the last part sends gradients, as users write it."""

    def bound_loss(self, model: nn.Module, batch: Any, share: Share = WHOLE) -> Callable[[], Tensor]:
        loss = super().bound_loss(model, batch, share)
        if share.number == share.of - 1:
            return loss
        assert isinstance(model, DistributedDataParallel), "the job's model shares its gradients"

        def unshared() -> Tensor:
            # What the forward pass is told holds for its backward pass too.
            with model.no_sync():
                return loss()

        return unshared


def share_gradients(job: Job, bucket_mib: float, device: Device) -> tuple[SharedJob, DistributedDataParallel]:
    """The job with its model wrapped, and the wrapper. torch's usual buckets begin with a small one; others do not."""
    numbers = None if device.torch_device.type == "cpu" else [device.torch_device.index]
    bucket = None if bucket_mib == USUAL_BUCKET_MIB else bucket_mib
    wrapped = DistributedDataParallel(job.model, device_ids=numbers, bucket_cap_mb=bucket)
    if job.communication_hook is not None:
        wrapped.register_comm_hook(None, job.communication_hook)
    fields = {field.name: getattr(job, field.name) for field in dataclasses.fields(Job)}
    return SharedJob(**{**fields, "model": wrapped}), wrapped


def refusal_of(error: BaseException) -> str | None:
    """What to change in a model that the wrapper does not take, in a sentence; null for any other error."""
    text = str(error)
    if "Expected to have finished reduction" in text:
        return UNUSED_REMEDY
    return FORWARD_REMEDY if "'DistributedDataParallel' object has no attribute" in text else None


def gradient_bytes(model: nn.Module) -> int:
    return sum(each.numel() * each.element_size() for each in model.parameters() if each.requires_grad)


def bucket_bytes(wrapped: DistributedDataParallel) -> tuple[int, ...]:
    """The sizes in which gradients are sent, in order. They are settled anew after the first step has shown it."""
    told: dict[str, Any] = wrapped._get_ddp_logging_data()  # type: ignore[no-untyped-call]
    sizes = told.get("rebuilt_bucket_sizes") or told.get("bucket_sizes") or ""
    return tuple(int(size) for size in str(sizes).split(",") if size.strip())


def buffer_sharing(wrapped: DistributedDataParallel) -> Callable[[], object] | None:
    """What every step does before its forward pass where the model has buffers, as batch normalisation does: all ranks
    take those of the first. Null where there are none.
    """
    return wrapped._sync_buffers if wrapped.broadcast_buffers and wrapped.modules_buffers else None
