"""The loss of whatever a model returns."""

from collections import OrderedDict, namedtuple
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.worker.batches import seeded
from traindyno.worker.knobs.accumulation import Share
from traindyno.worker.losses import Criterion, find_scores, random_target

SCORES = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
TARGET = torch.tensor([0, 1, 2, 0])
EXPECTED = functional.cross_entropy(SCORES, TARGET)


@pytest.mark.parametrize(
    "output",
    [
        SCORES,
        (SCORES, torch.zeros(9)),
        [None, SCORES],
        {"features": torch.zeros(9), "logits": SCORES},
        OrderedDict(out=SCORES, aux=torch.zeros(9)),
        SimpleNamespace(loss=None, logits=SCORES),
    ],
    ids=["tensor", "tuple", "list", "dict logits", "dict out", "attribute"],
)
def test_the_default_loss_finds_the_scores(output: Any) -> None:
    torch.testing.assert_close(Criterion()(output, TARGET), EXPECTED)


@pytest.mark.parametrize(
    "output", [SimpleNamespace(loss=torch.tensor(2.5), logits=SCORES), {"loss": torch.tensor(2.5)}]
)
def test_a_loss_that_the_model_computed_is_taken(output: Any) -> None:
    assert Criterion()(output, None).item() == 2.5


@pytest.mark.parametrize(("name", "weight"), [("GoogLeNetOutputs", 0.3), ("InceptionOutputs", 0.4), ("Others", 0.0)])
def test_auxiliary_heads_count_as_published_where_the_output_tells_the_model(name: str, weight: float) -> None:
    output = namedtuple(name, ["logits", "aux_logits"])(SCORES, SCORES)  # type: ignore[misc]
    torch.testing.assert_close(Criterion()(output, TARGET), (1 + weight) * EXPECTED)
    torch.testing.assert_close(Criterion(auxiliary_weight=0.5)(output, TARGET), 1.5 * EXPECTED)


@pytest.mark.parametrize("output", [{"boxes": SCORES}, "text", None, (), torch.tensor(1.0)])
def test_an_output_without_scores_is_an_error_that_asks_for_a_loss(output: Any) -> None:
    with pytest.raises(TraindynoError, match="no class scores") as raised:
        Criterion()(output, TARGET)
    assert "loss=" in str(raised.value.hint)


@pytest.mark.parametrize(
    ("shape", "target_shape", "classes"),
    [((64, 5), (64,), 5), ((8, 16, 5), (8, 16), 5), ((2, 5, 8, 8), (2, 8, 8), 5)],
)
def test_made_up_targets_have_a_class_for_each_example_position_or_pixel(
    shape: tuple[int, ...], target_shape: tuple[int, ...], classes: int
) -> None:
    scores = torch.zeros(shape)
    target = random_target(scores.shape, seeded(scores.device, 0))
    assert target.shape == target_shape
    assert set(target.flatten().tolist()) == set(range(classes))
    assert Criterion()(scores, target).item() == pytest.approx(torch.tensor(classes).log().item())


def test_scores_of_a_convolution_over_positions_have_their_classes_second() -> None:
    scores, target = torch.randn(2, 5, 7), torch.randint(5, (2, 7))
    torch.testing.assert_close(Criterion()(scores, target), functional.cross_entropy(scores, target))


@pytest.mark.parametrize("shape", [(6,), (6, 1)])
def test_outputs_of_width_one_are_values(shape: tuple[int, ...]) -> None:
    output = torch.zeros(shape, requires_grad=True)
    assert Criterion()(output, torch.full((6,), 2)).item() == 4
    assert Criterion()(output, None).item() > 0


def test_a_made_up_target_stays_the_same_for_the_same_batch() -> None:
    seen: list[Tensor] = []
    criterion = Criterion(loss=lambda output, target: seen.append(target) or output.sum())  # type: ignore[func-returns-value]
    for rows in (4, 4, 2):
        criterion(torch.zeros(rows, 1000), None)
    assert seen[0] is seen[1]
    assert seen[2].shape == (2,)


def made_up(loss: Any, scores: Tensor, share: Share, seed: int = 0) -> Tensor:
    torch.rand(3)  # A model draws numbers of its own, more or fewer from setting to setting.
    criterion = Criterion(loss=loss, seed=seed)
    target = criterion._target(scores, share)
    assert target is not None
    return target


@pytest.mark.parametrize("loss", [None, nn.MSELoss()])
@pytest.mark.parametrize("shape", [(6, 1), (6, 5), (6, 3, 5), (6, 3, 4, 4)])
def test_every_example_has_the_same_target_in_whichever_part_of_the_batch_it_comes(
    loss: Any, shape: tuple[int, ...]
) -> None:
    scores = torch.zeros(shape)
    whole = made_up(loss, scores, Share())
    parts = [made_up(loss, scores[:2], Share(number, 3)) for number in range(3)]
    assert torch.equal(torch.cat(parts), whole)
    assert not torch.equal(made_up(loss, scores, Share(), seed=1), whole)


