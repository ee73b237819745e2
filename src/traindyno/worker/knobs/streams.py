"""The stream of the GPU that training runs on."""

import torch

from traindyno.core.loading import GPU_DECODER
from traindyno.core.records import Settings


def leave_default_stream(settings: Settings, device: torch.device) -> None:
    """Where the GPU decodes, train on a stream other than CUDA's default, from here on in this thread.

    The streams that nvJPEG works on wait for all that was queued on the default one, and the other way round: on that a
    step and the decoding of the next batch would take turns. What was queued before is waited for.
    """
    if device.type != "cuda" or settings.decoder != GPU_DECODER:
        return
    before = torch.cuda.current_stream(device)
    if before == torch.cuda.default_stream(device):
        own = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        own.wait_stream(before)
        torch.cuda.set_stream(own)
