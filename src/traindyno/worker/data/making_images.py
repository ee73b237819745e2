"""Pictures with the statistics of photographs, whose class can be learnt.

Behind lies a cloud of 1/f noise, as natural scenes have it; before it some textured shapes; over all of it the grain of
a sensor. One or two large shapes carry the class: its hue, its texture's direction and its outline, each a little off,
among others that carry nothing.
"""

import colorsys
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageChops, ImageDraw

from traindyno.worker.data.stored import Pixels

Size = tuple[int, int]
Colour = tuple[float, float, float]

MATERIAL_SEED = 20260
SCENES, SCENE_SIDE = 2, 1024
DIRECTIONS, COARSENESSES, TEXTURE_SIDE = 12, (8, 24), 512
GRAIN_DEVIATIONS = (2.0, 4.0, 6.0, 9.0, 13.0, 18.0)
CORNERS = {"ellipse": 0, "triangle": 3, "square": 4, "pentagon": 5, "star": 10}
OUTLINES = tuple(CORNERS)
GOLDEN = 0.618034
MIDDLE = 128


@dataclass(frozen=True)
class Materials:
    """What pictures are cut from: made once in a process, the same in each."""

    scenes: tuple[Image.Image, ...]
    textures: tuple[tuple[Image.Image, ...], ...]
    grains: tuple[Image.Image, ...]


@cache
def materials() -> Materials:
    random = np.random.default_rng(MATERIAL_SEED)
    return Materials(
        scenes=tuple(_scene(random) for _ in range(SCENES)),
        textures=tuple(
            tuple(_texture(random, math.pi * turn / DIRECTIONS, coarseness) for coarseness in COARSENESSES)
            for turn in range(DIRECTIONS)
        ),
        grains=tuple(_grains(random)),
    )


def draw(label: int, size: Size, random: np.random.Generator) -> Image.Image:
    """One picture of a class, `size` as width and height. The same generator state gives the same picture."""
    scene = _piece(_one_of(materials().scenes, random), size, random)
    picture = _tinted(scene, _colour(random.random(), random.uniform(0, 0.45), random.uniform(0.3, 0.75)), random)
    for _ in range(int(random.integers(2, 7))):
        _put_anything(picture, random)
    for _ in range(int(random.integers(1, 3))):
        _put_own(picture, label, random)
    grain = _piece(_one_of(materials().grains, random), size, random)
    return ImageChops.add(picture, grain, scale=1, offset=-MIDDLE)


def _put_anything(picture: Image.Image, random: np.random.Generator) -> None:
    """A shape that says nothing about the class."""
    colour = _colour(random.random(), random.uniform(0, 0.6), random.uniform(0.15, 0.9))
    direction, outline = int(random.integers(DIRECTIONS)), OUTLINES[int(random.integers(len(OUTLINES)))]
    _put(picture, colour, direction, outline, random.uniform(0.06, 0.25), random)


def _put_own(picture: Image.Image, label: int, random: np.random.Generator) -> None:
    """A shape that carries the class: neighbouring labels differ in every respect, and no two agree in all."""
    colour = _colour(label * GOLDEN + random.normal(0, 0.04), random.uniform(0.4, 0.9), random.uniform(0.4, 0.95))
    direction = (label * 5 + int(random.integers(-1, 2))) % DIRECTIONS
    _put(picture, colour, direction, OUTLINES[label % len(OUTLINES)], random.uniform(0.18, 0.42), random)


def _put(
    picture: Image.Image,
    colour: Colour,
    direction: int,
    outline: str,
    share: float,
    random: np.random.Generator,
) -> None:
    """Paste one textured shape of about `share` of the picture's shorter side as radius, anywhere in it."""
    width, height = picture.size
    radius = share * min(width, height)
    x, y = random.uniform(0.1, 0.9) * width, random.uniform(0.1, 0.9) * height
    left, top = max(0, int(x - radius)), max(0, int(y - radius))
    size = (max(1, min(width, int(x + radius) + 1) - left), max(1, min(height, int(y + radius) + 1) - top))
    mask = Image.new("L", size, 0)
    _fill_outline(ImageDraw.Draw(mask), outline, (x - left, y - top), radius, random.uniform(0, 2 * math.pi))
    texture = _piece(_one_of(materials().textures[direction], random), size, random)
    picture.paste(_tinted(texture, colour, random), (left, top), mask)


