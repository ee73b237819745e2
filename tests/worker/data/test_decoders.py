"""All decoders show the same image, whatever it is stored as, and refuse the same files."""

import importlib.util
import io
import pickle
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.loading import Decoder
from traindyno.worker.data.bad import UndecodableError
from traindyno.worker.data.decoders import (
    DECODERS,
    LARGEST_DIFFERENCE,
    MEAN_DIFFERENCE,
    NVJPEG_LARGEST_DIFFERENCE,
    NVJPEG_LARGEST_DIFFERENCE_FULL_COLOUR,
    NVJPEG_MEAN_DIFFERENCE,
    open_decoder,
)
from traindyno.worker.data.decoders.jpeg_header import nvjpeg_size
from worker.data.pictures import VARIED_JPEGS, differences, encoded, picture

pytestmark = pytest.mark.filterwarnings("ignore:The image decoding:DeprecationWarning")
needs_simplejpeg = pytest.mark.skipif(
    importlib.util.find_spec("simplejpeg") is None,
    reason="the optional package simplejpeg is not installed",
)
JPEG_DECODERS = [pytest.param("torchvision"), pytest.param("simplejpeg", marks=needs_simplejpeg)]
ALL_DECODERS = [pytest.param("pil"), *JPEG_DECODERS]


@pytest.mark.parametrize("name", JPEG_DECODERS)
@pytest.mark.parametrize("kind", VARIED_JPEGS)
@pytest.mark.parametrize(("height", "width"), [(97, 131), (64, 48), (1, 9)])
def test_jpeg_decoders_agree_with_pil(name: Decoder, kind: str, height: int, width: int) -> None:
    content = encoded(picture(height, width), **VARIED_JPEGS[kind])
    largest, mean = differences(open_decoder(name)(content), open_decoder("pil")(content))
    assert largest <= LARGEST_DIFFERENCE
    assert mean <= MEAN_DIFFERENCE


@pytest.mark.parametrize("name", ALL_DECODERS)
def test_pixels_are_rows_of_rgb_bytes_that_may_be_written(name: Decoder) -> None:
    pixels = open_decoder(name)(encoded(picture(40, 30)))
    assert pixels.shape == (40, 30, 3)
    assert pixels.dtype == np.uint8
    assert pixels.flags.c_contiguous
    assert pixels.flags.writeable


@pytest.mark.parametrize("name", ALL_DECODERS)
def test_the_channels_come_in_the_order_red_green_blue(name: Decoder) -> None:
    reddish = np.full((16, 16, 3), (200, 100, 20), dtype=np.uint8)
    assert open_decoder(name)(encoded(reddish))[8, 8].tolist() == pytest.approx((200, 100, 20), abs=3)


@pytest.mark.parametrize("name", ALL_DECODERS)
@pytest.mark.parametrize("kind", ["PNG", "BMP", "GIF", "WEBP"])
def test_other_formats_are_decoded_too(name: Decoder, kind: str) -> None:
    content = encoded(picture(20, 24), kind)
    expected = np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))
    assert np.array_equal(open_decoder(name)(content), expected)


@pytest.mark.parametrize("name", ALL_DECODERS)
@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "L", "1"])
def test_every_mode_of_a_png_becomes_rgb(name: Decoder, mode: str) -> None:
    pixels = open_decoder(name)(encoded(picture(20, 24), "PNG", mode))
    assert pixels.shape == (20, 24, 3)
    assert pixels.max() > 100


def test_a_png_of_16_bits_keeps_its_upper_8_instead_of_turning_white() -> None:
    ramp = np.linspace(0, 65535, 256).astype(np.uint16).reshape(16, 16)
    target = io.BytesIO()
    Image.fromarray(ramp).save(target, "PNG")
    pixels = open_decoder("pil")(target.getvalue())
    assert np.array_equal(pixels, np.repeat((ramp >> 8).astype(np.uint8)[:, :, None], 3, axis=2))


@pytest.mark.parametrize("name", ALL_DECODERS)
def test_grey_is_three_equal_channels(name: Decoder) -> None:
    pixels = open_decoder(name)(encoded(picture(24, 24), mode="L"))
    assert np.array_equal(pixels[..., 0], pixels[..., 1])
    assert np.array_equal(pixels[..., 0], pixels[..., 2])


@pytest.mark.parametrize("name", ALL_DECODERS)
def test_the_exif_orientation_is_ignored(name: Decoder) -> None:
    turned = Image.Exif()
    turned[0x0112] = 6
    assert open_decoder(name)(encoded(picture(20, 40), exif=turned)).shape == (20, 40, 3)


@pytest.mark.parametrize("name", ALL_DECODERS)
@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("missing", [1, 2, 3, 40, 0.5, 0.9, 0.99])
def test_a_truncated_jpeg_is_refused(name: Decoder, progressive: bool, missing: float) -> None:
    content = encoded(picture(60, 80), progressive=progressive)
    left = len(content) - int(missing if missing >= 1 else missing * len(content))
    with pytest.raises(UndecodableError):
        open_decoder(name)(content[:left])


@pytest.mark.parametrize("name", ALL_DECODERS)
def test_a_truncated_jpeg_is_refused_though_its_thumbnail_is_whole(name: Decoder) -> None:
    exif = b"Exif\0\0" + encoded(picture(16, 16))
    content = encoded(picture(60, 80), exif=exif)
    assert open_decoder(name)(content).shape == (60, 80, 3)
    with pytest.raises(UndecodableError):
        open_decoder(name)(content[:-50])


