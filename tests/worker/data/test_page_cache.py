"""Files in and out of the page cache, on the file systems that are here."""

import os
from pathlib import Path

import pytest

from traindyno.core.records import Settings
from traindyno.worker.data import warmth
from traindyno.worker.data.bad import SkippedExamples
from traindyno.worker.data.folder import open_folder
from traindyno.worker.data.memory import filesystem_of
from traindyno.worker.data.page_cache import cached_share, drop, pages_by_cachestat, pages_by_mincore
from traindyno.worker.data.pipeline_source import PipelineSource
from traindyno.worker.data.warmth import make_cold, plan_warm
from worker.data.known_data import KnownExamples, KnownStream
from worker.data.tiny_sets import write_folder

SIZE = 3_000_001


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "data.bin"
    path.write_bytes(os.urandom(SIZE))
    return str(path)


@pytest.fixture
def forgettable(file: str) -> str:
    """A file whose pages the kernel can forget; not so on a RAM disk."""
    drop([file])
    if cached_share([file]) != 0.0:
        pytest.skip("this file system keeps its pages, or does not tell")
    return file


@pytest.fixture
def on_ram_disk() -> str:
    folder = Path("/dev/shm")
    if filesystem_of(str(folder)) != "tmpfs" or not os.access(folder, os.W_OK):
        pytest.skip("there is no RAM disk here")
    return str(folder)


def test_a_file_just_written_is_in_memory(file: str) -> None:
    assert cached_share([file]) in (1.0, None)


def test_a_dropped_file_is_gone_and_reading_brings_back_what_was_read(forgettable: str) -> None:
    with open(forgettable, "rb", buffering=0) as content:
        content.read(SIZE)
    assert cached_share([forgettable]) == 1.0
    drop([forgettable])
    assert cached_share([forgettable]) == 0.0


def test_pages_not_yet_written_are_dropped_too(forgettable: str) -> None:
    Path(forgettable).write_bytes(os.urandom(SIZE))
    drop([forgettable])
    assert cached_share([forgettable]) == 0.0


def test_both_ways_of_counting_agree(forgettable: str) -> None:
    descriptor = os.open(forgettable, os.O_RDONLY)
    try:
        os.pread(descriptor, 100_000, 1_000_000)
        newer, older = pages_by_cachestat(descriptor), pages_by_mincore(descriptor, SIZE)
    finally:
        os.close(descriptor)
    assert older is not None
    assert older > 0
    assert newer in (older, None)


def test_of_files_that_are_missing_or_none_nothing_is_known(tmp_path: Path) -> None:
    assert cached_share([]) is None
    assert cached_share([str(tmp_path / "missing")]) is None
    drop([str(tmp_path / "missing")])


def test_many_files_are_sampled(tmp_path: Path, forgettable: str) -> None:
    paths = [str(tmp_path / str(number)) for number in range(20)]
    for path in paths:
        Path(path).write_bytes(bytes(5000))
    assert cached_share(paths, sample=7) == 1.0
    drop(paths[::2])
    assert cached_share(paths, sample=20) == 0.5


def test_data_made_cold_says_so_by_its_share(forgettable: str) -> None:
    made = make_cold([forgettable])
    assert (made.cached_share, made.notes) == (0.0, ())


def test_a_ram_disk_cannot_be_made_cold_and_that_is_said(on_ram_disk: str) -> None:
    path = Path(on_ram_disk) / f"traindyno-test-{os.getpid()}"
    path.write_bytes(bytes(100_000))
    try:
        made = make_cold([str(path)])
        planned = plan_warm(KnownExamples(paths=(str(path),)), seed=0, batch_size=2)
    finally:
        path.unlink()
    assert "the files lie on a RAM disk (tmpfs)" in made.notes
    assert "the files lie on a RAM disk (tmpfs)" in planned.notes
    assert "could not be emptied: 100 % of the data" in made.notes[0] or "could not be verified" in made.notes[0]


def test_data_without_files_is_not_claimed_to_be_cold() -> None:
    made = make_cold(())
    assert made.cached_share is None
    assert "not emptied" in made.notes[0]


def test_a_folder_made_warm_is_in_memory(tmp_path: Path, forgettable: str) -> None:
    folder = write_folder(tmp_path / "set", [f"class{index % 3}/{index}.jpg" for index in range(130)])
    examples = open_folder(str(folder), "train")
    if make_cold(examples.paths).cached_share != 0.0:
        pytest.skip("this file system keeps its pages, or does not tell")
    calls: list[int] = []
    made = PipelineSource(examples, 16, "train").warm(Settings(batch_size=2), 0, None, lambda: calls.append(1))
    assert made.cached_share == 1.0
    assert calls


def test_every_example_is_read_when_data_is_made_warm(file: str) -> None:
    """Readers take 64 at a time; the bad ones among 70 tell that they were met."""
    examples = KnownExamples(count=70, bad=tuple(range(0, 70, 2)), paths=(file,))
    with SkippedExamples() as skipped:
        PipelineSource(examples, 16, "train").warm(Settings(batch_size=2), 0, skipped, lambda: None)
        assert skipped.count == 35


def test_a_stream_is_made_warm_once_before_its_stages_are_timed(forgettable: str) -> None:
    source = PipelineSource(KnownStream(paths=(forgettable,)), 16, "train")
    staged = source.staged(Settings(batch_size=2), 0, None)
    staged.touch(lambda: None)
    assert cached_share([forgettable]) == 1.0
    drop([forgettable])
    staged.touch(lambda: None)
    assert cached_share([forgettable]) == 0.0


def test_the_files_of_a_stream_made_warm_are_in_memory(forgettable: str) -> None:
    stream = KnownStream(paths=(forgettable,))
    made = PipelineSource(stream, 16, "train").warm(Settings(batch_size=2), 0, None, lambda: None)
    assert (made.cached_share, made.drawn) == (1.0, None)


def test_of_large_data_a_part_is_used(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = KnownExamples(count=500, paths=(file,))
    monkeypatch.setattr(warmth, "WARM_BYTES", 100 * len(examples.fetch(0).content))
    planned = plan_warm(examples, seed=0, batch_size=8)
    assert planned.drawn is not None
    assert 50 < planned.drawn < 200
    assert f"measured on {planned.drawn} of the 500 examples" in planned.notes[0]


def test_a_part_is_never_smaller_than_a_batch(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warmth, "WARM_BYTES", 1)
    assert plan_warm(KnownExamples(count=500, paths=(file,)), seed=0, batch_size=64).drawn == 64


def test_data_in_memory_needs_no_warming() -> None:
    assert plan_warm(KnownExamples(), seed=0, batch_size=2) == warmth.Warmth()


def test_data_larger_than_memory_is_told_to_be_so(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Small:
        available_bytes = SIZE // 2

    monkeypatch.setattr(warmth, "host_memory", Small)
    planned = plan_warm(KnownExamples(paths=(file,)), seed=0, batch_size=2)
    assert "larger than the memory" in planned.notes[0]
