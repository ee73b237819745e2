"""Cropping and mirroring on the device is what the loader's workers do, for any window."""

import numpy as np
import pytest
import torch

from traindyno.worker.data.augment import PADDING, CropBox, cut
from traindyno.worker.data.normalise import normalise
from traindyno.worker.data.stored import Augmentation, Pixels
from traindyno.worker.learning.pictures import StoredPictures, changing, still
from worker.data.pictures import picture

CPU = torch.device("cpu")


def stored(how: Augmentation, height: int, width: int, count: int = 3) -> StoredPictures:
    return StoredPictures(np.stack([picture(height, width, seed) for seed in range(count)]), torch.arange(count), how)


def by_worker(pixels: Pixels, box: CropBox, size: int) -> torch.Tensor:
    return normalise(torch.from_numpy(np.array(cut(pixels, box, size)))[None])[0]


@pytest.mark.parametrize("flip", [False, True])
def test_a_shifted_picture_has_the_pixels_and_the_black_border_that_a_worker_gives_it(flip: bool) -> None:
    pictures = stored("padded_crop", 8, 8)
    held = changing(pictures, 8, channels_last=False, device=CPU)
    for top in range(2 * PADDING + 1):
        for left in range(2 * PADDING + 1):
            images, labels = held.batch(torch.tensor([2]), torch.tensor([[top, left, int(flip)]]))
            box = CropBox(top - PADDING, left - PADDING, 8, 8, flip)
            assert torch.equal(images[0], by_worker(pictures.pixels[2], box, 8))
            assert labels.tolist() == [2]


@pytest.mark.parametrize("flip", [False, True])
def test_a_crop_has_the_pixels_that_a_worker_gives_it(flip: bool) -> None:
    pictures = stored("crop", 9, 12)
    held = changing(pictures, 6, channels_last=False, device=CPU)
    for top, left in [(0, 0), (3, 6), (2, 1)]:
        images, _ = held.batch(torch.tensor([1]), torch.tensor([[top, left, int(flip)]]))
        assert torch.equal(images[0], by_worker(pictures.pixels[1], CropBox(top, left, 6, 6, flip), 6))


@pytest.mark.parametrize(("how", "size", "tops", "lefts"), [("padded_crop", 8, 9, 9), ("crop", 6, 3, 5)])
def test_windows_lie_everywhere_they_may_and_half_of_them_are_mirrored(
    how: Augmentation, size: int, tops: int, lefts: int
) -> None:
    height, width = (8, 8) if how == "padded_crop" else (8, 10)
    held = changing(stored(how, height, width), size, channels_last=False, device=CPU)
    windows = held.windows(4000, torch.Generator().manual_seed(0))
    assert set(windows[:, 0].tolist()) == set(range(tops))
    assert set(windows[:, 1].tolist()) == set(range(lefts))
    assert 0.45 < windows[:, 2].float().mean() < 0.55


def test_each_picture_of_a_batch_has_its_own_window() -> None:
    pictures = stored("padded_crop", 8, 8)
    held = changing(pictures, 8, channels_last=False, device=CPU)
    images, labels = held.batch(torch.tensor([2, 0]), torch.tensor([[0, 8, 0], [4, 4, 1]]))
    assert torch.equal(images[0], by_worker(pictures.pixels[2], CropBox(-4, 4, 8, 8), 8))
    assert torch.equal(images[1], by_worker(pictures.pixels[0], CropBox(0, 0, 8, 8, True), 8))
    assert labels.tolist() == [2, 0]


@pytest.mark.parametrize("how", ["padded_crop", "none"])
def test_in_channels_last_the_same_numbers_lie_otherwise_in_memory(how: Augmentation) -> None:
    plain, last = (changing(stored(how, 8, 8), 8, layout, CPU) for layout in (False, True))
    indices, windows = torch.tensor([1, 2]), plain.windows(2, torch.Generator().manual_seed(0))
    (one, _), (other, _) = plain.batch(indices, windows), last.batch(indices, windows)
    assert torch.equal(one, other)
    assert one.is_contiguous()
    assert other.is_contiguous(memory_format=torch.channels_last)


def test_evaluation_sees_the_middle_of_a_larger_picture() -> None:
    pictures = stored("crop", 9, 12)
    images, _ = still(pictures, 6, channels_last=False, device=CPU).batch(torch.tensor([0]), torch.empty(0))
    assert torch.equal(images[0], by_worker(pictures.pixels[0], CropBox(1, 3, 6, 6), 6))
