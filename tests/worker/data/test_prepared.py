"""The reader of prepared sets: gives back what was stored, cheaply, and refuses what is damaged."""

import json
import pickle
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from traindyno.core.errors import StoppedError, UsageError
from traindyno.core.records import WorkloadSpec
from traindyno.worker.data import sources
from traindyno.worker.data.prepared import finished_header, open_prepared
from traindyno.worker.data.prepared_check import damaged_files
from traindyno.worker.data.prepared_format import HEADER, WrittenFile, file_crc32, read_header, write_header
from traindyno.worker.data.stored import Augmentation, Pixels, Stored
from traindyno.worker.job import open_source
from worker.data.prepared_sets import NEVER, prepare, stop_after, use_chunks_of
from worker.data.tiny_sets import write_folder


@dataclass
class Given:
    """Examples that hypothesis thought of."""

    images: list[tuple[Pixels, int]]
    classes: int = 10
    augmentation: Augmentation = "resized_crop"
    paths: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.images)

    def fetch(self, index: int) -> Stored:
        pixels, label = self.images[index]
        return Stored(pixels, label, f"image {index}")


@st.composite
def images_of_one_shorter_side(draw: st.DrawFn) -> list[tuple[Pixels, int]]:
    """Images that need no resizing, so that every pixel must come back."""
    side = draw(st.integers(1, 6))
    longer = draw(st.lists(st.integers(side, 9), min_size=1, max_size=20))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    shapes = [(side, other, 3) if random.random() < 0.5 else (other, side, 3) for other in longer]
    return [(random.integers(0, 256, shape, np.uint8), int(random.integers(10))) for shape in shapes]


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(images=images_of_one_shorter_side(), chunk_examples=st.integers(1, 7))
def test_every_pixel_and_label_comes_back(
    images: list[tuple[Pixels, int]], chunk_examples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_chunks_of(monkeypatch, chunk_examples)
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setitem(sources.SOURCES, "given", lambda path, mode: Given(images))
        prepare(f"given:{folder}", Path(folder, "set"), shorter_side=min(images[0][0].shape[:2]))
        examples = open_prepared(f"{folder}/set", "train")
        assert len(examples) == len(images)
        for index, (pixels, label) in enumerate(images):
            stored = examples.fetch(index)
            assert stored.label == label
            assert np.array_equal(np.asarray(stored.content), pixels)


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use_chunks_of(monkeypatch, 3)
    names = [f"{split}/{name}/{number}.jpg" for split in ("train", "val") for name in "ab" for number in range(5)]
    source = write_folder(tmp_path / "source", names)
    prepare(f"folder:{source}", tmp_path / "set", shorter_side=16)
    return tmp_path / "set"


def test_pixels_are_views_of_the_file_and_cannot_be_written(prepared: Path) -> None:
    content = open_prepared(str(prepared), "train").fetch(4).content
    assert isinstance(content, np.ndarray)
    assert type(content) is np.ndarray
    assert not content.flags.owndata
    assert not content.flags.writeable


def test_an_example_is_named_for_errors(prepared: Path) -> None:
    assert open_prepared(str(prepared), "infer").fetch(4).name == f"{prepared}/val#4"


def test_u8_is_cropped_without_scaling_and_jpeg_as_files_are(prepared: Path, tmp_path: Path) -> None:
    assert open_prepared(str(prepared), "train").augmentation == "crop"
    prepare(f"folder:{tmp_path / 'source'}", tmp_path / "jpegs", encoding="jpeg", quality=90)
    examples = open_prepared(str(tmp_path / "jpegs"), "train")
    assert examples.augmentation == "resized_crop"
    assert isinstance(examples.fetch(0).content, bytes)


def test_it_travels_to_workers_as_little_more_than_a_path(prepared: Path) -> None:
    examples = open_prepared(str(prepared), "train")
    examples.fetch(0)
    pickled = pickle.dumps(examples)
    assert len(pickled) < 1000
    there = pickle.loads(pickled)
    assert len(there) == 10
    assert np.array_equal(there.fetch(9).content, examples.fetch(9).content)


@pytest.mark.parametrize("prefix", ["", "memory:"])
def test_images_wanted_larger_than_they_were_prepared_are_warned_of(prepared: Path, prefix: str) -> None:
    """The note goes with every measurement of the source."""
    notes = {
        size: open_source(WorkloadSpec(model="", data=f"{prefix}prepared:{prepared}", image_size=size)).notes
        for size in (16, 17)
    }
    assert notes[16] == []
    (note,) = notes[17]
    assert "prepared with a shorter side of 16 px and are enlarged to 17 px" in note
    assert "--shorter-side 17" in note


def test_paths_are_the_files_that_hold_the_examples(prepared: Path) -> None:
    paths = open_prepared(str(prepared), "train").paths
    assert [Path(path).name for path in paths] == ["00000.u8", "00001.u8", "00002.u8", "00003.u8"]
    assert all(Path(path).is_file() for path in paths)


def test_a_chunk_that_is_cut_short_is_refused_before_it_kills_the_process(prepared: Path) -> None:
    chunk = prepared / "train" / "00002.u8"
    chunk.write_bytes(chunk.read_bytes()[:-1])
    with pytest.raises(UsageError, match=r"00002\.u8 is damaged: it has 1,535 bytes instead of 1,536"):
        open_prepared(str(prepared), "train")
    assert len(open_prepared(str(prepared), "infer")) == 10


def test_a_missing_chunk_is_named(prepared: Path) -> None:
    (prepared / "train" / "00003.u8").unlink()
    with pytest.raises(UsageError, match=r"00003\.u8 cannot be read"):
        open_prepared(str(prepared), "train")


def test_a_changed_index_is_refused(prepared: Path) -> None:
    index = prepared / "train" / "index.npy"
    content = bytearray(index.read_bytes())
    content[-1] ^= 1
    index.write_bytes(content)
    with pytest.raises(UsageError, match="checksum is wrong"):
        open_prepared(str(prepared), "train")


@pytest.mark.parametrize("trap", [np.array([print], object), np.zeros((10, 5), np.int64)])
def test_an_index_that_is_not_plain_numbers_is_refused_and_never_unpickled(
    prepared: Path, trap: np.ndarray[tuple[int, ...], np.dtype[np.object_]]
) -> None:
    path = prepared / "train" / "index.npy"
    np.save(path, trap, allow_pickle=True)
    forged = json.loads((prepared / HEADER).read_text())
    forged["splits"][0]["index"] = {"bytes": path.stat().st_size, "crc32": file_crc32(path)}
    (prepared / HEADER).write_text(json.dumps(forged))
    with pytest.raises(UsageError, match=r"is no plain array|does not fit 10 examples"):
        open_prepared(str(prepared), "train")


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "cannot be understood"), ('{"version": 1}', "cannot be understood"), (None, "is no prepared set")],
)
def test_a_header_that_is_damaged_or_missing_is_refused(prepared: Path, text: str | None, message: str) -> None:
    if text is None:
        (prepared / HEADER).unlink()
    else:
        (prepared / HEADER).write_text(text)
    with pytest.raises(UsageError, match=message):
        open_prepared(str(prepared), "train")