@pytest.mark.parametrize("name", ALL_DECODERS)
@pytest.mark.parametrize("kind", ["PNG", "WEBP", "BMP", "GIF"])
def test_truncated_files_of_other_formats_are_refused(name: Decoder, kind: str) -> None:
    content = encoded(picture(60, 80), kind)
    with pytest.raises(UndecodableError):
        open_decoder(name)(content[: len(content) // 2])


@pytest.mark.parametrize("name", ALL_DECODERS)
@pytest.mark.parametrize("content", [b"", b"\xff\xd8", b"\xff\xd8\xff\xd9", b"not an image", bytes(1000)])
def test_what_is_no_image_is_refused_in_words(name: Decoder, content: bytes) -> None:
    with pytest.raises(UndecodableError, match=r"not an image|cannot be decoded") as caught:
        open_decoder(name)(content)
    assert "BytesIO" not in str(caught.value)


@pytest.mark.parametrize("name", ALL_DECODERS)
def test_bytes_after_the_end_do_no_harm(name: Decoder) -> None:
    content = encoded(picture(30, 30))
    assert np.array_equal(open_decoder(name)(content + bytes(99)), open_decoder(name)(content))


@pytest.mark.parametrize("name", ALL_DECODERS)
def test_decoding_does_not_warn(name: Decoder) -> None:
    decode = open_decoder(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=DeprecationWarning, module="torchvision")
        decode(encoded(picture(30, 30)))
        decode(encoded(picture(30, 30), "PNG", "P"))


@pytest.mark.parametrize("name", ALL_DECODERS)
def test_a_decoder_can_travel_to_a_worker(name: Decoder) -> None:
    decode = pickle.loads(pickle.dumps(open_decoder(name)))
    assert decode(encoded(picture(8, 8))).shape == (8, 8, 3)


def test_simplejpeg_that_is_missing_is_an_error_with_the_command_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "simplejpeg", None)
    with pytest.raises(TraindynoError) as caught:
        open_decoder("simplejpeg")
    assert "pip install 'traindyno[simplejpeg]'" in (caught.value.hint or "")


def test_nvjpeg_is_no_decoder_of_the_host() -> None:
    with pytest.raises(UsageError, match="nvjpeg does not run on the host"):
        open_decoder("nvjpeg")
    assert "nvjpeg" not in DECODERS


@pytest.mark.parametrize("name", ALL_DECODERS)
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_bytes_give_pixels_or_one_kind_of_error(name: Decoder, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["JPEG", "PNG", "GIF", "BMP", "WEBP"]))
    content = bytearray(encoded(picture(12, 10), kind))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        pixels = open_decoder(name)(bytes(content[: data.draw(st.integers(1, len(content)))]))
    except UndecodableError:
        return
    assert pixels.ndim == 3
    assert pixels.shape[2] == 3


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 70), st.integers(1, 70), st.sampled_from([0, 1, 2]), st.booleans())
def test_the_size_is_read_from_the_header(height: int, width: int, subsampling: int, progressive: bool) -> None:
    content = encoded(picture(height, width), subsampling=subsampling, progressive=progressive)
    assert nvjpeg_size(content) == (height, width)


def test_the_size_is_the_images_own_and_not_its_thumbnails() -> None:
    assert nvjpeg_size(encoded(picture(60, 80), exif=b"Exif\0\0" + encoded(picture(16, 16)))) == (60, 80)


def test_a_grey_jpeg_is_left_to_nvjpeg() -> None:
    assert nvjpeg_size(encoded(picture(20, 30), mode="L")) == (20, 30)


@pytest.mark.parametrize("kind", ["CMYK", "RGB without colour transform"])
def test_colours_that_nvjpeg_would_show_wrongly_are_not_left_to_it(kind: str) -> None:
    assert nvjpeg_size(encoded(picture(20, 30), **VARIED_JPEGS[kind])) is None


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "BMP", "GIF"])
def test_other_formats_are_not_left_to_nvjpeg(kind: str) -> None:
    assert nvjpeg_size(encoded(picture(20, 30), kind)) is None


@given(st.integers(0, 10**6), st.booleans())
def test_no_truncated_jpeg_is_left_to_nvjpeg(cut: int, thumbnail: bool) -> None:
    exif = b"Exif\0\0" + encoded(picture(16, 16)) if thumbnail else b""
    content = encoded(picture(40, 40), exif=exif)
    assert nvjpeg_size(content[: cut % len(content)]) is None


@given(st.binary(max_size=60))
def test_any_bytes_can_be_looked_at(content: bytes) -> None:
    assert nvjpeg_size(content) is None
    nvjpeg_size(b"\xff\xd8" + content)


@pytest.mark.gpu
@pytest.mark.parametrize("kind", VARIED_JPEGS)
def test_nvjpeg_agrees_with_pil_to_its_own_tolerance(kind: str) -> None:
    import torch
    from torchvision.io import ImageReadMode, decode_jpeg

    content = encoded(picture(375, 500), **VARIED_JPEGS[kind])
    if nvjpeg_size(content) is None:
        pytest.skip(f"{kind} is not left to nvJPEG")
    buffer = torch.frombuffer(bytearray(content), dtype=torch.uint8)
    image = decode_jpeg([buffer], ImageReadMode.RGB, "cuda")[0]
    largest, mean = differences(image.permute(1, 2, 0).cpu().numpy(), open_decoder("pil")(content))
    full_colour = "4:4:4" in kind or kind == "grey"
    assert mean <= NVJPEG_MEAN_DIFFERENCE
    assert largest <= (NVJPEG_LARGEST_DIFFERENCE_FULL_COLOUR if full_colour else NVJPEG_LARGEST_DIFFERENCE)
