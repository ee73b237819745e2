"""Preparing: what is stored, what happens to bad images, and how it goes on after it was cut off."""

import errno
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from traindyno.core.errors import StoppedError, TraindynoError, UsageError
from traindyno.worker.data.bad import BadExampleError
from traindyno.worker.data.prepared import open_prepared
from traindyno.worker.data.prepared_format import PrepareRequest
from traindyno.worker.data.preparing import plan
from traindyno.worker.data.preparing_cost import estimate
from traindyno.worker.data.set_files import partial, whole_file
from worker.data.prepared_sets import content, prepare, stop_after, use_chunks_of
from worker.data.tiny_sets import jpeg, write_folder, write_shards

TWENTY = [f"{split}/{name}/{number}.jpg" for split in ("train", "val") for name in "ab" for number in range(5)]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    use_chunks_of(monkeypatch, 3)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "source", TWENTY)


def picture(width: int, height: int, form: str = "JPEG", mode: str = "RGB") -> bytes:
    """A gradient, so that resizing it is predictable."""
    across = np.linspace(0, 255, width)[None, :, None] * np.ones((height, 1, 3))
    encoded = io.BytesIO()
    Image.fromarray(across.astype(np.uint8)).convert(mode).save(encoded, form)
    return encoded.getvalue()


def one_image(tmp_path: Path, name: str, image: bytes) -> str:
    path = tmp_path / "one" / "a" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(image)
    return f"folder:{tmp_path / 'one'}"


@pytest.mark.parametrize(("size", "stored"), [((80, 60), (30, 40)), ((60, 80), (40, 30)), ((20, 15), (30, 40))])
def test_u8_gives_every_image_the_shorter_side_and_keeps_its_proportions(
    tmp_path: Path, size: tuple[int, int], stored: tuple[int, int]
) -> None:
    prepare(one_image(tmp_path, "x.jpg", picture(*size)), tmp_path / "set", shorter_side=30)
    pixels = np.asarray(open_prepared(str(tmp_path / "set"), "train").fetch(0).content)
    assert pixels.shape == (*stored, 3)
    expected = np.linspace(0, 255, stored[1])
    assert np.abs(pixels.mean(axis=(0, 2)) - expected).max() < 8


def test_jpeg_makes_large_images_smaller_and_leaves_small_ones_as_they_are(tmp_path: Path) -> None:
    small, large = picture(40, 30), picture(80, 60)
    for name, image in (("s.jpg", small), ("t.jpg", large), ("u.png", picture(40, 30, "PNG"))):
        path = tmp_path / "source" / "a" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(image)
    prepare(f"folder:{tmp_path / 'source'}", tmp_path / "set", shorter_side=30, encoding="jpeg", quality=90)
    examples = open_prepared(str(tmp_path / "set"), "train")
    contents = [examples.fetch(index).content for index in range(3)]
    assert contents[0] == small
    images = [Image.open(io.BytesIO(bytes(each))) for each in contents]
    assert [(image.format, image.size) for image in images] == [("JPEG", (40, 30))] * 3


def test_grey_and_transparent_images_are_stored_as_rgb(tmp_path: Path) -> None:
    for name, mode in (("grey.png", "L"), ("clear.png", "RGBA"), ("palette.png", "P")):
        path = tmp_path / "source" / "a" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture(40, 30, "PNG", mode))
    prepare(f"folder:{tmp_path / 'source'}", tmp_path / "set", shorter_side=30)
    examples = open_prepared(str(tmp_path / "set"), "train")
    assert {np.shape(examples.fetch(index).content) for index in range(3)} == {(30, 40, 3)}


def test_both_splits_are_prepared_with_their_classes(source: Path, tmp_path: Path) -> None:
    header = prepare(f"folder:{source}", tmp_path / "set", shorter_side=16)
    assert [(split.name, split.examples, len(split.chunks)) for split in header.splits] == [
        ("train", 10, 4),
        ("val", 10, 4),
    ]
    assert header.class_names == ("a", "b")
    examples = open_prepared(str(tmp_path / "set"), "infer")
    assert [examples.fetch(index).label for index in range(10)] == [0] * 5 + [1] * 5


