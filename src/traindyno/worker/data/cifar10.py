"""CIFAR-10 from its official archives, Python or binary, packed or unpacked: `cifar10:PATH`."""

import io
import os
import pickle
import tarfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.records import Mode
from traindyno.worker.data.stored import HeldPixels, Pixels

CLASSES = 10
PIXEL_BYTES = 3 * 32 * 32
BATCHES: dict[Mode, tuple[str, ...]] = {
    "train": tuple(f"data_batch_{number}" for number in range(1, 6)),
    "infer": ("test_batch",),
}
PLACES = ("cifar-10-batches-py", "cifar-10-batches-bin", "cifar-10-python.tar.gz", "cifar-10-binary.tar.gz")
_DAMAGED = "fetch it again from https://www.cs.toronto.edu/~kriz/cifar.html"

Batch = tuple[Pixels, NDArray[np.int64]]


def open_cifar10(path: str, mode: Mode) -> HeldPixels:
    """Read five batches to train on, or the test batch to infer on."""
    place = _located(path)
    contents = dict(_archived(place, BATCHES[mode]) if os.path.isfile(place) else _unpacked(place, BATCHES[mode]))
    missing = [name for name in BATCHES[mode] if name not in contents]
    if missing:
        raise UsageError(f"{place} lacks {missing[0]} of CIFAR-10", f"it must hold {', '.join(BATCHES[mode])}")
    batches = [_parsed(os.path.join(place, contents[name][0]), contents[name][1]) for name in BATCHES[mode]]
    planes = np.concatenate([images for images, _ in batches]).reshape(-1, 3, 32, 32)
    images = np.ascontiguousarray(planes.transpose(0, 2, 3, 1))
    images.flags.writeable = False
    return HeldPixels(images, np.concatenate([labels for _, labels in batches]), place, CLASSES, "padded_crop")


def _located(path: str) -> str:
    """The archive or the folder with the batches: `path` itself or what it holds."""
    if not os.path.isdir(path):
        return path
    all_batches = BATCHES["train"] + BATCHES["infer"]
    within = [path, *(os.path.join(path, place) for place in PLACES)]
    for place in within:
        if os.path.isfile(place) or any(_batch_name(file) in all_batches for file in _names(place)):
            return place
    raise UsageError(f"{path} does not hold CIFAR-10", f"one of these is looked for in it: {', '.join(PLACES)}")


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageError(f"the folder {folder} cannot be read ({error.strerror})", "check its permissions") from error


def _batch_name(file: str) -> str:
    """`data_batch_1` of `data_batch_1.bin`."""
    return file.removesuffix(".bin")


def _unpacked(folder: str, wanted: Sequence[str]) -> Iterator[tuple[str, tuple[str, bytes]]]:
    """Batch name, file name and content of each batch in a folder."""
    for file in sorted(_names(folder)):
        if (name := _batch_name(file)) in wanted:
            path = os.path.join(folder, file)
            try:
                yield name, (file, Path(path).read_bytes())
            except OSError as error:
                raise UsageError(f"{path} cannot be read ({error.strerror})", "check its permissions") from error


def _archived(archive: str, wanted: Sequence[str]) -> Iterator[tuple[str, tuple[str, bytes]]]:
    """The same from an archive, which is never unpacked to disk."""
    try:
        with tarfile.open(archive) as members:
            for member in members:
                file = os.path.basename(member.name)
                if (name := _batch_name(file)) in wanted and (content := members.extractfile(member)):
                    yield name, (file, content.read())
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise TraindynoError(f"{archive} is not a whole tar archive: {str(error).splitlines()[0]}", _DAMAGED) from error
    except OSError as error:
        raise TraindynoError(f"{archive} cannot be read ({error.strerror or error})", _DAMAGED) from error


