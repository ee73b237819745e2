"""What is held in RAM is what was on disk, as far as there is room for it."""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from traindyno.core.errors import TraindynoError
from traindyno.core.machine import HostMemory
from traindyno.worker.data import memory
from traindyno.worker.data.bad import BadExampleError
from traindyno.worker.data.folder import open_folder
from traindyno.worker.data.memory import check_room, filesystem_of, hold_in_memory
from traindyno.worker.data.stored import Augmentation, HeldPixels, Stored
from worker.data.tiny_sets import write_folder


@dataclass
class PixelFile:
    """Pixels of differing sizes in a file, as a prepared set has them."""

    path: str
    classes: int = 2
    augmentation: Augmentation = "crop"

    @property
    def paths(self) -> Sequence[str]:
        return (self.path,)

    def __len__(self) -> int:
        return 3

    def fetch(self, index: int) -> Stored:
        pixels = np.full((index + 1, 5, 3), index, np.uint8)
        return Stored(pixels, index % 2, f"{self.path} at {index}")


def test_encoded_images_stay_as_they_are_after_their_files_have_gone(tmp_path: Path) -> None:
    write_folder(tmp_path, [f"{label}/{number}.jpg" for label in "abc" for number in range(20)])
    examples = open_folder(str(tmp_path), "train")
    before = [examples.fetch(index) for index in range(60)]
    held = hold_in_memory(examples)
    for path in examples.paths:
        Path(path).unlink()
    assert [held.fetch(index) for index in range(len(held))] == before
    assert (len(held), held.classes, held.augmentation, list(held.paths)) == (60, 3, "resized_crop", [])


def test_pixels_stay_pixels_of_their_own_sizes(tmp_path: Path) -> None:
    (tmp_path / "store").write_bytes(bytes(90))
    examples = PixelFile(str(tmp_path / "store"))
    held = hold_in_memory(examples)
    for index in range(3):
        np.testing.assert_array_equal(held.fetch(index).content, examples.fetch(index).content)
        assert held.fetch(index).name == examples.fetch(index).name
    assert held.augmentation == "crop"


def test_files_that_grow_while_they_are_read_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "store").write_bytes(bytes(89))
    with pytest.raises(TraindynoError, match="grew while they were read"):
        hold_in_memory(PixelFile(str(tmp_path / "store")))


def test_a_source_without_files_is_in_memory_already() -> None:
    examples = HeldPixels(np.zeros((1, 32, 32, 3), np.uint8), np.zeros(1, np.int64), "here", 10, "padded_crop")
    assert hold_in_memory(examples) is examples


def test_progress_is_told_up_to_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "EXAMPLES_AT_ONCE", 4)
    write_folder(tmp_path, [f"a/{number}.jpg" for number in range(10)])
    told: list[tuple[int, int]] = []
    hold_in_memory(open_folder(str(tmp_path), "train"), lambda done, total: told.append((done, total)))
    assert told == [(4, 10), (8, 10), (10, 10)]


def test_a_bad_file_is_an_error_only_when_it_is_asked_for(tmp_path: Path) -> None:
    write_folder(tmp_path, ["a/1.jpg", "a/3.jpg"])
    (tmp_path / "a/2.jpg").touch()
    held = hold_in_memory(open_folder(str(tmp_path), "train"))
    assert held.fetch(2).content == (tmp_path / "a/3.jpg").read_bytes()
    with pytest.raises(BadExampleError, match=r"a/2\.jpg cannot be used: it is empty") as raised:
        held.fetch(1)
    assert raised.value.name == str(tmp_path / "a/2.jpg")


def test_data_larger_than_the_free_memory_are_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_folder(tmp_path, ["a/1.jpg"])
    monkeypatch.setattr(memory, "host_memory", lambda: HostMemory(available_bytes=100))
    with pytest.raises(TraindynoError, match=r"needs \d+ B of RAM for this data, and 100 B are available"):
        hold_in_memory(open_folder(str(tmp_path), "train"))


def test_the_refusal_names_both_sizes_and_the_way_out() -> None:
    with pytest.raises(
        TraindynoError, match=r"needs 140 GiB of RAM for this data, and 12\.4 GiB are available"
    ) as raised:
        check_room(140 * 2**30, int(12.4 * 2**30))
    assert "leave memory: away" in str(raised.value.hint)


def test_a_tenth_of_the_memory_is_left_free_and_an_unknown_amount_is_not_judged() -> None:
    check_room(90, 100)
    check_room(10**15, None)
    with pytest.raises(TraindynoError):
        check_room(91, 100)


def test_it_travels_pickled(tmp_path: Path) -> None:
    write_folder(tmp_path, ["a/1.jpg", "b/2.jpg"])
    held = hold_in_memory(open_folder(str(tmp_path), "train"))
    assert pickle.loads(pickle.dumps(held)).fetch(1) == held.fetch(1)


def test_the_file_system_is_that_of_the_deepest_mount(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "/dev/sda1 / ext4 rw 0 0\n"
        "tmpfs /dev/shm tmpfs rw 0 0\n"
        "server:/x /my\\040data nfs4 rw 0 0\n"
        "overlay /twice overlay rw 0 0\n"
        "tmpfs /twice tmpfs rw 0 0\n"
    )
    paths = ["/dev/shm/set", "/dev/shm", "/dev/shmother", "/my data/set", "/twice/x", "/"]
    kinds = ["tmpfs", "tmpfs", "ext4", "nfs4", "tmpfs", "ext4"]
    assert [filesystem_of(path, mounts) for path in paths] == kinds
    assert filesystem_of("/x", tmp_path / "nowhere") == "unknown"


def test_a_link_is_judged_by_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/proc/self")
    assert filesystem_of(str(tmp_path / "link")) == "proc"
