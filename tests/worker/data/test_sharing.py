"""Whether the workers of a stream share it out, as its first batches tell."""

import pytest
import torch

from traindyno.worker.data.sharing import Sharing
from traindyno.worker.errors import DoesNotApplyError


def look_at(workers: int, *values: float) -> None:
    """Batches of one value each, in the order in which workers deliver."""
    sharing = Sharing(workers)
    for value in values:
        sharing.look_at((torch.full((4, 3), value), torch.zeros(4)))


def test_workers_that_begin_with_the_same_batch_and_go_on_with_another_share_nothing() -> None:
    with pytest.raises(DoesNotApplyError, match="each of the 3 workers delivers all examples"):
        look_at(3, 1.0, 1.0, 1.0, 2.0)
    with pytest.raises(DoesNotApplyError, match="not shared out"):
        look_at(3, 1.0, 5.0, 1.0, 2.0)


@pytest.mark.parametrize("values", [(1.0, 2.0, 3.0, 4.0), (1.0, 1.0, 1.0, 1.0), (1.0, 1.0, 1.0), (1.0,)])
def test_different_batches_and_data_that_are_all_alike_tell_nothing_against_it(values: tuple[float, ...]) -> None:
    look_at(3, *values)


def test_only_the_first_batches_are_looked_at() -> None:
    look_at(2, 1.0, 2.0, 3.0, 1.0, 1.0, 5.0, 1.0)


def test_batches_without_tensors_are_not_taken_for_equal() -> None:
    sharing = Sharing(2)
    for words in ("one", "two", "three"):
        sharing.look_at([words])


def test_workers_that_start_anew_are_looked_at_anew() -> None:
    sharing = Sharing(2)
    sharing.look_at(torch.ones(2))
    sharing.begin()
    for value in (1.0, 2.0, 3.0):
        sharing.look_at(torch.full((2,), value))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.bool, torch.uint8, torch.complex64, torch.int64])
def test_tensors_of_every_kind_can_be_compared(dtype: torch.dtype) -> None:
    sharing = Sharing(2)
    same, same_again, other = (torch.full((4, 3), value, dtype=dtype).t() for value in (1, 1, 0))
    sharing.look_at({"inputs": same, "sizes": torch.zeros(0)})
    sharing.look_at({"inputs": same_again, "sizes": torch.zeros(0)})
    with pytest.raises(DoesNotApplyError):
        sharing.look_at({"inputs": other, "sizes": torch.zeros(0)})


def test_batches_that_only_begin_alike_are_different() -> None:
    sharing, padded = Sharing(2), torch.zeros(3, 400_000)
    padded[:, 200_000:] = torch.arange(1, 4).unsqueeze(1)
    for batch in padded:
        sharing.look_at(batch)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_sparse_and_nested_tensors_are_passed_over() -> None:
    sharing = Sharing(2)
    for _ in range(3):
        sharing.look_at(torch.eye(3).to_sparse())
        sharing.look_at(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]))


def test_views_that_are_conjugate_or_negative_are_compared_by_what_they_say() -> None:
    for view, other in ((torch.Tensor.conj, 1 + 1j), (lambda numbers: numbers.conj().imag, 1 + 2j)):
        sharing = Sharing(2)
        for value in (1 - 1j, 1 - 1j):
            sharing.look_at(view(torch.full((3,), value)))
        with pytest.raises(DoesNotApplyError):
            sharing.look_at(view(torch.full((3,), other)))
