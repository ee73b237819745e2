"""What is held out for evaluation where a source has no split of its own."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import Subset, TensorDataset

from traindyno.core.errors import UsageError
from traindyno.worker.learning.splitting import hold_out, own_labels_of

LABELS = st.lists(st.integers(0, 5), min_size=20, max_size=120)


@given(labels=LABELS, share=st.floats(0.1, 0.6))
def test_every_example_is_in_one_part_alone(labels: list[int], share: float) -> None:
    split = hold_out(len(labels), np.array(labels), share)
    assert sorted([*split.training, *split.evaluation]) == list(range(len(labels)))


@given(labels=LABELS, share=st.floats(0.1, 0.6))
def test_every_class_gives_its_share_to_within_one_and_keeps_one_to_train_on(labels: list[int], share: float) -> None:
    split = hold_out(len(labels), np.array(labels), share)
    for label in set(labels):
        held = sum(labels[index] == label for index in split.evaluation)
        assert abs(held - share * labels.count(label)) < 1 or held == labels.count(label) - 1
        assert held < labels.count(label)


@given(examples=st.integers(2, 200))
def test_of_unknown_classes_a_share_of_all_is_held_out(examples: int) -> None:
    assert len(hold_out(examples, None, 0.5).evaluation) == round(examples / 2)


def test_the_same_examples_are_held_out_each_time_and_not_the_last_ones() -> None:
    first, second = (hold_out(100, None, 0.2).evaluation.tolist() for _ in range(2))
    assert first == second
    assert first != list(range(80, 100))


@pytest.mark.parametrize(("examples", "share"), [(1, 0.5), (10, 0.01)])
def test_what_cannot_be_parted_is_refused_by_the_option(examples: int, share: float) -> None:
    with pytest.raises(UsageError) as refused:
        hold_out(examples, None, share)
    assert "--hold-out" in refused.value.hint


class WithTargets:
    targets = (2, 0, 1, 2, 0, 1)

    def __len__(self) -> int:
        return 6


def test_classes_of_own_data_are_known_from_targets_and_from_tensors() -> None:
    tensors = TensorDataset(torch.zeros(4, 2), torch.tensor([1, 0, 1, 1]))
    assert own_labels_of(WithTargets()).tolist() == [2, 0, 1, 2, 0, 1]
    assert own_labels_of(tensors).tolist() == [1, 0, 1, 1]
    assert own_labels_of(Subset(tensors, [2, 1])).tolist() == [1, 0]


def test_what_is_no_class_is_not_taken_for_one() -> None:
    assert own_labels_of(TensorDataset(torch.zeros(3, 2), torch.zeros(3))) is None
    assert own_labels_of(TensorDataset(torch.zeros(30, 2), torch.arange(30))) is None
    assert own_labels_of([1, 2, 3]) is None
