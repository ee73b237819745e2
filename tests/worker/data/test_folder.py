"""Class folders are found as people have them on disk; what is wrong with them is named."""

import os
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.core.errors import UsageError
from traindyno.core.records import Mode
from traindyno.worker.data.bad import BadExampleError
from traindyno.worker.data.folder import FolderExamples, NameTable, open_folder
from worker.data.tiny_sets import write_folder


def labelled(examples: FolderExamples, root: Path) -> dict[str, int]:
    fetched = [examples.fetch(index) for index in range(len(examples))]
    return {os.path.relpath(stored.name, root): stored.label for stored in fetched}


def test_images_are_numbered_by_class_folder_in_sorted_order(tmp_path: Path) -> None:
    write_folder(tmp_path, ["dog/2.JPG", "dog/1.jpeg", "cat/x.png", "cat/y.webp", "eel/z.Bmp"])
    (tmp_path / "cat" / "notes.txt").write_text("no image")
    examples = open_folder(str(tmp_path), "train")
    expected = {"cat/x.png": 0, "cat/y.webp": 0, "dog/1.jpeg": 1, "dog/2.JPG": 1, "eel/z.Bmp": 2}
    assert list(labelled(examples, tmp_path).items()) == list(expected.items())
    assert (examples.classes, examples.augmentation) == (3, "resized_crop")


def test_an_image_is_fetched_byte_for_byte(tmp_path: Path) -> None:
    write_folder(tmp_path, ["a/1.jpg", "b/2.jpg"])
    examples = open_folder(str(tmp_path), "train")
    assert examples.fetch(1).content == (tmp_path / "b/2.jpg").read_bytes()


@pytest.mark.parametrize("split", ["val", "validation", "valid", "test"])
def test_training_and_inference_each_take_their_split(tmp_path: Path, split: str) -> None:
    write_folder(tmp_path, ["train/a/1.jpg", "train/b/2.jpg", f"{split}/a/3.jpg", f"{split}/b/4.jpg"])
    assert labelled(open_folder(str(tmp_path), "train"), tmp_path) == {"train/a/1.jpg": 0, "train/b/2.jpg": 1}
    assert labelled(open_folder(str(tmp_path), "infer"), tmp_path) == {f"{split}/a/3.jpg": 0, f"{split}/b/4.jpg": 1}


def test_imagenet_with_a_flat_test_folder_infers_on_val(tmp_path: Path) -> None:
    write_folder(tmp_path, ["train/n01/1.JPEG", "val/n01/2.JPEG", "test/ILSVRC2012_test_00000001.JPEG"])
    assert labelled(open_folder(str(tmp_path), "infer"), tmp_path) == {"val/n01/2.JPEG": 0}


def test_a_class_may_be_called_train(tmp_path: Path) -> None:
    write_folder(tmp_path, ["car/1.jpg", "train/2.jpg"])
    assert open_folder(str(tmp_path), "train").class_names == ("car", "train")


def test_nested_folders_of_places365_are_classes_by_their_path(tmp_path: Path) -> None:
    write_folder(
        tmp_path,
        ["a/airfield/1.jpg", "a/apartment_building/outdoor/2.jpg", "a/arena/hockey/3.jpg", "a/arena/rodeo/4.jpg"],
    )
    examples = open_folder(str(tmp_path), "train")
    assert examples.class_names == ("a/airfield", "a/apartment_building/outdoor", "a/arena/hockey", "a/arena/rodeo")
    assert [examples.fetch(index).label for index in range(4)] == [0, 1, 2, 3]


def test_the_splits_of_the_places365_archives_are_known(tmp_path: Path) -> None:
    write_folder(tmp_path, ["data_256/a/airfield/1.jpg", "val_256/Places365_val_00000001.jpg"])
    assert open_folder(str(tmp_path), "train").class_names == ("a/airfield",)


@pytest.mark.parametrize(
    ("file", "labels"),
    [
        ("Places365_val_00000001.jpg", "places365_val.txt"),
        ("ILSVRC2012_val_00000001.JPEG", "ILSVRC2012_validation_ground_truth.txt"),
    ],
)
def test_a_flat_validation_set_is_told_where_its_labels_are(tmp_path: Path, file: str, labels: str) -> None:
    write_folder(tmp_path, [file])
    with pytest.raises(UsageError, match=r"no class folder.*labels are missing") as raised:
        open_folder(str(tmp_path), "infer")
    assert labels in str(raised.value.hint)