def test_a_set_of_a_later_version_is_refused_with_its_version(prepared: Path) -> None:
    header = json.loads((prepared / HEADER).read_text())
    (prepared / HEADER).write_text(json.dumps({**header, "version": 2, "news": True}))
    with pytest.raises(UsageError, match="version 2 of the form; this traindyno knows version 1"):
        open_prepared(str(prepared), "train")


def test_an_unfinished_set_says_how_to_finish_it(tmp_path: Path) -> None:
    source = write_folder(tmp_path / "source", ["a/1.jpg", "b/1.jpg"])
    with pytest.raises(StoppedError):
        prepare(f"folder:{source}", tmp_path / "set", should_stop=stop_after(0))
    with pytest.raises(UsageError, match="not finished") as refused:
        open_prepared(str(tmp_path / "set"), "train")
    assert f"traindyno data prepare folder:{source} {tmp_path / 'set'}" in (refused.value.hint or "")


def test_a_flipped_byte_is_found_by_the_check_and_by_nothing_less(prepared: Path) -> None:
    header = finished_header(prepared)
    assert damaged_files(prepared, header, 1, lambda done, total: None, NEVER) == []
    chunk = prepared / "val" / "00001.u8"
    content = bytearray(chunk.read_bytes())
    content[100] ^= 4
    chunk.write_bytes(content)
    open_prepared(str(prepared), "infer")
    assert damaged_files(prepared, header, 1, lambda done, total: None, NEVER) == [str(chunk)]


def test_the_header_survives_being_written_and_read(prepared: Path) -> None:
    header = finished_header(prepared)
    write_header(prepared, header)
    assert read_header(prepared) == header
    assert header.splits[0].chunks[0] == WrittenFile(
        bytes=2 * 16 * 16 * 3, crc32=file_crc32(prepared / "train" / "00000.u8")
    )
