"""Tiny sets of images for tests: class folders, batches of CIFAR-10 as Python 2 pickled them, tar shards."""

import io
import struct
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from traindyno.worker.data.bad import UndecodableError
from traindyno.worker.data.stored import Pixels, Stored


def jpeg(shade: int = 128, size: int = 16) -> bytes:
    """A small grey image, encoded."""
    buffer = io.BytesIO()
    Image.new("RGB", (size, size), (shade, shade, shade)).save(buffer, "JPEG")
    return buffer.getvalue()


def decoded(stored: Stored) -> Pixels:
    """What a decoder of the project does, in short."""
    assert isinstance(stored.content, bytes)
    try:
        return np.asarray(Image.open(io.BytesIO(stored.content)).convert("RGB"))
    except OSError as error:
        raise UndecodableError(str(error)) from error


def write_folder(root: Path, files: Iterable[str]) -> Path:
    """One JPEG for each relative path, each of another shade."""
    for number, name in enumerate(files):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jpeg(shade=number * 8 % 256))
    return root


def write_tar(path: Path, members: Mapping[str, bytes], mode: str = "w") -> Path:
    """A tar archive with these members in this order."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def write_shards(folder: Path, shards: int, examples_each: int) -> Path:
    """Shards `shard-000.tar` and so on; labels run from 0 to 4, keys are numbered through."""
    for shard in range(shards):
        members = {}
        for number in range(shard * examples_each, (shard + 1) * examples_each):
            members |= {f"{number:06d}.cls": str(number % 5).encode(), f"{number:06d}.jpg": jpeg(number)}
        write_tar(folder / f"shard-{shard:03d}.tar", members)
    return folder


def cifar_records(count: int, seed: int = 0) -> tuple[NDArray[np.uint8], list[int]]:
    """Pixels as rows of 3,072 bytes, and labels."""
    random = np.random.default_rng(seed)
    return random.integers(0, 256, (count, 3072), np.uint8), random.integers(0, 10, count).tolist()


def cifar_binary(data: NDArray[np.uint8], labels: list[int]) -> bytes:
    return np.column_stack([np.array(labels, np.uint8), data]).tobytes()


def cifar_pickle(data: NDArray[np.uint8], labels: list[int]) -> bytes:
    """A batch as the official archive has it: protocol 2, written by Python 2, with its byte strings."""
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85" + _string(b"b") + b"\x87R"
        b"(K\x01" + _number(len(data)) + _number(data.shape[1]) + b"\x86"
        b"cnumpy\ndtype\n" + _string(b"u1") + b"K\x00K\x01\x87R"
        b"(K\x03"
        + _string(b"|")
        + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89"
        + _string(data.tobytes())
        + b"tb"
    )
    numbers = b"](" + b"".join(map(_number, labels)) + b"e"
    names = _string(b"batch_label") + _string(b"training batch 1 of 5")
    return b"\x80\x02}(" + names + _string(b"labels") + numbers + _string(b"data") + array + b"u."


def _string(content: bytes) -> bytes:
    return b"T" + struct.pack("<i", len(content)) + content


def _number(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)