def test_a_source_without_splits_is_stored_once_and_serves_both_modes(source: Path, tmp_path: Path) -> None:
    header = prepare(f"folder:{source / 'train'}", tmp_path / "set", shorter_side=16)
    assert [split.name for split in header.splits] == ["train"]
    assert len(open_prepared(str(tmp_path / "set"), "infer")) == 10


def test_every_example_of_shards_is_prepared_once(tmp_path: Path) -> None:
    shards = write_shards(tmp_path / "shards", shards=5, examples_each=4)
    prepare(f"shards:{shards}", tmp_path / "set", shorter_side=16)
    examples = open_prepared(str(tmp_path / "set"), "train")
    shades = sorted(round(float(np.mean(examples.fetch(index).content))) for index in range(len(examples)))
    assert shades == list(range(20))


def test_the_bytes_do_not_depend_on_the_number_of_processes(source: Path, tmp_path: Path) -> None:
    prepare(f"folder:{source}", tmp_path / "one", shorter_side=16)
    for processes in (2, 3):
        prepare(f"folder:{source}", tmp_path / str(processes), shorter_side=16, processes=processes)
        assert content(tmp_path / str(processes)) == content(tmp_path / "one")


@pytest.mark.parametrize("chunks", range(8))
def test_cut_off_anywhere_it_goes_on_and_ends_with_the_same_bytes(source: Path, tmp_path: Path, chunks: int) -> None:
    prepare(f"folder:{source}", tmp_path / "whole", shorter_side=16)
    with pytest.raises(StoppedError, match="of 20 examples prepared"):
        prepare(f"folder:{source}", tmp_path / "cut", shorter_side=16, should_stop=stop_after(chunks))
    prepare(f"folder:{source}", tmp_path / "cut", shorter_side=16)
    assert content(tmp_path / "cut") == content(tmp_path / "whole")


def test_chunks_that_were_prepared_are_not_prepared_again(source: Path, tmp_path: Path) -> None:
    with pytest.raises(StoppedError):
        prepare(f"folder:{source}", tmp_path / "set", shorter_side=16, should_stop=stop_after(2))
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "set").rglob("*.u8")}
    assert len(before) == 2
    prepare(f"folder:{source}", tmp_path / "set", shorter_side=16)
    assert {path: path.stat().st_mtime_ns for path in before} == before


@pytest.mark.parametrize("fault", ["flipped byte", "cut short", "lost", "damaged receipt", "left-over"])
def test_what_was_damaged_meanwhile_is_prepared_again(source: Path, tmp_path: Path, fault: str) -> None:
    prepare(f"folder:{source}", tmp_path / "whole", shorter_side=16)
    with pytest.raises(StoppedError):
        prepare(f"folder:{source}", tmp_path / "cut", shorter_side=16, should_stop=stop_after(2))
    chunk = tmp_path / "cut" / "train" / "00001.u8"
    stored = bytearray(chunk.read_bytes())
    if fault == "flipped byte":
        stored[7] ^= 1
        chunk.write_bytes(stored)
    elif fault == "cut short":
        chunk.write_bytes(stored[:-1])
    elif fault == "lost":
        chunk.unlink()
    elif fault == "damaged receipt":
        chunk.with_suffix(".json").write_text("{")
    else:
        partial(chunk.with_name("00003.u8")).write_bytes(b"half a chunk")
    prepare(f"folder:{source}", tmp_path / "cut", shorter_side=16)
    assert content(tmp_path / "cut") == content(tmp_path / "whole")


def test_a_bad_image_ends_the_work_with_its_name(source: Path, tmp_path: Path) -> None:
    (source / "train" / "b" / "2.jpg").write_bytes(jpeg()[:300])
    with pytest.raises(BadExampleError, match=r"train/b/2\.jpg cannot be used") as bad:
        prepare(f"folder:{source}", tmp_path / "set", shorter_side=16)
    assert "--skip-bad" in (bad.value.hint or "")


