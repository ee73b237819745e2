"""Bad examples are named in the error, or with `--skip-bad` left out and counted, in all processes of a loader."""

import errno
import os
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from torch.utils.data import DataLoader, Dataset

from traindyno.core.errors import TraindynoError
from traindyno.worker.data.bad import (
    BAD_IN_A_ROW,
    NAMES_KEPT,
    BadExampleError,
    SkippedExamples,
    bad_example,
    read_example,
    read_stream,
)
from traindyno.worker.data.folder import FolderExamples, open_folder
from traindyno.worker.data.stored import Augmentation, Examples, Stored
from worker.data.tiny_sets import decoded, jpeg, write_folder


@dataclass
class Numbered:
    """Examples of which some hold no image; each is labelled with its index."""

    good: Sequence[bool]
    classes: int = 2
    augmentation: Augmentation = "resized_crop"
    paths: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.good)

    def fetch(self, index: int) -> Stored:
        return Stored(jpeg() if self.good[index] else b"no image", index, f"example-{index}")


class Labels(Dataset[int]):
    """Decodes for a loader, but hands out labels only."""

    def __init__(self, examples: Examples, skipped: SkippedExamples | None) -> None:
        self.examples, self.skipped = examples, skipped

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, index: int) -> int:
        return read_example(self.examples, index, decoded, self.skipped)[1]


def folder_with_bad_files(root: Path) -> FolderExamples:
    """Sixteen files, of which one is cut short, one is no image, one is empty and one is gone."""
    write_folder(root, [f"{label}/{number}.jpg" for label in "ab" for number in range(8)])
    examples = open_folder(str(root), "train")
    (root / "a/1.jpg").write_bytes(jpeg(size=64)[:400])
    (root / "a/2.jpg").write_bytes(b"<html>404</html>")
    (root / "b/3.jpg").write_bytes(b"")
    (root / "b/7.jpg").unlink()
    return examples


BAD = ("a/1.jpg", "a/2.jpg", "b/3.jpg", "b/7.jpg")


def test_a_good_example_is_decoded_and_keeps_its_label() -> None:
    pixels, label = read_example(Numbered([True, True]), 1, decoded)
    assert (pixels.shape, label) == ((16, 16, 3), 1)


@pytest.mark.parametrize("index", [1, 2, 11, 15])
def test_without_skip_bad_the_error_names_the_file_and_the_option(tmp_path: Path, index: int) -> None:
    examples = folder_with_bad_files(tmp_path)
    with pytest.raises(BadExampleError, match=rf"^{tmp_path}/./.\.jpg cannot be used: ") as raised:
        read_example(examples, index, decoded)
    assert raised.value.name == examples.paths[index]
    assert "--skip-bad" in str(raised.value.hint)


def test_with_skip_bad_the_next_good_example_takes_the_place() -> None:
    examples = Numbered([True, False, False, True, False])
    with SkippedExamples() as skipped:
        assert [read_example(examples, index, decoded, skipped)[1] for index in range(5)] == [0, 3, 3, 3, 0]
        assert skipped.count == 3
        assert skipped.names == ("example-1", "example-2", "example-4")


def test_an_example_met_again_counts_once() -> None:
    with SkippedExamples() as skipped:
        for _ in range(3):
            read_example(Numbered([False, True]), 0, decoded, skipped)
        assert skipped.count == 1


def test_all_are_counted_and_the_first_names_kept() -> None:
    with SkippedExamples() as skipped:
        for number in range(NAMES_KEPT + 5):
            skipped.add(f"name {number}")
        assert skipped.count == NAMES_KEPT + 5
        assert skipped.names == tuple(f"name {number}" for number in range(NAMES_KEPT))


def test_a_hundred_bad_examples_in_a_row_are_still_left_out() -> None:
    examples = Numbered([False] * BAD_IN_A_ROW + [True])
    with SkippedExamples() as skipped:
        assert read_example(examples, 0, decoded, skipped)[1] == BAD_IN_A_ROW
        read = read_stream(map(examples.fetch, range(len(examples))), decoded, skipped)
        assert [label for _, label in read] == [BAD_IN_A_ROW]


