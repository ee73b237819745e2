"""Data are opened by name; wrong names and paths are answered with the nearest right ones."""

import subprocess
import sys
from pathlib import Path

import pytest

from traindyno.core.errors import UsageError
from traindyno.worker.data.sources import SOURCES, is_by_index, open_examples
from worker.data.tiny_sets import cifar_binary, cifar_records, write_folder, write_shards


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    """A folder, shards and CIFAR-10 side by side."""
    write_folder(tmp_path / "images", ["a/1.jpg", "b/2.jpg", "b/3.jpg"])
    write_shards(tmp_path / "shards", shards=2, examples_each=2)
    (tmp_path / "cifar").mkdir()
    for name in [f"data_batch_{number}" for number in range(1, 6)]:
        (tmp_path / "cifar" / f"{name}.bin").write_bytes(cifar_binary(*cifar_records(1)))
    return tmp_path


@pytest.mark.parametrize(
    ("data", "examples", "by_index", "files"),
    [
        ("folder:{}/images", 3, True, 3),
        ("cifar10:{}/cifar", 5, True, 0),
        ("shards:{}/shards", 4, False, 2),
        ("shards:{}/shards/shard-{{000..001}}.tar", 4, False, 2),
        ("memory:folder:{}/images", 3, True, 0),
        ("memory:memory:folder:{}/images", 3, True, 0),
        ("memory:cifar10:{}/cifar", 5, True, 0),
    ],
)
def test_every_source_opens_by_its_name(sets: Path, data: str, examples: int, by_index: bool, files: int) -> None:
    opened = open_examples(data.format(sets), "train")
    assert (len(opened), is_by_index(opened), len(opened.paths)) == (examples, by_index, files)


def test_a_path_may_begin_at_home(sets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(sets))
    assert len(open_examples("memory:folder:~/images", "train")) == 3


def test_reading_into_memory_tells_its_progress(sets: Path) -> None:
    told: list[tuple[int, int]] = []
    open_examples(f"memory:folder:{sets}/images", "train", lambda done, total: told.append((done, total)))
    assert told == [(3, 3)]


@pytest.mark.parametrize(
    ("data", "message", "hint"),
    [
        ("floder:/data", "'floder' is no source", "did you mean folder:/data?"),
        ("Folder:/data", "'Folder' is no source", "did you mean folder:/data?"),
        ("cifar-10:/data", "'cifar-10' is no source", "did you mean cifar10:/data?"),
        ("webdataset:/data", "'webdataset' is no source", "shards:"),
        ("/data/train", "'/data/train' lacks its kind", "did you mean folder:/data/train?"),
        ("folder:", "folder: lacks", "folder:PATH"),
        ("memory:", "memory: lacks", "memory:SOURCE"),
        ("synthetic:", "synthetic: makes its batches", "use synthetic: alone"),
        ("memory:synthetic:", "synthetic: makes its batches", "use synthetic: alone"),
        ("memory:floder:/data", "'floder' is no source", "did you mean folder:/data?"),
    ],
)
def test_a_wrong_name_is_answered_with_right_ones(data: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        open_examples(data, "train")
    assert hint in str(raised.value.hint)


@pytest.mark.parametrize("scheme", ["folder", "cifar10", "prepared", "memory:folder"])
def test_a_missing_path_is_answered_with_the_nearest(sets: Path, scheme: str) -> None:
    with pytest.raises(UsageError, match=f"there is no {sets}/imagse/train") as raised:
        open_examples(f"{scheme}:{sets}/imagse/train", "train")
    assert raised.value.hint == f"did you mean {sets}/images?"


def test_a_missing_path_like_no_other_names_the_folder_that_lacks_it(sets: Path) -> None:
    with pytest.raises(UsageError, match="there is no") as raised:
        open_examples(f"folder:{sets}/qqq", "train")
    assert str(raised.value.hint).startswith(f"{sets} has no qqq")


def test_shards_cannot_be_held_by_index(sets: Path) -> None:
    with pytest.raises(UsageError, match="shards are read in order") as raised:
        open_examples(f"memory:shards:{sets}/shards", "train")
    assert "/dev/shm" in str(raised.value.hint)


def test_all_sources_are_registered() -> None:
    assert set(SOURCES) == {"folder", "cifar10", "digits", "shards", "memory", "prepared"}


def test_torch_is_not_needed_to_open_data(sets: Path) -> None:
    code = f"""
import sys
from traindyno.worker.data.sources import open_examples
open_examples("memory:folder:{sets}/images", "train")
try:
    open_examples("floder:/data", "train")
except Exception as error:
    assert "folder:" in error.hint
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
