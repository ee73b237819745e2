"""A step of `traindyno.apply` trains as a plain loop would, with the user's own model, loss and optimiser."""

from collections import namedtuple
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader

import traindyno
from traindyno.core.errors import UsageError
from traindyno.core.records import WorkloadSpec
from traindyno.worker.applying import apply
from traindyno.worker.job import build_job
from worker.applying.small_trainings import image_model, images, numbers, on_cpu, sgd, small_model


def test_a_short_script_trains() -> None:
    applied = traindyno.apply({"batch_size": 5}, small_model(), numbers(), optimizer=sgd, device="cpu")
    losses = [applied.step(batch).item() for _ in range(40) for batch in applied.loader or ()]
    assert losses[-1] < losses[0] / 2


def test_a_step_is_that_of_a_plain_loop() -> None:
    applied = on_cpu(small_model(), numbers())
    model = small_model()
    optimizer = sgd(model.parameters())
    for _ in range(3):
        for inputs, targets in applied.loader or ():
            optimizer.zero_grad()
            loss = cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            assert applied.step((inputs, targets)).item() == pytest.approx(loss.item(), abs=1e-6)


def test_the_user_s_own_optimiser_loss_and_step_are_used() -> None:
    model = small_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.5)
    batch = next(iter(DataLoader(numbers(), batch_size=5)))
    with_loss = apply(
        {"batch_size": 5}, model, optimizer=optimizer, loss=lambda _, target: model[0].bias.sum() * 0 + target.sum()
    )
    assert with_loss.optimizer is optimizer
    assert with_loss.step(batch).item() == batch[1].sum().item()
    with_step = apply(
        {"batch_size": 5}, model, optimizer=optimizer, training_step=lambda model, batch: model(batch[0]).mean()
    )
    before = model[0].weight.detach().clone()
    expected = model(batch[0]).mean().item()
    assert with_step.step(batch).item() == pytest.approx(expected)
    assert not torch.equal(model[0].weight, before)


def test_a_prediction_leaves_the_model_training_and_without_gradients() -> None:
    model = image_model()
    applied = on_cpu(model)
    running = model[1].running_mean.clone()
    output = applied.predict(next(iter(DataLoader(images(), batch_size=5))))
    assert output.shape == (5, 3)
    assert not output.requires_grad
    assert model.training
    assert torch.equal(model[1].running_mean, running)


def test_layers_that_the_user_froze_stay_frozen() -> None:
    model = image_model()
    model[1].eval()
    applied = on_cpu(model, images())
    batch = next(iter(applied.loader))
    running = model[1].running_mean.clone()
    applied.step(batch)
    applied.predict(batch)
    assert [layer.training for layer in model] == [True, False, True, True, True]
    assert torch.equal(model[1].running_mean, running)


def test_a_step_trains_a_model_that_was_evaluated_before() -> None:
    model = image_model().eval()
    applied = on_cpu(model, images())
    assert not model.training
    for _ in range(2):
        running = model[1].running_mean.clone()
        applied.step(next(iter(applied.loader)))
        assert not torch.equal(model[1].running_mean, running)
        model.eval()


@pytest.mark.parametrize(("name", "size"), [("googlenet", 32), ("inception_v3", 299)])
def test_auxiliary_heads_count_as_in_a_trial(name: str, size: int) -> None:
    spec = WorkloadSpec(model=f"torchvision:{name}", image_size=size, classes=3)
    job = build_job(spec)
    batch = job.batch(2, torch.device("cpu"))
    losses = []
    for loss_of in (lambda: job.loss(job.model.train(), batch), lambda: on_cpu(job.model).step(batch)):
        torch.manual_seed(5)
        losses.append(loss_of().item())
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)


def test_auxiliary_heads_of_other_models_need_a_loss() -> None:
    scores = namedtuple("scores", ["logits", "aux_logits"])

    class WithHead(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(6, 3)

        def forward(self, x: torch.Tensor) -> Any:
            return scores(self.layer(x), self.layer(x))

    batch = next(iter(DataLoader(numbers(), batch_size=5)))
    with pytest.raises(UsageError, match="auxiliary scores") as raised:
        on_cpu(WithHead()).step(batch)
    assert "loss=" in (raised.value.hint or "")
    own = apply({"batch_size": 5}, WithHead(), optimizer=sgd, device="cpu", loss=lambda output, _: output.logits.mean())
    assert own.step(batch).isfinite()


def test_a_target_is_never_made_up() -> None:
    with pytest.raises(UsageError, match="no target"):
        on_cpu(small_model()).step(torch.zeros(5, 6))
