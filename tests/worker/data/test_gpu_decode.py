"""Batches decoded on the GPU are those that the host would have made, and the thread that decodes them ends."""

import importlib.util
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.worker.data import gpu_decode
from traindyno.worker.data.augment import augment
from traindyno.worker.data.bad import BadExampleError
from traindyno.worker.data.decoders import NVJPEG_LARGEST_DIFFERENCE_FULL_COLOUR, nvjpeg
from traindyno.worker.data.decoders.nvjpeg import decoded_on_host
from traindyno.worker.data.decoders.pil import decode_pil
from traindyno.worker.data.gpu_decode import Ahead, GpuDecoder
from traindyno.worker.data.normalise import FACTORS, SHIFTS
from traindyno.worker.data.packing import Jpeg, PackedBatch, examine, pack, wrap
from traindyno.worker.data.stored import Stored
from worker.data.pictures import encoded, picture

pytestmark = pytest.mark.filterwarnings("ignore:The image decoding:DeprecationWarning")
TESTS = Path(__file__).parents[2]
SOURCE = TESTS.parent / "src"
GPU = torch.device("cuda", 0)
SIZE = 64


def _threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("ahead")}


def _doubled(number: int) -> int:
    return 2 * number


def test_items_come_in_their_order_and_end() -> None:
    assert list(Ahead(range(20), _doubled, depth=3)) == list(range(0, 40, 2))
    assert not _threads()


def test_all_decoders_of_a_device_share_a_stream_for_which_torch_keeps_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_decode, "_check", lambda device: None)
    monkeypatch.setattr(torch.cuda, "Stream", lambda device, priority: object())
    gpu_decode._decoding_stream.cache_clear()
    other = torch.device("cuda", 1)
    first, second, elsewhere = (GpuDecoder([], device, SIZE)._stream for device in (GPU, GPU, other))
    gpu_decode._decoding_stream.cache_clear()
    assert first is second is not elsewhere


def test_nothing_comes_after_the_end() -> None:
    ahead = Ahead([1], _doubled, depth=2)
    assert list(ahead) == [2]
    assert list(ahead) == []


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_no_more_than_depth_items_are_begun_before_they_are_asked_for(depth: int) -> None:
    begun: list[int] = []
    enough = threading.Event()

    def note(number: int) -> int:
        begun.append(number)
        if len(begun) == depth:
            enough.set()
        return number

    ahead = Ahead(range(100), note, depth)
    assert enough.wait(10)
    assert begun == list(range(depth))
    ahead.close()
    assert begun == list(range(depth))


def test_closing_lets_go_of_what_was_made_ahead() -> None:
    class Made:
        pass

    made: list[weakref.ref[Made]] = []
    enough = threading.Event()

    def make(number: int) -> Made:
        thing = Made()
        made.append(weakref.ref(thing))
        if len(made) == 2:
            enough.set()
        return thing

    ahead = Ahead(range(9), make, depth=2)
    assert enough.wait(10)
    ahead.close()
    assert [thing() for thing in made] == [None, None]


@pytest.mark.parametrize("raised", [ValueError("bad"), MemoryError("none left")])
def test_what_the_work_raises_is_raised_in_its_turn_and_ends_all(raised: Exception) -> None:
    def fail_at_two(number: int) -> int:
        if number == 2:
            raise raised
        return number

    ahead = Ahead(range(9), fail_at_two, depth=4)
    assert [next(ahead), next(ahead)] == [0, 1]
    with pytest.raises(type(raised), match=str(raised)):
        next(ahead)
    assert list(ahead) == []
    assert not _threads()


def test_what_the_loader_raises_is_raised_too() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise RuntimeError("a worker was killed")

    ahead = Ahead(broken(), _doubled, depth=2)
    assert next(ahead) == 2
    with pytest.raises(RuntimeError, match="a worker was killed"):
        next(ahead)
    assert not _threads()


def test_closing_waits_for_the_item_in_work_and_leaves_no_thread() -> None:
    begun, go_on = threading.Event(), threading.Event()
    finished: list[int] = []

    def work(number: int) -> int:
        begun.set()
        go_on.wait(10)
        finished.append(number)
        return number

    ahead = Ahead(range(9), work, depth=3)
    assert begun.wait(10)
    threading.Timer(0.05, go_on.set).start()
    ahead.close()
    ahead.close()
    assert finished == [0]
    assert not _threads()


def test_without_a_gpu_there_is_no_decoding_on_it() -> None:
    with pytest.raises(UsageError, match="nvjpeg needs a GPU") as caught:
        GpuDecoder([], torch.device("cpu"), SIZE)
    assert "the decoder pil" in (caught.value.hint or "")