def test_stray_images_beside_class_folders_are_named(tmp_path: Path) -> None:
    write_folder(tmp_path, ["cat/1.jpg", "stray.jpg"])
    with pytest.raises(UsageError, match=r"such as stray\.jpg"):
        open_folder(str(tmp_path), "train")


def test_splits_with_unlike_classes_are_refused_because_labels_would_shift(tmp_path: Path) -> None:
    write_folder(tmp_path, ["train/a/x/1.jpg", "train/a/y/2.jpg", "train/b/3.jpg", "val/a/y/4.jpg", "val/b/5.jpg"])
    assert len(open_folder(str(tmp_path), "train")) == 3
    with pytest.raises(UsageError, match=r"train/a has the class folder x and .*val/a does not"):
        open_folder(str(tmp_path), "infer")


def test_hidden_folders_and_files_are_no_classes(tmp_path: Path) -> None:
    write_folder(tmp_path, ["cat/1.jpg", "cat/._1.jpg", ".trash/2.jpg"])
    assert len(open_folder(str(tmp_path), "train")) == 1


@pytest.mark.parametrize("mode", ["train", "infer"])
def test_an_empty_folder_is_named(tmp_path: Path, mode: Mode) -> None:
    with pytest.raises(UsageError, match=f"{tmp_path} holds no images"):
        open_folder(str(tmp_path), mode)


def test_an_empty_class_folder_is_named(tmp_path: Path) -> None:
    write_folder(tmp_path, ["cat/1.jpg"])
    (tmp_path / "dog").mkdir()
    with pytest.raises(UsageError, match=r"dog holds no images"):
        open_folder(str(tmp_path), "train")


def test_a_file_in_place_of_a_folder_is_named(tmp_path: Path) -> None:
    write_folder(tmp_path, ["cat/1.jpg"])
    with pytest.raises(UsageError, match=r"1\.jpg is a file, not a folder"):
        open_folder(str(tmp_path / "cat/1.jpg"), "train")


def test_a_folder_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_folder(tmp_path, ["cat/1.jpg", "dog/2.jpg"])
    scandir = os.scandir

    def guarded(path: str) -> object:
        if path.endswith("dog"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    with pytest.raises(UsageError, match=r"dog cannot be read \(Permission denied\)"):
        open_folder(str(tmp_path), "train")


def test_a_link_that_leads_back_up_is_named_instead_of_followed_for_ever(tmp_path: Path) -> None:
    write_folder(tmp_path, ["cat/1.jpg"])
    (tmp_path / "cat" / "again").symlink_to(tmp_path)
    with pytest.raises(UsageError, match="leads back"):
        open_folder(str(tmp_path), "train")


def test_a_file_of_no_bytes_is_named_when_it_is_fetched(tmp_path: Path) -> None:
    write_folder(tmp_path, ["cat/1.jpg"])
    (tmp_path / "cat/2.jpg").touch()
    examples = open_folder(str(tmp_path), "train")
    with pytest.raises(BadExampleError, match=r"cat/2\.jpg cannot be used: it is empty") as raised:
        examples.fetch(1)
    assert "--skip-bad" in str(raised.value.hint)


def test_a_file_that_has_gone_is_named_when_it_is_fetched(tmp_path: Path) -> None:
    write_folder(tmp_path, ["cat/1.jpg"])
    examples = open_folder(str(tmp_path), "train")
    (tmp_path / "cat/1.jpg").unlink()
    with pytest.raises(BadExampleError, match=r"cat/1\.jpg cannot be used: it cannot be read \(No such file"):
        examples.fetch(0)


def test_names_that_are_not_text_are_read_too(tmp_path: Path) -> None:
    write_folder(tmp_path, ["cat/1.jpg"])
    os.rename(tmp_path / "cat/1.jpg", os.fsencode(tmp_path) + b"/cat/\xff\xe9.jpg")
    assert open_folder(str(tmp_path), "train").fetch(0).content


def test_it_travels_pickled(tmp_path: Path) -> None:
    write_folder(tmp_path, ["a/1.jpg", "b/2.jpg"])
    examples = open_folder(str(tmp_path), "train")
    copy = pickle.loads(pickle.dumps(examples))
    assert list(copy.paths) == list(examples.paths)
    assert copy.fetch(1) == examples.fetch(1)


@given(st.lists(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1)), st.slices(9))
def test_a_table_of_names_is_the_list_of_them(names: list[str], part: slice) -> None:
    table = NameTable("/data", names)
    whole = [f"/data/{name}" for name in names]
    assert list(table) == whole
    assert table[part] == whole[part]
    assert [table[-1 - back] for back in range(len(names))] == whole[::-1]
