"""Training leaves CUDA's default stream where the GPU decodes, and only there."""

import threading

import pytest
import torch

from traindyno.core.records import Settings
from traindyno.worker.knobs.streams import leave_default_stream

GPU = torch.device("cuda", 0)


def stream_after(settings: Settings) -> tuple[bool, bool]:
    """Of a thread of its own: whether training is on the default stream, and whether a second call changes that."""
    told: list[tuple[bool, bool]] = []

    def train() -> None:
        leave_default_stream(settings, GPU)
        first = torch.cuda.current_stream(GPU)
        leave_default_stream(settings, GPU)
        told.append((first == torch.cuda.default_stream(GPU), first == torch.cuda.current_stream(GPU)))

    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    return told[0]


def test_a_cpu_has_no_streams() -> None:
    leave_default_stream(Settings(batch_size=1, decoder="nvjpeg"), torch.device("cpu"))


@pytest.mark.gpu
@pytest.mark.parametrize(("decoder", "stays"), [("nvjpeg", False), ("pil", True)])
def test_a_gpu_that_decodes_has_a_stream_for_training(decoder: str, stays: bool) -> None:
    settings = Settings(batch_size=1, decoder=decoder)  # type: ignore[arg-type]
    assert stream_after(settings) == (stays, True)


@pytest.mark.gpu
def test_what_was_queued_before_is_waited_for() -> None:
    """A long sum is queued on the default stream, and read on the other."""
    before = torch.cuda.current_stream(GPU)
    with torch.cuda.stream(torch.cuda.default_stream(GPU)):
        torch.cuda._sleep(50_000_000)
        number = torch.ones(1000, device=GPU).sum()
        leave_default_stream(Settings(batch_size=1, decoder="nvjpeg"), GPU)
        doubled = 2 * number
        torch.cuda.set_stream(before)
    torch.cuda.synchronize()
    assert doubled.item() == 2000
