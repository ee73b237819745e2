"""Runs of recipes, as a trial makes them."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch

from traindyno.core.codec import decode, encode
from traindyno.core.errors import UsageError
from traindyno.core.learning import Learning, Recipe, Target
from traindyno.core.records import Measurement, Settings, TrialSpec, WorkloadSpec
from traindyno.worker.devices import CpuDevice
from traindyno.worker.learning.course import open_course
from worker.learning.small_learners import EVALUATION, TRAINING, Bodied, SilentChannel, learnt, spec_of


def learning_of(spec: TrialSpec) -> Learning:
    found = learnt(spec).learning
    assert found is not None
    return found


def digits(settings: Settings | None = None, optimizer: str = "sgd", **recipe: Any) -> TrialSpec:
    return TrialSpec(
        kind="learn",
        workload=WorkloadSpec(model="mlp:64", data="digits:", optimizer=optimizer),
        settings=settings or Settings(batch_size=32),
        recipe=Recipe(**{"learning_rate": 0.05, "epochs": 6, **recipe}),
    )


@pytest.mark.parametrize(("optimizer", "rate"), [("sgd", 0.05), ("adam", 3e-3), ("adamw", 3e-3)])
def test_digits_are_learnt_in_seconds(optimizer, rate):
    learning = learning_of(digits(optimizer=optimizer, learning_rate=rate))
    assert (learning.evaluations[-1].accuracy or 0) > 0.9
    assert learning.evaluations[-1].loss < 0.4
    assert learning.classes == 10


@pytest.mark.parametrize(
    "changes",
    [
        {"precision": "bf16"},
        {"precision": "fp16"},
        {"accumulation_steps": 4},
        {"memory_format": "channels_last"},
        {"optimizer_kernel": "foreach"},
        {"read_metrics": True},
        {"determinism": "all"},
    ],
)
def test_settings_change_how_it_is_computed_and_not_what_is_learnt(changes):
    learning = learning_of(digits(Settings(batch_size=32, **changes), epochs=4))
    assert (learning.evaluations[-1].accuracy or 0) > 0.9


def test_a_run_tells_its_length_in_every_unit():
    measurement = learnt(spec_of("plain", Recipe(learning_rate=0.1, epochs=2.5, evaluation_examples=64)))
    learning = measurement.learning
    assert learning is not None
    assert (learning.training_examples, learning.evaluation_examples) == (TRAINING, EVALUATION)
    assert learning.steps == learning.planned_steps == measurement.steps == 15
    assert learning.examples == 240
    assert [each.step for each in learning.evaluations] == [4, 8, 12, 15]
    assert sum(block.seconds for block in measurement.blocks) == pytest.approx(learning.seconds)
    assert measurement.step_seconds == pytest.approx(learning.seconds / 15)
    assert measurement.ci95[0] <= measurement.step_seconds <= measurement.ci95[1]
    assert measurement.first_step_seconds <= measurement.blocks[0].seconds
    assert learning.evaluations[-1].seconds == learning.seconds
    assert not learning.diverged


def test_the_seed_decides_everything():
    first, again, other = (
        [each.loss for each in learning_of(spec_of("with_state", seed=seed)).evaluations] for seed in (5, 5, 6)
    )
    assert first == again
    assert first != other


def test_a_target_ends_the_run_and_the_first_of_two_evaluations_counts():
    learning = learning_of(digits(epochs=50, evaluation_examples=320, target=Target(metric="accuracy", value=0.8)))
    assert learning.steps < learning.planned_steps
    assert learning.reached == learning.evaluations[-2]
    assert all((each.accuracy or 0) >= 0.8 for each in learning.evaluations[-2:])


def test_a_rate_far_too_high_is_a_result_and_not_a_failure():
    measurement = learnt(digits(learning_rate=1e30, schedule="constant", epochs=200))
    assert measurement.learning is not None
    assert measurement.learning.diverged
    assert measurement.learning.steps < measurement.learning.planned_steps
    assert measurement.learning.reached is None
    again = decode(encode(measurement), Measurement)
    assert again.learning is not None
    assert again.learning.diverged


def test_gradients_are_clipped_by_their_length():
    lengths = []
    recipe = Recipe(learning_rate=0.1, clip_norm=1e-3, momentum=0.0, steps=3, schedule="constant")
    for precision in ("fp32", "fp16"):
        spec = spec_of("plain", recipe, Settings(batch_size=16, precision=precision))
        with open_course(spec, CpuDevice(), SilentChannel()) as course:
            before = torch.cat([each.detach().flatten().clone() for each in course.model.parameters()])
            course.step()
            after = torch.cat([each.detach().flatten() for each in course.model.parameters()])
            lengths.append((after - before).norm().item())
    assert lengths == pytest.approx([1e-4, 1e-4], rel=1e-2)


def test_fine_tuning_the_head_leaves_all_else_and_its_statistics_untouched(tmp_path):
    torch.save(Bodied(classes=7).state_dict(), tmp_path / "weights.pt")
    recipe = Recipe(learning_rate=0.5, epochs=4, fine_tuning="head", weights=str(tmp_path / "weights.pt"))
    measurement = learnt(spec_of("with_head", recipe, checkpoints=str(tmp_path / "run")))
    before = torch.load(tmp_path / "weights.pt", weights_only=True)
    after = torch.load(tmp_path / "run" / "last.pt", weights_only=True)["model"]
    assert all(torch.equal(after[name], before[name]) for name in before if name.startswith("body"))
    assert after["fc.weight"].shape == (3, 8)
    assert measurement.learning is not None
    losses = [each.training_loss for each in measurement.learning.evaluations]
    assert losses[-1] < losses[0]
    assert any("begins fresh: fc" in remark for remark in measurement.learning.remarks)


def test_fine_tuning_all_moves_everything(tmp_path):
    torch.save(Bodied().state_dict(), tmp_path / "weights.pt")
    recipe = Recipe(learning_rate=0.1, epochs=1, weights=str(tmp_path / "weights.pt"))
    learnt(spec_of("with_head", recipe, checkpoints=str(tmp_path / "run")))
    before = torch.load(tmp_path / "weights.pt", weights_only=True)
    after = torch.load(tmp_path / "run" / "last.pt", weights_only=True)["model"]
    moved = {name for name in before if not torch.equal(after[name], before[name])}
    assert moved >= {"body.0.weight", "body.1.weight", "body.1.running_mean", "fc.weight", "fc.bias"}


@pytest.mark.parametrize(
    ("changes", "settings", "examples"),
    [
        ({}, {}, 16),
        ({}, {"accumulation_steps": 2}, 8),
        ({"emulated_devices": 4}, {}, 4),
        ({"batch_norm": "ghost", "ghost_size": 6}, {}, 6),
        ({"batch_norm": "ghost", "ghost_size": 64}, {}, 16),
        ({"batch_norm": "sync"}, {}, 16),
    ],
)
def test_a_run_tells_how_many_examples_its_normalisation_sees(changes, settings, examples):
    spec = spec_of("with_state", Recipe(learning_rate=0.1, epochs=1, **changes), Settings(batch_size=16, **settings))
    assert learning_of(spec).norm_examples == examples


def test_a_model_that_does_not_normalise_or_is_frozen_sees_none():
    assert learning_of(spec_of("plain")).norm_examples is None
    frozen = Recipe(learning_rate=0.1, epochs=1, fine_tuning="head")
    assert learning_of(spec_of("with_head", frozen)).norm_examples is None


@pytest.mark.parametrize("changes", [{"batch_norm": "ghost", "ghost_size": 4}, {"emulated_devices": 2}])
def test_how_to_normalise_what_is_frozen_is_refused(changes):
    recipe = Recipe(learning_rate=0.1, fine_tuning="head", **changes)
    with pytest.raises(UsageError, match="would change nothing"):
        learnt(spec_of("with_head", recipe))


def test_activation_checkpointing_and_emulated_devices_go_together():
    recipe = Recipe(learning_rate=0.1, epochs=1, emulated_devices=4)
    plain = spec_of("with_head", recipe)
    checkpointed = msgspec.structs.replace(plain, settings=Settings(batch_size=16, activation_checkpointing=True))
    losses = [learning_of(spec).evaluations[-1].training_loss for spec in (plain, checkpointed)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_ones_own_optimiser_is_told_of():
    measurement = learnt(spec_of("with_own_optimizer"))
    assert any("The optimiser is the workload's own" in remark for remark in measurement.learning.remarks)
    assert measurement.notes == ()


def test_made_up_data_teaches_nothing():
    spec = TrialSpec(
        kind="learn",
        workload=WorkloadSpec(model="torchvision:resnet18", classes=2),
        settings=Settings(batch_size=4),
        recipe=Recipe(learning_rate=0.1),
    )
    with pytest.raises(UsageError, match="nothing to learn"):
        learnt(spec)


def test_weights_that_are_missing_are_told(tmp_path: Path):
    with pytest.raises(UsageError, match="cannot be read"):
        learnt(spec_of("plain", Recipe(learning_rate=0.1, weights=str(tmp_path / "none.pt"))))
