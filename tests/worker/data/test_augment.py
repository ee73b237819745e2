"""Cropping follows the known laws, and scaling gives what PIL gives."""

from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy.stats import ks_2samp
from torchvision.transforms import RandomResizedCrop

from traindyno.core.records import Mode
from traindyno.worker.data.augment import CropBox, augment, choose_crop, cut
from traindyno.worker.data.stored import Augmentation, Pixels
from worker.data.crop_reference import crop_reference
from worker.data.pictures import differences, picture

WAYS = get_args(Augmentation)
BY_CHANCE = [how for how in WAYS if how != "none"]
SIDES = st.integers(1, 90)


def _rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def _by_pil(pixels: Pixels, box: CropBox, size: int) -> Pixels:
    image = Image.fromarray(pixels).crop((box.left, box.top, box.left + box.width, box.top + box.height))
    image = image.resize((size, size), Image.Resampling.BILINEAR)
    return np.asarray(image.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if box.flip else image)


@settings(max_examples=150, deadline=None)
@given(SIDES, SIDES, st.sampled_from(WAYS), st.integers(1, 40), st.sampled_from(["train", "infer"]), st.integers(0, 99))
def test_any_image_becomes_one_of_the_wanted_size(
    height: int, width: int, how: Augmentation, size: int, mode: Mode, seed: int
) -> None:
    pixels = augment(picture(height, width), how, size, mode, _rng(seed))
    assert pixels.shape == (size, size, 3)
    assert pixels.dtype == np.uint8
    assert pixels.flags.c_contiguous


@settings(max_examples=100, deadline=None)
@given(SIDES, SIDES, st.sampled_from(["resized_crop", "crop"]), st.sampled_from(["train", "infer"]), st.integers(0, 99))
def test_the_part_lies_inside_the_image(height: int, width: int, how: Augmentation, mode: Mode, seed: int) -> None:
    box = choose_crop(height, width, how, 32, mode, _rng(seed))
    assert min(box.top, box.left) >= 0
    assert min(box.height, box.width) >= 1
    assert box.top + box.height <= height
    assert box.left + box.width <= width


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 40), st.booleans())
def test_scaling_gives_what_pil_gives(data: st.DataObject, size: int, flip: bool) -> None:
    pixels = picture(80, 70)
    height, width = data.draw(st.integers(1, 80)), data.draw(st.integers(1, 70))
    top, left = data.draw(st.integers(0, 80 - height)), data.draw(st.integers(0, 70 - width))
    box = CropBox(top, left, height, width, flip)
    largest, _ = differences(cut(pixels, box, size), _by_pil(pixels, box, size))
    assert largest <= 1


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 90), st.integers(1, 90), st.integers(1, 40), st.booleans())
def test_the_reference_for_the_gpu_is_pils_scaling(height: int, width: int, size: int, flip: bool) -> None:
    pixels, box = picture(height, width), CropBox(0, 0, height, width, flip)
    assert np.abs(crop_reference(pixels, box, size) - _by_pil(pixels, box, size)).max() <= 1.01


def test_a_part_of_the_wanted_size_is_copied_as_it_is() -> None:
    pixels = picture(50, 60)
    assert np.array_equal(cut(pixels, CropBox(3, 5, 32, 32), 32), pixels[3:35, 5:37])
    assert np.array_equal(cut(pixels, CropBox(3, 5, 32, 32, flip=True), 32), pixels[3:35, 5:37][:, ::-1])


def test_the_image_itself_is_left_as_it_was() -> None:
    pixels = picture(32, 32)
    pixels.setflags(write=False)
    augment(pixels, "padded_crop", 32, "infer", _rng())[:] = 0
    assert pixels.max() > 100


@pytest.mark.parametrize(("height", "width"), [(375, 500), (64, 64), (30, 400), (400, 30)])
def test_resized_crop_follows_the_law_of_torchvision(height: int, width: int) -> None:
    rng = _rng(1)
    ours = [choose_crop(height, width, "resized_crop", 224, "train", rng)[:4] for _ in range(1500)]
    torch.manual_seed(1)
    image = torch.empty((3, height, width), dtype=torch.uint8)
    theirs = [RandomResizedCrop.get_params(image, [0.08, 1.0], [3 / 4, 4 / 3]) for _ in range(1500)]
    for column in range(4):
        assert ks_2samp([box[column] for box in ours], [box[column] for box in theirs]).pvalue > 0.001


