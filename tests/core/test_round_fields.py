"""Rules of thumb give every hyperparameter its usual role, a range to begin with, and what fixing it leaves open."""

import pytest

from traindyno.core.round_fields import (
    OPTIMIZERS,
    automatic_caveat,
    is_tied,
    rule_of,
    simpler_value,
    usual_range,
)
from traindyno.core.round_kinds import default_of, field_kinds
from traindyno.core.round_rules import RULES
from traindyno.core.rounds import Value


@pytest.mark.parametrize(
    ("field", "group", "usual"),
    [
        ("learning_rate", "optimiser parameter", ("nuisance",)),
        ("momentum", "optimiser parameter", ("nuisance",)),
        ("optimizer", "optimiser choice", ("target", "fixed")),
        ("weight_decay", "regularisation", ("nuisance",)),
        ("label_smoothing", "regularisation", ("nuisance",)),
        ("model.dropout", "regularisation", ("nuisance",)),
        ("model", "architecture", ("target", "fixed")),
        ("model.heads", "architecture", ("target", "fixed")),
        ("conv1_stride", "architecture", ("target", "fixed")),
        ("epochs", "length", ("fixed",)),
        ("max_steps", "length", ("fixed",)),
        ("batch_size", "batch", ("fixed", "target")),
        ("lr", "optimiser parameter", ("nuisance",)),
        ("colour", "other", ("fixed",)),
    ],
)
def test_each_kind_has_its_usual_role(field: str, group: str, usual: tuple[str, ...]) -> None:
    assert (rule_of(field).group, rule_of(field).usual) == (group, usual)


def test_every_rule_is_of_a_field_that_a_job_can_have() -> None:
    assert set(RULES) <= set(field_kinds())


@pytest.mark.parametrize("field", [name for name, rule in RULES.items() if rule.ranges])
def test_usual_ranges_lie_within_what_the_field_may_be(field: str) -> None:
    rule = RULES[field]
    for found in rule.ranges.values():
        assert found.low < found.high
        assert found.scale == "linear" or found.low > 0
        assert rule.below is None or found.high < rule.below
        assert rule.lowest is None or found.low >= rule.lowest


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_what_training_does_by_default_is_among_what_is_searched(optimizer: str) -> None:
    for field in ("momentum", "label_smoothing"):
        found, usual = usual_range(field, optimizer), default_of(field)
        assert found is None or (isinstance(usual, float) and found.low <= usual <= found.high)


def test_momentum_is_that_of_sgd_alone() -> None:
    assert usual_range("momentum", "sgd") is not None
    assert usual_range("momentum", "adam") is None


def test_a_caveat_names_the_value() -> None:
    assert "batch 64" in automatic_caveat("batch_size", 64)
    assert automatic_caveat("warm_up_epochs", 0.0) == "the answer holds without a warm-up"
    assert automatic_caveat("model.dropout", 0.0) == "the answer holds without dropout"
    assert "model.bias = true" in automatic_caveat("model.bias", True)


@pytest.mark.parametrize(
    ("fixed", "value", "target", "tied"),
    [
        ("learning_rate", 0.1, "optimizer", True),
        ("learning_rate", 0.1, "model", True),
        ("learning_rate", 0.1, "batch_size", True),
        ("learning_rate", 0.1, "schedule", True),
        ("momentum", 0.9, "optimizer", True),
        ("weight_decay", 0.01, "label_smoothing", True),
        ("weight_decay", 0.0, "label_smoothing", False),
        ("model", "mlp:64", "optimizer", False),
        ("batch_size", 64, "model", False),
        ("learning_rate", 0.1, "learning_rate", False),
    ],
)
def test_only_what_must_be_tuned_along_is_tied(fixed: str, value: Value, target: str, tied: bool) -> None:
    assert is_tied(fixed, value, target) is tied


@pytest.mark.parametrize(
    ("field", "first", "second", "simpler"),
    [
        ("weight_decay", 0.01, 0.0, 0.0),
        ("model.dropout", 0.0, 0.5, 0.0),
        ("weight_decay", 0.01, 0.02, None),
        ("schedule", "cosine", "constant", "constant"),
        ("model", "mlp:64", "mlp:64x64", None),
        ("optimizer", "sgd", "adam", None),
    ],
)
def test_the_simpler_is_told_only_where_it_can_be(field: str, first: Value, second: Value, simpler: Value) -> None:
    assert simpler_value(field, first, second) == simpler