def test_a_lower_precision_rounds_the_made_up_target_and_draws_no_other() -> None:
    exact, rounded = (
        made_up(None, torch.zeros(9, 1, dtype=dtype), Share()) for dtype in (torch.float32, torch.bfloat16)
    )
    assert torch.equal(exact.bfloat16(), rounded)


def test_fewer_classes_than_scores_are_kept_to() -> None:
    assert random_target(torch.Size((100, 50)), torch.Generator(), classes=2).max() == 1


def test_more_classes_than_scores_are_an_error() -> None:
    with pytest.raises(TraindynoError, match="60 classes were asked for, but the model returns scores for 50"):
        random_target(torch.Size((1, 50)), torch.Generator(), classes=60)


@pytest.mark.parametrize("loss", [nn.MSELoss(), functional.l1_loss, nn.BCEWithLogitsLoss()])
def test_losses_over_values_get_a_made_up_target_of_the_outputs_shape(loss: Any) -> None:
    assert torch.isfinite(Criterion(loss=loss)(torch.zeros(4, 3, 8, 8), None))


def test_the_users_loss_gets_the_whole_output_and_the_target() -> None:
    criterion = Criterion(loss=lambda output, target: output["boxes"].sum() + target)
    assert criterion({"boxes": torch.ones(2)}, 3).item() == 5


def test_the_users_loss_may_do_without_a_target() -> None:
    assert Criterion(loss=lambda output, target: output["boxes"].sum())({"boxes": torch.ones(2)}, None).item() == 2


@pytest.mark.parametrize(("returned", "message"), [(torch.ones(4), r"shape \(4,\)"), (0.5, "float")])
def test_a_loss_that_is_not_one_number_is_an_error(returned: Any, message: str) -> None:
    with pytest.raises(TraindynoError, match=message):
        Criterion(loss=lambda output, target: returned)(SCORES, TARGET)


def test_a_target_the_default_loss_cannot_use_is_an_error() -> None:
    with pytest.raises(TraindynoError, match="target is a dict"):
        Criterion()(SCORES, {"boxes": TARGET})


def test_nothing_is_found_in_an_empty_output() -> None:
    assert find_scores(()) is None


@pytest.mark.parametrize("loss", [None, nn.CrossEntropyLoss()])
@pytest.mark.parametrize(("target", "range_of_it"), [([1, 2, 3, 1], "from 1 to 3"), ([0, -1, 2, -100], "from -1 to 2")])
def test_a_class_without_a_score_is_told_with_both_numbers(
    loss: nn.Module | None, target: list[int], range_of_it: str
) -> None:
    with pytest.raises(UsageError, match=f"a batch go {range_of_it}, .* scores for 3 classes, 0 to 2") as told:
        Criterion(loss=loss)(SCORES, torch.tensor(target))
    assert "--classes" in str(told.value.hint)


@pytest.mark.parametrize("loss", [None, nn.CrossEntropyLoss(), functional.cross_entropy])
@pytest.mark.parametrize("target", [TARGET.float(), TARGET.int(), TARGET > 0])
def test_labels_that_are_no_whole_numbers_are_told_with_their_type(loss: Any, target: Tensor) -> None:
    with pytest.raises(UsageError, match="scores for 3 classes") as refusal:
        Criterion(loss=loss)(SCORES, target)
    assert str(target.dtype).removeprefix("torch.") in refusal.value.message
    assert "target.long()" in str(refusal.value.hint)


def test_shares_of_classes_are_targets_as_well() -> None:
    shares = functional.one_hot(TARGET, 3).float()
    torch.testing.assert_close(Criterion()(SCORES, shares), EXPECTED)


def test_values_with_a_loss_of_ones_own_are_left_alone() -> None:
    assert float(Criterion(loss=lambda output, target: (output[:, 0] - target).mean())(SCORES, TARGET.float())) != 0


def test_a_number_before_the_scores_is_told_as_what_it_is() -> None:
    with pytest.raises(TraindynoError, match="returned a tuple that begins with a single number"):
        Criterion()((torch.tensor(1.0), SCORES), TARGET)


def test_an_index_error_of_a_loss_of_ones_own_stays_what_it_is() -> None:
    def wrong(output: Tensor, target: Tensor) -> Tensor:
        return output[7, target].sum()

    with pytest.raises(IndexError):
        Criterion(loss=wrong)(SCORES, TARGET)


@pytest.mark.gpu
def test_on_a_gpu_the_first_batch_is_looked_at_before_it_stops_for_good() -> None:
    with pytest.raises(UsageError, match="scores for 3 classes"):
        Criterion()(SCORES.cuda(), torch.tensor([1, 2, 3, 1]).cuda())
    torch.cuda.synchronize()
