"""CIFAR-10 is read from all its official forms alike, and its pickles can run nothing."""

import os
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.worker.data.cifar10 import open_cifar10
from worker.data.tiny_sets import cifar_binary, cifar_pickle, cifar_records, write_tar

NAMES = (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch")
BATCHES = {name: cifar_records(4, seed) for seed, name in enumerate(NAMES)}
PYTHON = {f"cifar-10-batches-py/{name}": cifar_pickle(*batch) for name, batch in BATCHES.items()}
BINARY = {f"cifar-10-batches-bin/{name}.bin": cifar_binary(*batch) for name, batch in BATCHES.items()}


def python_archive(folder: Path) -> Path:
    return write_tar(folder / "cifar-10-python.tar.gz", PYTHON | {"cifar-10-batches-py/readme.html": b""}, "w:gz")


def binary_archive(folder: Path) -> Path:
    return write_tar(folder / "cifar-10-binary.tar.gz", BINARY, "w:gz")


def unpacked(files: dict[str, bytes]) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        for name, content in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content)
        return (folder / name).parent

    return write


def image(name: str, index: int) -> NDArray[np.uint8]:
    """The image by the format's own words: 1,024 bytes of red, then of green, then of blue, row after row."""
    record = BATCHES[name][0][index]
    pixels = [
        [[record[plane * 1024 + row * 32 + column] for plane in range(3)] for column in range(32)] for row in range(32)
    ]
    return np.array(pixels)


@pytest.mark.parametrize("within", [True, False], ids=["named itself", "named by its folder"])
@pytest.mark.parametrize("form", [python_archive, binary_archive, unpacked(PYTHON), unpacked(BINARY)])
def test_all_official_forms_hold_the_same_images(form: Callable[[Path], Path], within: bool, tmp_path: Path) -> None:
    place = form(tmp_path)
    path = str(place if within else tmp_path)
    train, test = open_cifar10(path, "train"), open_cifar10(path, "infer")
    assert (len(train), len(test), train.classes, train.augmentation) == (20, 4, 10, "padded_crop")
    assert [train.fetch(index).label for index in range(20)] == [one for name in NAMES[:5] for one in BATCHES[name][1]]
    np.testing.assert_array_equal(train.fetch(17).content, image("data_batch_5", 1))
    np.testing.assert_array_equal(test.fetch(3).content, image("test_batch", 3))


def test_the_pickles_of_these_tests_are_what_python_takes_for_a_batch() -> None:
    data, labels = BATCHES["test_batch"]
    batch = pickle.loads(PYTHON["cifar-10-batches-py/test_batch"], encoding="bytes")
    np.testing.assert_array_equal(batch[b"data"], data)
    assert batch[b"labels"] == labels


def test_a_batch_pickled_anew_by_python_3_is_read_too(tmp_path: Path) -> None:
    data, labels = BATCHES["test_batch"]
    (tmp_path / "test_batch").write_bytes(pickle.dumps({"data": data, "labels": labels}, protocol=2))
    np.testing.assert_array_equal(open_cifar10(str(tmp_path), "infer").fetch(0).content, image("test_batch", 0))


class Malicious:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_that_would_run_something_is_refused_and_does_not_run(tmp_path: Path, protocol: int) -> None:
    victim = tmp_path / "made_by_the_pickle"
    (tmp_path / "test_batch").write_bytes(pickle.dumps({"data": Malicious(victim), "labels": [0]}, protocol))
    with pytest.raises(TraindynoError, match=r"test_batch asks to run (posix|os)\.mkdir.* it was not run"):
        open_cifar10(str(tmp_path), "infer")
    assert not victim.exists()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (cifar_pickle(*BATCHES["test_batch"])[:-40], "cannot be read as one"),
        (b"not a pickle", "cannot be read as one"),
        (b"", "cannot be read as one"),
        (pickle.dumps([1, 2]), "lacks an array"),
        (pickle.dumps({"data": [1], "labels": [1]}), "lacks an array"),
        (pickle.dumps({"data": np.zeros((1, 3072), np.float32), "labels": [1]}, 2), "not of bytes"),
        (cifar_pickle(cifar_records(3)[0], [1, 2]), r"shape \(3, 3072\), not \(2, 3072\)"),
        (cifar_pickle(cifar_records(2)[0][:, :3000], [1, 2]), r"shape \(2, 3000\), not \(2, 3072\)"),
        (cifar_pickle(cifar_records(2)[0], [1, 10]), "labels are not all between 0 and 9"),
        (cifar_pickle(cifar_records(0)[0], []), "it holds no images"),
    ],
)
def test_a_wrong_python_batch_is_named_with_the_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "test_batch").write_bytes(content)
    with pytest.raises(TraindynoError, match=rf"test_batch is not a batch of CIFAR-10: .*{reason}"):
        open_cifar10(str(tmp_path), "infer")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (cifar_binary(*BATCHES["test_batch"])[:-1], "12291 bytes are not a whole number of records of 3073"),
        (b"\x0a" + bytes(3072), "between 0 and 9"),
        (b"", "it holds no images"),
    ],
)
def test_a_wrong_binary_batch_is_named_with_the_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "test_batch.bin").write_bytes(content)
    with pytest.raises(TraindynoError, match=rf"test_batch\.bin is not a batch of CIFAR-10: .*{reason}"):
        open_cifar10(str(tmp_path), "infer")


def test_a_missing_batch_is_named(tmp_path: Path) -> None:
    place = unpacked(PYTHON)(tmp_path)
    (place / "data_batch_3").unlink()
    with pytest.raises(UsageError, match="lacks data_batch_3"):
        open_cifar10(str(tmp_path), "train")


@pytest.mark.parametrize("kept_share", [0.1, 0.9])
def test_an_archive_cut_short_is_named(tmp_path: Path, kept_share: float) -> None:
    archive = python_archive(tmp_path)
    content = archive.read_bytes()
    archive.write_bytes(content[: int(len(content) * kept_share)])
    with pytest.raises(TraindynoError, match=r"cifar-10-python\.tar\.gz is not a whole tar archive"):
        open_cifar10(str(archive), "train")


def test_a_file_that_is_no_archive_is_named(tmp_path: Path) -> None:
    (tmp_path / "cifar.zip").write_bytes(b"PK\x03\x04" + bytes(2000))
    with pytest.raises(TraindynoError, match=r"cifar\.zip is not a whole tar archive"):
        open_cifar10(str(tmp_path / "cifar.zip"), "train")


def test_a_folder_without_cifar10_is_told_what_is_looked_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not hold CIFAR-10") as raised:
        open_cifar10(str(tmp_path), "train")
    assert "cifar-10-batches-py" in str(raised.value.hint)


def test_the_images_cannot_be_changed_by_who_fetches_them(tmp_path: Path) -> None:
    content = open_cifar10(str(python_archive(tmp_path)), "infer").fetch(0).content
    assert isinstance(content, np.ndarray)
    with pytest.raises(ValueError, match="read-only"):
        content[0, 0, 0] = 1


def test_it_travels_pickled(tmp_path: Path) -> None:
    examples = open_cifar10(str(python_archive(tmp_path)), "infer")
    copy = pickle.loads(pickle.dumps(examples))
    np.testing.assert_array_equal(copy.fetch(2).content, examples.fetch(2).content)
    assert copy.fetch(2).label == examples.fetch(2).label
