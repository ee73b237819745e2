"""Sets that are made: they weigh like photographs, can be learnt, and come out the same however they are made."""

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from traindyno.core.errors import StoppedError, TraindynoError, UsageError
from traindyno.worker.data import set_files
from traindyno.worker.data.in_processes import in_processes
from traindyno.worker.data.making import LAYOUTS, MANIFEST, make_set, settle
from traindyno.worker.data.making_layout import Like, MakeRequest
from traindyno.worker.data.set_files import locked_folder
from traindyno.worker.data.sources import open_examples
from traindyno.worker.data.stored import Examples
from worker.data.dying_work import end_this_process


def make(
    folder: Path, request: MakeRequest, processes: int = 1, should_stop: Callable[[], bool] = lambda: False
) -> dict[str, bytes]:
    """Make the set; the content of every file."""
    make_set(folder, request, processes, lambda done, total: None, should_stop)
    return content(folder)


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def stop_after(calls: int) -> Callable[[], bool]:
    """Lets so many blocks begin, then wants to stop."""
    asked: Iterator[int] = iter(range(10**9))
    return lambda: next(asked) >= calls


def stored(data: str, mode: str = "train") -> Examples:
    examples = open_examples(data, mode)  # type: ignore[arg-type]
    assert hasattr(examples, "fetch")
    return examples


@pytest.fixture(scope="module")
def imagenet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("imagenet")
    make(folder, settle("imagenet", 220, classes=4))
    return folder


@pytest.fixture(scope="module")
def images(imagenet: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(imagenet.rglob("*.JPEG"))]


def test_images_weigh_about_100_kb_and_not_all_the_same(images: list[bytes]) -> None:
    weights = [len(image) for image in images]
    assert 80_000 < np.mean(weights) < 120_000
    light, heavy = np.percentile(weights, [5, 95])
    assert light < 60_000
    assert heavy > 140_000


def test_images_have_many_sizes_around_500_by_375(images: list[bytes]) -> None:
    sizes = [Image.open(io.BytesIO(image)).size for image in images]
    assert sizes.count((500, 375)) > len(sizes) / 4
    assert len(set(sizes)) > 10
    assert any(width < height for width, height in sizes)
    assert min(min(size) for size in sizes) < 250
    assert max(max(size) for size in sizes) >= 640


def test_fine_detail_falls_off_as_in_photographs_and_not_as_in_noise(images: list[bytes]) -> None:
    slopes = [spectral_slope(Image.open(io.BytesIO(image))) for image in images[:40]]
    assert -1.8 < np.mean(slopes) < -0.7


def spectral_slope(image: Image.Image) -> float:
    """Exponent of amplitude against frequency: 0 for white noise, about -1 for photographs."""
    grey = np.asarray(image.convert("L").resize((256, 256)), float)
    spectrum = np.abs(np.fft.rfft2(grey * np.hanning(256)[:, None] * np.hanning(256)))
    frequency = np.hypot(np.fft.fftfreq(256, 1 / 256)[:, None], np.fft.rfftfreq(256, 1 / 256))
    band = (frequency > 4) & (frequency < 80)
    slope, _ = np.polyfit(np.log(frequency[band]), np.log(spectrum[band]), 1)
    return float(slope)


def test_classes_can_be_learnt_but_not_at_a_glance(tmp_path: Path) -> None:
    make(tmp_path, settle("cifar10", 2400))
    features, labels = colours(stored(f"cifar10:{tmp_path}"))
    unseen, answers = colours(stored(f"cifar10:{tmp_path}", "infer"))
    weights = np.linalg.solve(features.T @ features + 10 * np.eye(features.shape[1]), features.T @ np.eye(10)[labels])
    accuracy = np.mean((unseen @ weights).argmax(axis=1) == answers)
    assert 0.35 < accuracy < 0.98


def colours(examples: Examples) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """How often each of 64 colours occurs in each image, and the labels."""
    everything = [examples.fetch(index) for index in range(len(examples))]
    pixels = np.stack([np.asarray(each.content) for each in everything]).astype(np.int64) // 64
    codes = (pixels * [16, 4, 1]).sum(axis=-1).reshape(len(everything), -1)
    counts = np.stack([np.bincount(each, minlength=64) for each in codes])
    return np.sqrt(counts), np.array([each.label for each in everything])


def test_a_folder_set_is_read_with_its_splits_and_classes(imagenet: Path, tmp_path: Path) -> None:
    train, val = stored(f"folder:{imagenet}"), stored(f"folder:{imagenet}", "infer")
    assert (len(train), len(val), train.classes, val.classes) == (198, 22, 4, 4)
    make(tmp_path, settle("places365", 60, classes=30))
    train, val = stored(f"folder:{tmp_path}"), stored(f"folder:{tmp_path}", "infer")
    assert (len(train), len(val), train.classes, val.classes) == (30, 30, 30, 30)
    assert Image.open(io.BytesIO(bytes(train.fetch(0).content))).size == (256, 256)
    assert (tmp_path / "train" / "a" / "a_scene_000" / "00000001.jpg").is_file()