def test_bad_images_are_left_out_and_named_if_the_user_will_have_it_so(source: Path, tmp_path: Path) -> None:
    (source / "train" / "b" / "2.jpg").write_bytes(jpeg()[:300])
    (source / "train" / "a" / "0.jpg").write_bytes(b"")
    with pytest.raises(BadExampleError):
        prepare(f"folder:{source}", tmp_path / "set", shorter_side=16)
    header = prepare(f"folder:{source}", tmp_path / "set", shorter_side=16, skip_bad=True)
    train, val = header.splits
    assert [Path(name).name for name in train.skipped] == ["0.jpg", "2.jpg"]
    assert (train.examples, val.examples, val.skipped) == (8, 10, ())
    examples = open_prepared(str(tmp_path / "set"), "train")
    assert [examples.fetch(index).label for index in range(8)] == [0] * 4 + [1] * 4


def test_bad_images_that_were_left_out_before_are_an_error_when_they_may_not_be(source: Path, tmp_path: Path) -> None:
    (source / "train" / "a" / "0.jpg").write_bytes(b"")
    with pytest.raises(StoppedError):
        prepare(f"folder:{source}", tmp_path / "set", shorter_side=16, skip_bad=True, should_stop=stop_after(2))
    with pytest.raises(BadExampleError, match=r"train/a/0\.jpg"):
        prepare(f"folder:{source}", tmp_path / "set", shorter_side=16)


def test_a_split_of_bad_images_only_is_an_error_and_no_set(source: Path, tmp_path: Path) -> None:
    for path in (source / "val").rglob("*.jpg"):
        path.write_bytes(b"not an image")
    with pytest.raises(TraindynoError, match="not one example of val"):
        prepare(f"folder:{source}", tmp_path / "set", shorter_side=16, skip_bad=True)
    with pytest.raises(UsageError, match="not finished"):
        open_prepared(str(tmp_path / "set"), "train")


def test_an_image_as_thin_as_a_thread_is_bad_rather_than_gigantic(tmp_path: Path) -> None:
    source = one_image(tmp_path, "thread.png", picture(20_000, 1, "PNG"))
    with pytest.raises(BadExampleError, match="would become"):
        prepare(source, tmp_path / "set", shorter_side=256)


def test_another_request_or_a_changed_source_does_not_continue_a_set(source: Path, tmp_path: Path) -> None:
    prepare(f"folder:{source}", tmp_path / "set", shorter_side=16)
    with pytest.raises(UsageError, match="shorter side 16 instead of 20"):
        prepare(f"folder:{source}", tmp_path / "set", shorter_side=20)
    (source / "train" / "a" / "new.jpg").write_bytes(jpeg())
    with pytest.raises(UsageError, match="before that changed"):
        prepare(f"folder:{source}", tmp_path / "set", shorter_side=16)


def test_a_folder_with_other_files_is_refused(source: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not empty"):
        prepare(f"folder:{source}", source, shorter_side=16)


def test_a_disk_that_becomes_full_is_said_and_leaves_no_half_file(tmp_path: Path) -> None:
    with pytest.raises(TraindynoError, match="the disk became full") as full, whole_file(tmp_path / "00000.u8"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert "repeat the command" in (full.value.hint or "")
    assert not (tmp_path / "00000.u8").exists()


def test_memory_is_of_no_use_here(source: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        prepare(f"memory:folder:{source}", tmp_path / "set")
    assert refused.value.hint == f"write folder:{source}"


@pytest.mark.parametrize("wishes", [{"encoding": "u8"}, {"encoding": "jpeg", "quality": 80}])
def test_the_disk_space_told_beforehand_is_about_what_it_takes(tmp_path: Path, wishes: dict[str, object]) -> None:
    random = np.random.default_rng(0)
    for number in range(100):
        path = tmp_path / "source" / "ab"[number % 2] / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture(int(random.integers(40, 90)), int(random.integers(40, 90))))
    source = f"folder:{tmp_path / 'source'}"
    request = PrepareRequest(source=source, shorter_side=32, **wishes)  # type: ignore[arg-type]
    cost = estimate(request, plan(request).splits)
    header = prepare(source, tmp_path / "set", shorter_side=32, **wishes)
    assert cost.examples == 100
    assert abs(cost.bytes / header.splits[0].bytes - 1) < 0.1


def test_a_source_without_one_usable_image_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    request = PrepareRequest(source=one_image(tmp_path, "x.jpg", b"not an image"))
    with pytest.raises(TraindynoError, match=r"not one of the examples tried can be used.*x\.jpg"):
        estimate(request, plan(request).splits)
