"""Normalised images have ImageNet's scale, the type and the layout in memory that were asked for."""

import pytest
import torch
from torch import Tensor
from torchvision.transforms.functional import normalize

from traindyno.worker.data.normalise import MEAN, STANDARD_DEVIATION, normalise

TYPES = [torch.float32, torch.bfloat16, torch.float16]
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def _images(device: str = "cpu", examples: int = 3) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, (examples, 10, 14, 3), dtype=torch.uint8, generator=generator).to(device)


def _expected(images: Tensor) -> Tensor:
    return normalize(images.cpu().permute(0, 3, 1, 2).double() / 255, list(MEAN), list(STANDARD_DEVIATION))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_values_are_those_of_torchvision_rounded_once(device: str, dtype: torch.dtype, channels_last: bool) -> None:
    images = _images(device)
    result = normalise(images, dtype, channels_last)
    assert result.dtype == dtype
    assert result.device.type == device
    half_a_step = torch.finfo(dtype).eps / 2
    torch.testing.assert_close(result.cpu().double(), _expected(images), rtol=1.01 * half_a_step, atol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("examples", [1, 3])
def test_the_layout_in_memory_is_the_one_asked_for(device: str, dtype: torch.dtype, examples: int) -> None:
    images = _images(device, examples)
    assert normalise(images, dtype, channels_last=False).stride() == (3 * 10 * 14, 10 * 14, 14, 1)
    assert normalise(images, dtype, channels_last=True).stride() == (3 * 10 * 14, 1, 3 * 14, 3)


def test_an_empty_batch_is_no_error() -> None:
    assert normalise(_images(examples=0)).shape == (0, 3, 10, 14)


@pytest.mark.gpu
def test_on_the_gpu_one_kernel_does_it() -> None:
    from torch.profiler import ProfilerActivity, profile

    images = _images("cuda")
    normalise(images, torch.bfloat16, channels_last=True)
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as profiler:
        normalise(images, torch.bfloat16, channels_last=True)
        torch.cuda.synchronize()
    kernels = [event for event in profiler.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    assert len(kernels) == 1, [event.name for event in kernels]