def test_cifar_has_the_files_of_the_official_archive(tmp_path: Path) -> None:
    files = make(tmp_path, settle("cifar10", 120))
    batches = [f"cifar-10-batches-bin/data_batch_{number}.bin" for number in range(1, 6)]
    test = "cifar-10-batches-bin/test_batch.bin"
    assert set(files) == {*batches, test, "cifar-10-batches-bin/batches.meta.txt", MANIFEST}
    assert [len(files[name]) for name in (*batches, test)] == [20 * 3073] * 6
    assert len(files["cifar-10-batches-bin/batches.meta.txt"].split()) == 10
    train = stored(f"cifar10:{tmp_path}")
    assert sorted(train.fetch(index).label for index in range(100)) == sorted(list(range(10)) * 10)


@pytest.mark.parametrize("like", ["places365", "cifar10"])
def test_the_bytes_do_not_depend_on_the_number_of_processes_but_on_the_seed(tmp_path: Path, like: Like) -> None:
    alone = make(tmp_path / "alone", settle(like, 130, seed=3))
    together = make(tmp_path / "together", settle(like, 130, seed=3), processes=2)
    other = make(tmp_path / "other", settle(like, 130, seed=4))
    assert together == alone
    assert set(other) == set(alone)
    images = [name for name in alone if name.endswith((".jpg", "batch_1.bin"))]
    assert all(other[name] != alone[name] for name in images)


@pytest.mark.parametrize("like", ["places365", "cifar10"])
def test_a_set_that_was_cut_off_ends_like_one_that_was_not(tmp_path: Path, like: Like) -> None:
    request = settle(like, 300)
    with pytest.raises(StoppedError, match="of 300 images made") as stopped:
        make(tmp_path / "cut", request, should_stop=stop_after(2))
    assert "repeat the command" in (stopped.value.hint or "")
    some = next(path for path in (tmp_path / "cut").rglob("*") if path.is_file() and path.name != MANIFEST)
    set_files.partial(some).write_bytes(b"half of a file")
    some.unlink()
    assert make(tmp_path / "cut", request) == make(tmp_path / "whole", request)


def test_to_repeat_a_finished_set_changes_nothing(tmp_path: Path) -> None:
    request = settle("places365", 40)
    before = make(tmp_path, request)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.jpg")}
    assert make(tmp_path, request) == before
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.jpg")} == times


def test_files_of_somebody_else_and_other_sets_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match=r"not empty: it holds thesis\.tex"):
        make(tmp_path / "mine", settle("places365", 40))
    make(tmp_path / "made", settle("places365", 40))
    with pytest.raises(UsageError, match="another set, made with seed 0 instead of 1"):
        make(tmp_path / "made", settle("places365", 40, seed=1))


def test_two_do_not_write_to_one_folder_at_once(tmp_path: Path) -> None:
    with locked_folder(tmp_path), pytest.raises(TraindynoError, match="another traindyno is writing"):
        make(tmp_path, settle("places365", 40))


def test_a_disk_that_is_too_small_is_noticed_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(set_files, "free_bytes", lambda folder: 10**9)
    with pytest.raises(TraindynoError, match=r"about 93\.1 GiB are needed"):
        make(tmp_path / "new", settle("imagenet", 1_000_000))
    assert not (tmp_path / "new").exists()


def test_a_process_that_is_killed_is_an_error_and_not_a_hang() -> None:
    with pytest.raises(TraindynoError, match="was killed"):
        list(in_processes(end_this_process, range(4), 2, lambda: False))


@given(
    like=st.sampled_from(list(LAYOUTS)),
    images=st.integers(1, 100_000),
    classes=st.none() | st.integers(2, 2000),
    share=st.none() | st.floats(0, 0.99),
)
def test_every_class_is_in_every_split_or_the_request_is_refused(
    like: Like, images: int, classes: int | None, share: float | None
) -> None:
    try:
        request = settle(like, images, classes, share)
    except UsageError:
        return
    assert request.images == images
    assert request.train_images >= request.classes
    assert request.val_images >= request.classes or share == 0
    assert request.classes == (classes or request.classes)


def test_the_hint_of_a_refused_request_is_enough() -> None:
    with pytest.raises(UsageError) as refused:
        settle("imagenet", 150, classes=100)
    least = int((refused.value.hint or "").split()[4])
    assert settle("imagenet", least, classes=100).classes == 100


def test_a_set_like_cifar10_always_has_10_classes_and_test_images() -> None:
    assert settle("cifar10", 60_000) == MakeRequest(
        like="cifar10", train_images=50_000, val_images=10_000, classes=10, seed=0
    )
    with pytest.raises(UsageError, match="10 classes"):
        settle("cifar10", 1000, classes=7)
    with pytest.raises(UsageError, match="test images"):
        settle("cifar10", 1000, val_share=0.0)
