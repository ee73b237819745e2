"""The digits of scikit-learn: two fixed splits, of which each has its part of every class."""

import sys
from typing import Any

import numpy as np
import pytest

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.worker.data.augment import augment
from traindyno.worker.data.sources import open_examples

TRAIN, INFER = open_examples("digits:", "train"), open_examples("digits:", "infer")


def pictures(examples: Any) -> set[bytes]:
    return {examples.fetch(index).content.tobytes() for index in range(len(examples))}


def test_both_splits_together_are_all_digits_and_none_is_in_both() -> None:
    assert len(TRAIN) + len(INFER) == 1797
    assert not pictures(TRAIN) & pictures(INFER)


def test_every_class_gives_a_fifth_of_itself_to_infer_on() -> None:
    trained, inferred = (np.bincount(examples.labels, minlength=10) for examples in (TRAIN, INFER))
    assert (inferred == (trained + inferred) // 5).all()


def test_a_digit_is_eight_by_eight_pixels_from_black_to_white() -> None:
    content = np.stack([TRAIN.fetch(index).content for index in range(len(TRAIN))])
    assert content.shape == (len(TRAIN), 8, 8, 3)
    assert content.dtype == np.uint8
    assert (content.min(), content.max()) == (0, 255)
    assert TRAIN.classes == 10


def test_digits_are_neither_cropped_nor_mirrored_in_training() -> None:
    content, rng = TRAIN.fetch(3).content, np.random.default_rng(0)
    assert all((augment(content, TRAIN.augmentation, 8, "train", rng) == content).all() for _ in range(10))


def test_digits_for_a_larger_model_are_scaled_as_a_whole() -> None:
    content, rng = TRAIN.fetch(3).content, np.random.default_rng(0)
    assert augment(content, TRAIN.augmentation, 32, "train", rng).shape == (32, 32, 3)


def test_a_path_behind_the_colon_is_refused() -> None:
    with pytest.raises(UsageError, match="takes no path") as refused:
        open_examples("digits:/data", "train")
    assert refused.value.hint == "write digits: alone"


def test_digits_are_in_memory_already() -> None:
    assert len(open_examples("memory:digits:", "train")) == len(TRAIN)


def test_without_scikit_learn_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "sklearn.datasets")
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(TraindynoError, match="scikit-learn") as refused:
        open_examples("digits:", "train")
    assert "pip install scikit-learn" in refused.value.hint
