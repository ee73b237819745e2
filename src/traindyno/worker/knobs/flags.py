"""Knobs that hold for the whole process. A trial has its own, so nothing is ever set back.

Only what differs from torch's defaults is touched, and after the user's file was read: its own flags stay as they are.
"""

import os

import torch

from traindyno.core.loading import GPU_DECODER, Decoder
from traindyno.core.records import Settings

QUEUES = "CUDA_DEVICE_MAX_CONNECTIONS"


def set_before_cuda(settings: Settings) -> None:
    """What CUDA and its libraries read once, when they start."""
    if settings.determinism == "all":
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    set_queues(settings.decoder)
    if settings.expandable_segments:
        torch._C._accelerator_setAllocatorSettings(_with_expandable_segments())


def set_queues(decoder: Decoder) -> None:
    """nvJPEG works on 14 streams, and CUDA has 8 queues for all of them unless it is told otherwise: what shares one
    with the step waits until all of the step is done.
    """
    if decoder == GPU_DECODER:
        os.environ.setdefault(QUEUES, "32")


def set_flags(settings: Settings) -> None:
    if settings.cudnn_benchmark:
        torch.backends.cudnn.benchmark = True
    if settings.determinism != "none":
        torch.backends.cudnn.deterministic = True
    if settings.determinism == "all":
        torch.use_deterministic_algorithms(True)
    if settings.tf32 != "convolutions":
        # Newer names of these flags exist, but torch refuses to read the old ones after them, as its compiler does.
        torch.backends.cudnn.allow_tf32 = settings.tf32 == "all"
        torch.backends.cuda.matmul.allow_tf32 = settings.tf32 == "all"
    if settings.threads is not None:
        torch.set_num_threads(settings.threads)


def _with_expandable_segments() -> str:
    """The user's own configuration of the allocator, which this call would otherwise undo, and the one option."""
    own = os.environ.get("PYTORCH_ALLOC_CONF") or os.environ.get("PYTORCH_CUDA_ALLOC_CONF")
    return f"{own},expandable_segments:True" if own else "expandable_segments:True"