def test_without_triton_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(TraindynoError) as caught:
        GpuDecoder([], GPU, SIZE)
    assert "pip install triton" in (caught.value.hint or "")


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")
def test_the_kernel_computes_what_the_reference_does_when_interpreted() -> None:
    environment = os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": f"{SOURCE}{os.pathsep}{TESTS}"}
    program = TESTS / "worker" / "data" / "crop_check.py"
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert max(map(float, done.stdout.split())) < 0.01


@pytest.mark.gpu
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("size", [9, 34, 224])
@pytest.mark.parametrize("times", [1, 20])
def test_the_kernel_computes_what_the_reference_does_on_the_gpu(size: int, channels_last: bool, times: int) -> None:
    from worker.data.crop_check import largest_difference

    assert largest_difference("cuda", size, torch.float32, channels_last, times) < 0.01
    # Half a step of the type at the largest normalised value, about 2.6, in levels.
    assert largest_difference("cuda", size, torch.bfloat16, channels_last, times) < 0.6
    assert largest_difference("cuda", size, torch.float16, channels_last, times) < 0.1


def _contents(number: int) -> list[bytes]:
    """JPEGs of many sizes, in full colour so that nvJPEG and libjpeg differ by rounding alone."""
    return [
        encoded(picture(90 + 7 * i, 120 + 5 * number, seed=31 * number + i), quality=90, subsampling=0)
        for i in range(6)
    ]


def _batch(contents: list[bytes], number: int = 0) -> PackedBatch:
    rng = np.random.default_rng(number)
    parcels = [
        wrap(examine(Stored(content, i, f"{i}.jpg")), "resized_crop", SIZE, "train", rng)
        for i, content in enumerate(contents)
    ]
    return pack(parcels, range(number, number + len(parcels)))


def _by_host(contents: list[bytes], number: int = 0) -> np.ndarray:
    rng = np.random.default_rng(number)
    return np.stack([augment(decode_pil(content), "resized_crop", SIZE, "train", rng) for content in contents])


def _levels(images: Tensor) -> np.ndarray:
    return (images.double().permute(0, 2, 3, 1).cpu().numpy() - np.array(SHIFTS)) / np.array(FACTORS)


def _assert_same(images: Tensor, expected: np.ndarray) -> None:
    apart = np.abs(_levels(images) - expected)
    assert apart.max() <= NVJPEG_LARGEST_DIFFERENCE_FULL_COLOUR + 1
    assert apart.mean() <= 1


@pytest.mark.gpu
def test_batches_are_those_of_the_host() -> None:
    contents = [_contents(number) for number in range(5)]
    batches = [_batch(content, number) for number, content in enumerate(contents)]
    with GpuDecoder(batches, GPU, SIZE) as decoder:
        made = list(decoder)
    assert len(made) == 5
    for number, (images, labels) in enumerate(made):
        assert images.device == labels.device == GPU
        assert labels.tolist() == list(range(number, number + 6))
        _assert_same(images, _by_host(contents[number], number))


@pytest.mark.gpu
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_type_and_layout_are_those_asked_for(dtype: torch.dtype, channels_last: bool) -> None:
    with GpuDecoder([_batch(_contents(0))], GPU, SIZE, dtype, channels_last) as decoder:
        images, _ = next(decoder)
    assert images.dtype == dtype
    assert images.is_contiguous(memory_format=torch.channels_last if channels_last else torch.contiguous_format)


@pytest.mark.gpu
def test_formats_that_nvjpeg_cannot_decode_come_out_too() -> None:
    odd = [encoded(picture(80, 90), "PNG"), encoded(picture(70, 99), mode="CMYK")]
    contents = [odd[0], *_contents(0), odd[1], encoded(picture(99, 88), mode="L"), encoded(picture(50, 60), "WEBP")]
    with GpuDecoder([_batch(contents), _batch(odd, 1)], GPU, SIZE) as decoder:
        (mixed, _), (all_odd, _) = list(decoder)
    _assert_same(mixed, _by_host(contents))
    _assert_same(all_odd, _by_host(odd, 1))


@pytest.mark.gpu
def test_progressive_jpegs_come_out_right() -> None:
    contents = [encoded(picture(77 + i, 90, seed=i), subsampling=0, progressive=True, quality=90) for i in range(4)]
    with GpuDecoder([_batch(contents)], GPU, SIZE) as decoder:
        images, _ = next(decoder)
    _assert_same(images, _by_host(contents))


def _as_jpeg(content: bytes, name: str) -> PackedBatch:
    """A batch that tells nvJPEG to decode this, whatever it is, between two good images."""
    good = _contents(0)[:2]
    rng = np.random.default_rng(0)
    examined = [Jpeg(good[0], 90, 120, "first"), Jpeg(content, 80, 90, name), Jpeg(good[1], 97, 120, "last")]
    return pack([wrap(jpeg, "resized_crop", SIZE, "infer", rng) for jpeg in examined], [0, 1, 2])