@pytest.mark.parametrize(("height", "width", "expected"), [(30, 400, (30, 40)), (400, 30, (40, 30)), (1, 1, (1, 1))])
def test_an_image_too_long_for_any_try_gives_its_centre(height: int, width: int, expected: tuple[int, int]) -> None:
    class NeverFits(np.random.Generator):
        def uniform(self, low: float, high: float) -> float:  # type: ignore[override]
            return high

    box = choose_crop(height, width, "resized_crop", 8, "train", NeverFits(np.random.PCG64(0)))
    assert (box.height, box.width) == expected
    assert abs(2 * box.top + box.height - height) <= 1
    assert abs(2 * box.left + box.width - width) <= 1


@pytest.mark.parametrize("how", BY_CHANCE)
def test_half_of_the_training_images_are_mirrored_and_none_in_inference(how: Augmentation) -> None:
    rng = _rng()
    mirrored = sum(choose_crop(40, 50, how, 32, "train", rng).flip for _ in range(1000))
    assert 420 < mirrored < 580
    assert not any(choose_crop(40, 50, how, 32, "infer", rng).flip for _ in range(50))


@pytest.mark.parametrize("mode", get_args(Mode))
def test_what_must_stay_as_it_is_is_shown_whole_and_never_mirrored(mode: Mode) -> None:
    rng = _rng()
    assert {choose_crop(40, 50, "none", 32, mode, rng) for _ in range(50)} == {CropBox(0, 0, 40, 50)}


@pytest.mark.parametrize("how", BY_CHANCE)
def test_the_seed_decides_the_crop(how: Augmentation) -> None:
    pixels = picture(60, 70)
    first, again = (augment(pixels, how, 32, "train", _rng(5)) for _ in range(2))
    assert np.array_equal(first, again)
    assert any(not np.array_equal(first, augment(pixels, how, 32, "train", _rng(seed))) for seed in range(6, 12))


def test_crop_does_not_scale_and_reaches_every_corner() -> None:
    rng = _rng()
    boxes = [choose_crop(36, 40, "crop", 32, "train", rng) for _ in range(600)]
    assert {(box.height, box.width) for box in boxes} == {(32, 32)}
    assert {box.top for box in boxes} == set(range(5))
    assert {box.left for box in boxes} == set(range(9))


def test_crop_of_a_smaller_image_scales_it_up() -> None:
    assert choose_crop(20, 50, "crop", 32, "train", _rng())[2:4] == (20, 20)
    assert choose_crop(20, 50, "crop", 32, "infer", _rng()) == CropBox(0, 15, 20, 20)


def test_padded_crop_shifts_by_up_to_four_pixels_over_black() -> None:
    rng = _rng()
    boxes = [choose_crop(32, 32, "padded_crop", 32, "train", rng) for _ in range(600)]
    assert {box.top for box in boxes} == {box.left for box in boxes} == set(range(-4, 5))
    pixels = picture(32, 32)
    shifted = cut(pixels, CropBox(-3, 2, 32, 32), 32)
    assert not shifted[:3].any()
    assert not shifted[:, 30:].any()
    assert np.array_equal(shifted[3:, :30], pixels[:29, 2:])


def test_padded_crop_in_inference_is_the_image_itself() -> None:
    pixels = picture(32, 32)
    assert np.array_equal(augment(pixels, "padded_crop", 32, "infer", _rng()), pixels)


def test_crop_in_inference_is_the_centre_as_it_is_stored() -> None:
    pixels = picture(40, 60)
    assert np.array_equal(augment(pixels, "crop", 32, "infer", _rng()), pixels[4:36, 14:46])


def test_inference_shows_the_centre_of_the_image_resized_to_eight_sevenths() -> None:
    pixels = picture(300, 401, noise=0)
    resized = Image.fromarray(pixels).resize((int(256 * 401 / 300), 256), Image.Resampling.BILINEAR)
    left, top = (resized.width - 224) / 2, (resized.height - 224) / 2
    expected = np.asarray(resized.crop((round(left), round(top), round(left) + 224, round(top) + 224)))
    largest, mean = differences(augment(pixels, "resized_crop", 224, "infer", _rng()), expected)
    assert mean < 1.5
    assert largest < 12
