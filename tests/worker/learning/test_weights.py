"""Weights from a file, and heads."""

import hashlib
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from traindyno.core.errors import UsageError
from traindyno.core.learning import Recipe
from traindyno.core.records import WorkloadSpec
from traindyno.worker.learning.heads import freeze_all_but_head, head_of
from traindyno.worker.learning.weights import load_weights
from traindyno.worker.models import build_named_model
from worker.learning.small_learners import Bodied, perceptron


def saved(content: Any, folder: Path) -> Recipe:
    torch.save(content, folder / "weights.pt")
    return Recipe(learning_rate=0.1, weights=str(folder / "weights.pt"))


def same(first: nn.Module, second: nn.Module) -> bool:
    ours, theirs = first.state_dict(), second.state_dict()
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


WRAPPINGS = {
    "plain": lambda state: state,
    "model": lambda state: {"model": state, "epoch": 3},
    "state_dict": lambda state: {"state_dict": state},
    "parallel": lambda state: OrderedDict((f"module.{name}", value) for name, value in state.items()),
    "compiled": lambda state: {f"_orig_mod.{name}": value for name, value in state.items()},
    "compiled, then parallel": lambda state: {f"module._orig_mod.{name}": value for name, value in state.items()},
    "parallel, then compiled": lambda state: {f"_orig_mod.module.{name}": value for name, value in state.items()},
}


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_weights_are_found_however_they_were_saved(wrapping, tmp_path):
    model, other = Bodied(), Bodied()
    assert load_weights(model, saved(WRAPPINGS[wrapping](other.state_dict()), tmp_path)) == []
    assert same(model, other)


def test_a_head_of_other_classes_begins_fresh_and_is_named(tmp_path):
    model, other = Bodied(classes=3), Bodied(classes=7)
    head = model.fc.weight.detach().clone()
    (note,) = load_weights(model, saved(other.state_dict(), tmp_path))
    assert note.endswith("is for another number of classes, so what tells them apart begins fresh: fc.")
    assert torch.equal(model.fc.weight, head)
    assert same(model.body, other.body)


def test_a_body_of_another_shape_is_refused(tmp_path):
    content = {**Bodied().state_dict(), "body.0.weight": torch.zeros(9, 9)}
    with pytest.raises(UsageError, match=r"another shape than this model: body\.0\.weight"):
        load_weights(Bodied(), saved(content, tmp_path))


def test_missing_weights_are_named(tmp_path):
    content = {name: value for name, value in Bodied().state_dict().items() if "fc" not in name}
    with pytest.raises(UsageError, match=r"lacks weights of this model: fc\.weight, fc\.bias"):
        load_weights(Bodied(), saved(content, tmp_path))


def test_weights_too_many_are_named_but_not_all_of_them(tmp_path):
    content = {**Bodied().state_dict(), **{f"extra.{number}": torch.zeros(1) for number in range(5)}}
    with pytest.raises(UsageError, match=r"does not have: extra\.0, extra\.1, extra\.2 and 2 more"):
        load_weights(Bodied(), saved(content, tmp_path))


def test_a_file_that_would_run_code_is_refused(tmp_path):
    with pytest.raises(UsageError, match="without running code"):
        load_weights(Bodied(), saved(Bodied(), tmp_path))


@pytest.mark.parametrize("content", [b"", b"no weights at all"])
def test_a_file_that_holds_something_else_is_refused(content, tmp_path):
    path = tmp_path / "weights.pt"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"weights\.pt holds no weights"):
        load_weights(Bodied(), Recipe(learning_rate=0.1, weights=str(path)))


def test_a_tensor_alone_is_no_set_of_weights(tmp_path):
    with pytest.raises(UsageError, match="something else than weights"):
        load_weights(Bodied(), saved(torch.zeros(3), tmp_path))


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(UsageError, match="No such file"):
        load_weights(Bodied(), Recipe(learning_rate=0.1, weights=str(tmp_path / "none.pt")))


def test_a_file_must_be_the_one_that_the_study_began_with(tmp_path):
    recipe = saved(Bodied().state_dict(), tmp_path)
    content = (tmp_path / "weights.pt").read_bytes()
    given = {"learning_rate": 0.1, "weights": recipe.weights}
    load_weights(Bodied(), Recipe(**given, weights_sha256=hashlib.sha256(content).hexdigest()))
    with pytest.raises(UsageError, match="not those that the study began with"):
        load_weights(Bodied(), Recipe(**given, weights_sha256="0" * 64))


@pytest.mark.parametrize(
    ("model", "head"),
    [
        ("torchvision:resnet18", "fc"),
        ("torchvision:mobilenet_v2", "classifier.1"),
        ("torchvision:vgg11", "classifier.6"),
        ("torchvision:vit_b_32", "heads.head"),
        ("torchvision:swin_t", "head"),
        ("torchvision:squeezenet1_0", "classifier.1"),
        ("ir:18", "head"),
    ],
)
def test_the_heads_of_known_models_are_found(model, head):
    with torch.device("meta"):
        built = build_named_model(WorkloadSpec(model=model, classes=5)).model
    name, layer = head_of(built)
    assert name == head
    assert {parameter.shape[0] for parameter in layer.parameters()} == {5}


def test_auxiliary_heads_of_other_classes_begin_fresh_too(tmp_path):
    model, other = (build_named_model(WorkloadSpec(model="torchvision:googlenet", classes=n)).model for n in (4, 5))
    (note,) = load_weights(model, saved(other.state_dict(), tmp_path))
    assert note.endswith("aux1.fc2, aux2.fc2, fc.")


def test_without_a_known_name_the_last_linear_layer_is_the_head():
    assert head_of(perceptron())[0] == "2"


def test_a_model_without_linear_layers_has_no_head():
    with pytest.raises(UsageError, match="no linear layer"):
        head_of(nn.Sequential(nn.Conv2d(3, 3, 1)))


def test_only_the_head_is_left_to_train():
    model = Bodied()
    assert freeze_all_but_head(model) is model.fc
    assert [name for name, each in model.named_parameters() if each.requires_grad] == ["fc.weight", "fc.bias"]
