"""What runs tell about their data, and what they refuse to learn from."""

from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.records import WorkloadSpec
from traindyno.worker.errors import LargerThanDataError
from traindyno.worker.learning.processes import Processes
from worker.data.tiny_sets import write_folder, write_shards
from worker.learning.learning_sets import open_set, own, shades

DIGITS = WorkloadSpec(model="mlp:4", data="digits:")
NAMES = [f"class{label}/{number}.jpg" for label in range(2) for number in range(10)]


def folder(path: Path, **fields: Any) -> WorkloadSpec:
    return WorkloadSpec(model="mlp:4", data=f"folder:{path}", image_size=8, **fields)


def test_digits_come_with_a_split_to_evaluate_on() -> None:
    data = open_set(DIGITS)
    assert (data.training_examples, data.evaluation_examples, data.classes) == (1442, 355, 10)
    assert (data.notes, data.remarks) == ([], [])


def test_a_folder_without_splits_holds_out_the_same_share_of_every_class(tmp_path: Path) -> None:
    data = open_set(folder(write_folder(tmp_path, NAMES)), hold_out=0.3)
    with data.evaluation() as batches:
        labels = list(chain.from_iterable(labels.tolist() for _, labels in batches))
    assert sorted(labels) == [0] * 3 + [1] * 3
    held_out = f"6 of the 20 examples of folder:{tmp_path} (30% of every class) are held out to evaluate on"
    assert data.remarks == [f"{held_out}: it has no split for that."]
    assert data.notes == []


def test_bad_examples_are_left_out_and_told_if_that_is_asked_for(tmp_path: Path) -> None:
    root = write_folder(tmp_path, [f"train/{name}" for name in NAMES] + [f"val/{name}" for name in NAMES])
    (root / "val/class0/3.jpg").write_bytes(b"no image")
    data = open_set(folder(root, skip_bad=True))
    for _ in range(2):
        with data.evaluation() as batches:
            assert sum(len(labels) for _, labels in batches) == 20
    assert sum("1 bad example was left out" in note for note in data.notes) == 1


def test_what_training_left_out_is_told_while_it_still_reads_and_counted_once(tmp_path: Path) -> None:
    root = write_folder(tmp_path, [f"train/{name}" for name in NAMES] + [f"val/{name}" for name in NAMES])
    for name in ("train/class0/3.jpg", "train/class1/5.jpg", "val/class0/3.jpg"):
        (root / name).write_bytes(b"no image")
    data = open_set(folder(root, skip_bad=True))
    with data.training(0) as take:
        for _ in range(2 * data.training_examples):
            take()
        assert ["2 bad examples were left out" in note for note in data.notes] == [True]
    with data.evaluation() as batches:
        list(batches)
    assert ["3 bad examples were left out" in note for note in data.notes] == [True]


def test_a_bad_example_ends_the_run_with_its_name(tmp_path: Path) -> None:
    root = write_folder(tmp_path, [f"train/{name}" for name in NAMES] + [f"val/{name}" for name in NAMES])
    (root / "val/class0/3.jpg").write_bytes(b"no image")
    with pytest.raises(TraindynoError, match=r"val/class0/3\.jpg"), open_set(folder(root)).evaluation() as batches:
        list(batches)


def test_workers_are_told_to_be_idle_where_all_lies_on_the_device() -> None:
    assert open_set(DIGITS, workers=2).remarks == ["All examples lie on cpu: no loader workers are needed."]


def test_a_sampler_of_the_users_that_cannot_be_begun_in_the_middle_is_left_out_with_a_note(tmp_path: Path) -> None:
    data = open_set(own(tmp_path, "weighted"))
    assert data.training_examples + data.evaluation_examples == 30
    assert "WeightedRandomSampler is left out: all 30 items come once an epoch" in data.notes[0]


def test_a_loader_of_some_items_alone_is_not_given_the_others(tmp_path: Path) -> None:
    data = open_set(own(tmp_path, "subset"))
    with data.training(0) as take, data.evaluation() as batches:
        seen = set(chain.from_iterable(map(shades, [*(take() for _ in range(3)), *batches])))
    assert data.training_examples + data.evaluation_examples == 20
    assert min(seen) >= 10


def test_a_worker_init_fn_of_the_users_sets_attributes_of_the_users_dataset(tmp_path: Path) -> None:
    with open_set(own(tmp_path, "begun"), workers=1).training(0) as take:
        assert min(shades(take())) >= 100


def test_an_evaluation_dataset_leaves_all_of_the_dataset_to_train_on(tmp_path: Path) -> None:
    data = open_set(own(tmp_path, "two_sets"))
    assert (data.training_examples, data.evaluation_examples, data.classes) == (30, 9, 3)
    assert (data.notes, data.remarks) == ([], [])


def test_held_out_items_of_own_data_are_said_to_be_read_as_the_others_are(tmp_path: Path) -> None:
    (remark,) = open_set(own(tmp_path, "dataset")).remarks
    assert remark.startswith("6 of the dataset's 30 examples (20% of every class) are held out")
    assert remark.endswith("give the Workload an evaluation_dataset.")


def test_a_batch_larger_than_what_is_trained_on_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LargerThanDataError, match="which has 24 examples"):
        open_set(own(tmp_path, "dataset"), batch_size=25)


def test_a_batch_that_processes_cannot_share_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot be shared equally"):
        open_set(DIGITS, batch_size=7, processes=Processes(0, 2))


def test_shards_are_refused_with_what_to_name_instead(tmp_path: Path) -> None:
    shards = write_shards(tmp_path, 2, 10)
    with pytest.raises(UsageError, match="in the order of its files") as refused:
        open_set(WorkloadSpec(model="mlp:4", data=f"shards:{shards}"))
    assert "prepared:PATH" in refused.value.hint


@pytest.mark.parametrize("function", ["example", "synthetic"])
def test_made_up_batches_have_nothing_to_teach(function: str, tmp_path: Path) -> None:
    workload = WorkloadSpec(model="mlp:4") if function == "synthetic" else own(tmp_path, function)
    with pytest.raises(UsageError, match="nothing to learn") as refused:
        open_set(workload)
    assert "--data" in refused.value.hint


def test_inference_is_refused() -> None:
    with pytest.raises(UsageError, match="without training"):
        open_set(WorkloadSpec(model="mlp:4", data="digits:", mode="infer"))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("stream", "in its own order"),
        ("more_classes", "has the class 5, and training goes up to class 2"),
        ("nothing_to_train_on", "nothing to train on"),
    ],
)
def test_own_data_that_cannot_be_learnt_from_is_refused(function: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        open_set(own(tmp_path, function))


def test_an_evaluation_dataset_beside_named_data_is_refused(tmp_path: Path) -> None:
    workload = own(tmp_path, "nothing_to_train_on")
    with pytest.raises(UsageError, match="evaluation_dataset, and --data names digits:"):
        open_set(WorkloadSpec(model=workload.model, data="digits:"))