def _fill_outline(
    pen: ImageDraw.ImageDraw, outline: str, centre: tuple[float, float], radius: float, turn: float
) -> None:
    x, y = centre
    corners = CORNERS[outline]
    if corners == 0:
        pen.ellipse((x - radius, y - 0.8 * radius, x + radius, y + 0.8 * radius), fill=255)
        return
    reach = [radius * (0.45 if outline == "star" and corner % 2 else 1.0) for corner in range(corners)]
    angles = [turn + 2 * math.pi * corner / corners for corner in range(corners)]
    pen.polygon([(x + r * math.cos(a), y + r * math.sin(a)) for r, a in zip(reach, angles, strict=True)], fill=255)


def _piece(image: Image.Image, size: Size, random: np.random.Generator) -> Image.Image:
    """A random part of `image`; where it is too small, a part of the right shape is enlarged."""
    fit = min(1.0, image.width / size[0], image.height / size[1])
    width, height = max(1, int(size[0] * fit)), max(1, int(size[1] * fit))
    left, top = int(random.integers(image.width - width + 1)), int(random.integers(image.height - height + 1))
    piece = image.crop((left, top, left + width, top + height))
    return piece if piece.size == size else piece.resize(size, Image.Resampling.BILINEAR)


def _tinted(image: Image.Image, colour: Colour, random: np.random.Generator) -> Image.Image:
    """The image about another mean colour, with another contrast."""
    contrast = random.uniform(0.5, 1.2)
    red, green, blue = (channel - contrast * MIDDLE for channel in colour)
    return image.convert("RGB", (contrast, 0, 0, red, 0, contrast, 0, green, 0, 0, contrast, blue))


def _colour(hue: float, saturation: float, value: float) -> Colour:
    red, green, blue = colorsys.hsv_to_rgb(hue % 1, saturation, value)
    return 255 * red, 255 * green, 255 * blue


def _one_of(images: tuple[Image.Image, ...], random: np.random.Generator) -> Image.Image:
    return images[int(random.integers(len(images)))]


def _scene(random: np.random.Generator) -> Image.Image:
    """1/f noise in brightness; colour varies less, and more slowly."""
    frequency, _ = _frequencies(SCENE_SIDE)
    light = 42 * _noise(random, frequency**-1.1)
    warm, blue = 14 * _noise(random, frequency**-1.4), 14 * _noise(random, frequency**-1.4)
    return _picture(np.stack([light + warm, light - 0.4 * warm + 0.3 * blue, light - blue], axis=-1))


def _texture(random: np.random.Generator, direction: float, coarseness: int) -> Image.Image:
    """1/f noise that runs in one direction and lacks its slowest waves, as bark and cloth do."""
    frequency, angle = _frequencies(TEXTURE_SIDE)
    amplitude = (
        frequency**-0.8 * np.exp(4 * (np.cos(2 * (angle - direction)) - 1)) * frequency / (frequency + coarseness)
    )
    return _picture(40 * _noise(random, amplitude))


def _grains(random: np.random.Generator) -> Iterator[Image.Image]:
    grain = random.standard_normal((SCENE_SIDE, SCENE_SIDE))
    for deviation in GRAIN_DEVIATIONS:
        yield _picture(deviation * grain)


def _frequencies(side: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Waves per side and their angles, in the order of `rfft2`; the constant wave counts as one wave."""
    rows, columns = np.fft.fftfreq(side, 1 / side)[:, None], np.fft.rfftfreq(side, 1 / side)[None, :]
    return np.maximum(np.hypot(rows, columns), 1), np.arctan2(rows, columns)


def _noise(random: np.random.Generator, amplitude: NDArray[np.float64]) -> NDArray[np.float64]:
    """Gaussian noise with the given spectrum: mean 0, deviation 1."""
    waves = np.fft.rfft2(random.standard_normal((len(amplitude), len(amplitude)))) * amplitude
    waves[0, 0] = 0
    noise: NDArray[np.float64] = np.fft.irfft2(waves, s=(len(amplitude), len(amplitude)))
    noise /= noise.std()
    return noise


def _picture(deviations: NDArray[np.float64]) -> Image.Image:
    """Levels about the middle one; without channels of its own it is grey."""
    levels: Pixels = np.clip(np.rint(deviations + MIDDLE), 0, 255).astype(np.uint8)
    return Image.fromarray(levels).convert("RGB")