@pytest.mark.gpu
def test_an_image_that_nvjpeg_refuses_is_decoded_on_the_host() -> None:
    pixels = picture(80, 90)
    batch = _as_jpeg(encoded(pixels, "PNG"), "really a png")
    with GpuDecoder([batch], GPU, SIZE) as decoder:
        images, _ = next(decoder)
    rng = np.random.default_rng(0)
    _assert_same(images[1:2], augment(pixels, "resized_crop", SIZE, "infer", rng)[None])
    _assert_same(images[:1], augment(decode_pil(_contents(0)[0]), "resized_crop", SIZE, "infer", rng)[None])


@pytest.mark.gpu
def test_an_image_that_nobody_can_decode_is_named() -> None:
    with (
        GpuDecoder([_batch(_contents(0)), _as_jpeg(b"\xff\xd8 nothing", "bad.jpg")], GPU, SIZE) as decoder,
        pytest.raises(BadExampleError, match=r"bad\.jpg cannot be used"),
    ):
        list(decoder)
    assert not _threads()


@pytest.mark.gpu
def test_closing_early_leaves_no_thread_and_gives_the_memory_back() -> None:
    batches = [_batch(_contents(number), number) for number in range(3)] * 20
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    with GpuDecoder(batches, GPU, SIZE) as decoder:
        next(decoder)
    del decoder
    torch.cuda.synchronize()
    assert not _threads()
    assert torch.cuda.memory_allocated() <= before


def _busy(milliseconds: float) -> None:
    torch.cuda._sleep(int(1.7e6 * milliseconds))


@pytest.mark.gpu
@pytest.mark.parametrize("use", [lambda: None, lambda: _busy(3)], ids=["idle", "busy"])
def test_batches_stay_right_while_the_gpu_is_behind(use: Callable[[], None]) -> None:
    """nvJPEG writes at once into the memory it is given, so memory in use must never be given to it."""
    contents = [_contents(number) for number in range(4)]
    batches = [_batch(content, number) for number, content in enumerate(contents)]
    expected = [torch.from_numpy(_by_host(content, number)).double() for number, content in enumerate(contents)]
    means = []
    with GpuDecoder(batches * 25, GPU, SIZE, depth=3) as decoder:
        for images, _ in decoder:
            use()
            means.append(images.double().mean(dim=(0, 2, 3)))
            del images
    factors, shifts = torch.tensor(FACTORS).double(), torch.tensor(SHIFTS).double()
    for step, mean in enumerate(means):
        levels = (mean.cpu() - shifts) / factors
        torch.testing.assert_close(levels, expected[step % 4].mean(dim=(0, 1, 2)), rtol=0, atol=0.5)


@pytest.mark.gpu
def test_the_stream_that_decodes_may_be_behind_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The crops of a batch are held up, so that the next batch is decoded before they have run."""
    from traindyno.worker.data import crop_kernel

    crop = crop_kernel.crop

    def late(*arguments: object) -> Tensor:
        _busy(5)
        return crop(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(crop_kernel, "crop", late)
    contents = [_contents(number) for number in range(4)]
    batches = [_batch(content, number) for number, content in enumerate(contents)]
    with GpuDecoder(batches * 10, GPU, SIZE, depth=3) as decoder:
        for step, (images, _) in enumerate(decoder):
            _assert_same(images, _by_host(contents[step % 4], step % 4))


def test_an_image_that_only_the_gpu_finds_bad_is_named_with_a_decoder_that_can_leave_it_out() -> None:
    with pytest.raises(BadExampleError, match=r"7\.jpg cannot be used") as raised:
        decoded_on_host(torch.zeros(16, dtype=torch.uint8), "7.jpg")
    assert "the decoder pil" in str(raised.value.hint)


def test_the_largest_images_are_decoded_first_and_all_come_out_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decoded to nothing but their number of bytes, which tells them apart."""
    given: list[list[int]] = []

    def note(parts: list[Tensor], device: torch.device) -> list[Tensor]:
        given.append([len(part) for part in parts])
        return [torch.tensor([len(part)]) for part in parts]

    monkeypatch.setattr(nvjpeg, "_nvjpeg", note)
    monkeypatch.setattr(nvjpeg, "_sent", lambda parts, size, device: [torch.tensor([-len(part)]) for part in parts])
    sides = ((40, 50), (90, 120), (60, 70), (80, 80))
    contents = [encoded(picture(*side)) for side in sides]
    contents.insert(2, encoded(picture(300, 300), "PNG"))
    images = nvjpeg.device_images(_batch(contents), SIZE, torch.device("cpu"))
    sizes = [len(content) for content in contents]
    assert given == [[sizes[1], sizes[4], sizes[3], sizes[0]]]
    assert [int(image) for image in images] == [sizes[0], sizes[1], -3 * SIZE * SIZE, *sizes[3:]]