def test_more_in_a_row_are_taken_for_the_wrong_data() -> None:
    examples = Numbered([False] * (BAD_IN_A_ROW + 1) + [True])
    with SkippedExamples() as skipped:
        with pytest.raises(TraindynoError, match=r"in a row: is this image data\? The last one: example-100 cannot"):
            read_example(examples, 0, decoded, skipped)
        with pytest.raises(TraindynoError, match=r"in a row: is this image data\? The last one: example-100 cannot"):
            list(read_stream(map(examples.fetch, range(len(examples))), decoded, skipped))


def test_many_bad_examples_that_are_not_in_a_row_are_all_left_out() -> None:
    examples = Numbered([number % 2 == 0 for number in range(2 * BAD_IN_A_ROW + 4)])
    with SkippedExamples() as skipped:
        read = list(read_stream(map(examples.fetch, range(len(examples))), decoded, skipped))
        assert (len(read), skipped.count) == (BAD_IN_A_ROW + 2, BAD_IN_A_ROW + 2)


def test_a_short_stream_without_any_good_example_is_an_error_instead_of_an_empty_epoch() -> None:
    with SkippedExamples() as skipped, pytest.raises(TraindynoError, match=r"is this image data\?"):
        list(read_stream(map(Numbered([False, False]).fetch, range(2)), decoded, skipped))


def test_a_small_set_without_any_good_example_ends_in_an_error() -> None:
    with SkippedExamples() as skipped, pytest.raises(TraindynoError, match=r"is this image data\?"):
        read_example(Numbered([False, False]), 1, decoded, skipped)


def test_bad_examples_of_a_stream_are_left_out_or_named() -> None:
    examples = Numbered([True, False, True])
    with SkippedExamples() as skipped:
        read = read_stream(map(examples.fetch, range(3)), decoded, skipped)
        assert [label for _, label in read] == [0, 2]
        assert skipped.names == ("example-1",)
    with pytest.raises(BadExampleError, match="example-1 cannot be used"):
        list(read_stream(map(examples.fetch, range(3)), decoded))


@pytest.mark.parametrize("skip", [True, False])
def test_too_many_open_files_are_not_blamed_on_an_example(skip: bool) -> None:
    def use(stored: Stored) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with SkippedExamples() as skipped, pytest.raises(OSError, match="Too many open files"):
        read_example(Numbered([True]), 0, use, skipped if skip else None)


@pytest.mark.parametrize(("context", "workers"), [("fork", 2), ("spawn", 1)])
def test_what_the_workers_of_a_loader_left_out_is_gathered(tmp_path: Path, context: str, workers: int) -> None:
    examples = folder_with_bad_files(tmp_path)
    with SkippedExamples() as skipped:
        dataset = Labels(examples, skipped)
        loader = DataLoader(dataset, batch_size=2, num_workers=workers, multiprocessing_context=context)
        assert sum(len(batch) for batch in loader) == 16
        assert skipped.count == 4
        assert {os.path.relpath(name, tmp_path) for name in skipped.names} == set(BAD)


def test_an_error_in_a_worker_of_a_loader_still_is_one_sentence_with_the_name(tmp_path: Path) -> None:
    loader = DataLoader(Labels(folder_with_bad_files(tmp_path), None), batch_size=2, num_workers=2)
    with pytest.raises(BadExampleError) as raised:
        list(loader)
    assert raised.value.message.startswith(f"{tmp_path}/a/1.jpg cannot be used: ")
    assert "\n" not in raised.value.message
    assert "--skip-bad" in str(raised.value.hint)


def test_a_name_or_reason_of_several_lines_becomes_one() -> None:
    assert bad_example("a\nb.jpg", "first\nsecond").message == "a b.jpg cannot be used: first second"


def test_the_error_travels_pickled() -> None:
    error = bad_example("a.jpg", "it is empty")
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.message, copy.hint, copy.name) == (error.message, error.hint, error.name)


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with SkippedExamples() as skipped:
        skipped.add("a.jpg")
        assert list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())