def _parsed(path: str, content: bytes) -> Batch:
    images, labels = _binary(path, content) if path.endswith(".bin") else _pickled(path, content)
    if not len(labels):
        raise _wrong(path, "it holds no images")
    if labels.min() < 0 or labels.max() >= CLASSES:
        raise _wrong(path, f"its labels are not all between 0 and {CLASSES - 1}")
    return images, labels


def _binary(path: str, content: bytes) -> Batch:
    """Records of one byte of label and 3,072 of pixels."""
    if len(content) % (1 + PIXEL_BYTES):
        raise _wrong(path, f"its {len(content)} bytes are not a whole number of records of {1 + PIXEL_BYTES}")
    records = np.frombuffer(content, np.uint8).reshape(-1, 1 + PIXEL_BYTES)
    return records[:, 1:], records[:, 0].astype(np.int64)


def _pickled(path: str, content: bytes) -> Batch:
    """A dictionary with an array `data` and a list `labels`."""
    try:
        batch = _PlainUnpickler(path, content).load()
    except (
        pickle.UnpicklingError,
        EOFError,
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        OverflowError,
    ) as error:
        raise _wrong(path, f"it cannot be read as one ({error})") from error
    fields = {_text(key): value for key, value in batch.items()} if isinstance(batch, dict) else {}
    data, labels = fields.get("data"), fields.get("labels")
    if not isinstance(data, _Array) or not isinstance(labels, list) or not all(type(one) is int for one in labels):
        raise _wrong(path, "it lacks an array of data or a list of labels")
    if data.pixels.shape != (len(labels), PIXEL_BYTES):
        raise _wrong(path, f"its data have the shape {data.pixels.shape}, not ({len(labels)}, {PIXEL_BYTES})")
    return data.pixels, np.array(labels, np.int64)


def _wrong(path: str, reason: str) -> TraindynoError:
    return TraindynoError(f"{path} is not a batch of CIFAR-10: {reason}", _DAMAGED)


def _text(key: object) -> object:
    return key.decode("latin-1") if isinstance(key, bytes) else key


class _PlainUnpickler(pickle.Unpickler):
    """Reads a pickle without importing anything it names: the few names an array needs get stand-ins of our own."""

    def __init__(self, path: str, content: bytes) -> None:
        super().__init__(io.BytesIO(content), encoding="bytes")
        self._path = path

    def find_class(self, module: str, name: str) -> Callable[..., Any]:
        stand_in = _STAND_INS.get((module, name))
        if stand_in is None:
            raise TraindynoError(
                f"{self._path} asks to run {module}.{name}, which batches of CIFAR-10 do not; it was not run",
                "do not trust this file; fetch the archive again from its official place",
            )
        return stand_in


class _Type:
    """Stands in for `numpy.dtype`."""

    def __init__(self, code: object, *_: object) -> None:
        self.code = _text(code)

    def __setstate__(self, state: object) -> None:
        """Byte order and alignment mean nothing for single bytes."""


class _Array:
    """Stands in for `numpy.ndarray`; takes arrays of bytes only."""

    def __init__(self) -> None:
        self.pixels: Pixels = np.zeros((0, 0), np.uint8)

    def __setstate__(self, state: tuple[int, tuple[int, ...], _Type, bool, bytes]) -> None:
        _, shape, kind, by_columns, content = state
        if not isinstance(kind, _Type) or kind.code != "u1":
            raise ValueError("an array that is not of bytes")
        self.pixels = np.frombuffer(content, np.uint8).reshape(shape, order="F" if by_columns else "C")


def _empty_array(*_: object) -> _Array:
    """Stands in for numpy's `_reconstruct`."""
    return _Array()


def _latin_1(text: str, *_: object) -> bytes:
    """Stands in for `_codecs.encode`, by which Python 3 writes bytes for Python 2."""
    return text.encode("latin-1")


_STAND_INS: dict[tuple[str, str], Callable[..., Any]] = {
    ("numpy.core.multiarray", "_reconstruct"): _empty_array,
    ("numpy._core.multiarray", "_reconstruct"): _empty_array,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Type,
    ("_codecs", "encode"): _latin_1,
}
