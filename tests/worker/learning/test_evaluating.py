"""Loss and accuracy over all examples."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from traindyno.core.errors import UsageError
from traindyno.core.learning import Recipe
from traindyno.core.records import Settings
from traindyno.worker.applied_loss import GivenTargets
from traindyno.worker.devices import CpuDevice
from traindyno.worker.job import Job, build_job
from traindyno.worker.learning.course import open_course
from traindyno.worker.learning.evaluating import evaluate, examples_in
from traindyno.worker.learning.processes import ALONE
from traindyno.worker.losses import IGNORED_TARGET, hits
from worker.learning.small_learners import EVALUATION, SilentChannel, learnt, points, spec_of


def job_of(function: str = "plain", label_smoothing: float = 0.0) -> Job:
    job = build_job(spec_of(function).workload)
    job.criterion = GivenTargets(loss=job.criterion.loss, label_smoothing=label_smoothing)
    return job


def judged(job: Job, batches: list[Any], settings: Settings | None = None) -> tuple[float, float | None]:
    model = job.model.eval()
    return evaluate(job, model, batches, settings or Settings(batch_size=16), CpuDevice(), ALONE, lambda: None)


def whole() -> tuple[torch.Tensor, torch.Tensor]:
    inputs, classes = points(EVALUATION, seed=2).tensors
    return inputs, classes


def cut(size: int) -> list[Any]:
    return list(zip(*(each.split(size) for each in whole()), strict=True))


@pytest.mark.parametrize("size", [7, 16, 39, 40])
def test_a_partial_batch_counts_by_its_examples(size):
    job = job_of()
    inputs, classes = whole()
    with torch.no_grad():
        scores = job.model(inputs)
    loss, accuracy = judged(job, cut(size))
    assert loss == pytest.approx(functional.cross_entropy(scores, classes).item(), rel=1e-6)
    assert accuracy == int((scores.argmax(1) == classes).sum()) / EVALUATION


@pytest.mark.parametrize("loss", [None, functional.cross_entropy, nn.CrossEntropyLoss()])
@pytest.mark.parametrize("size", [1, 7, 16, 40])
def test_targets_that_are_ignored_count_nothing_however_batches_are_cut(size, loss):
    """In batches of one most have no target at all, and so no mean."""
    job = job_of()
    job.criterion.loss = loss
    inputs, classes = whole()
    classes[: EVALUATION // 2] = IGNORED_TARGET
    classes[-3:-1] = IGNORED_TARGET
    with torch.no_grad():
        expected = functional.cross_entropy(job.model(inputs), classes).item()
    found, _ = judged(job, list(zip(inputs.split(size), classes.split(size), strict=True)))
    assert found == pytest.approx(expected, rel=1e-6)


def test_a_loss_of_ones_own_counts_by_examples_as_what_it_averages_is_not_known():
    job = job_of()
    job.criterion.loss = lambda output, target: functional.cross_entropy(output, target, ignore_index=-100)
    inputs, classes = whole()
    classes[:10] = IGNORED_TARGET
    parts = list(zip(inputs.split(20), classes.split(20), strict=True))
    with torch.no_grad():
        means = [functional.cross_entropy(job.model(part), target).item() for part, target in parts]
    assert judged(job, parts)[0] == pytest.approx(sum(means) / 2, rel=1e-6)


def test_where_every_target_is_ignored_nothing_can_be_evaluated():
    inputs, classes = whole()
    with pytest.raises(UsageError, match="all targets are -100"):
        judged(job_of(), [(inputs, torch.full_like(classes, IGNORED_TARGET))])


def test_labels_are_not_smoothed_in_evaluation():
    torch.manual_seed(0)
    plain = judged(job_of(), cut(16))
    torch.manual_seed(0)
    assert judged(job_of(label_smoothing=0.3), cut(16)) == plain


def test_in_bfloat16_it_is_the_same_but_for_rounding():
    job = job_of()
    full = judged(job, cut(16))[0]
    half = judged(job, cut(16), Settings(batch_size=16, precision="bf16"))[0]
    assert half != full
    assert half == pytest.approx(full, rel=0.02)


def test_a_training_step_of_ones_own_has_a_loss_and_no_accuracy():
    job = job_of()
    job.training_step = lambda model, batch: functional.cross_entropy(model(batch[0]), batch[1])
    loss, accuracy = judged(job, cut(7))
    job.training_step = None
    assert accuracy is None
    assert loss == pytest.approx(judged(job, cut(40))[0], rel=1e-6)


def test_no_examples_are_no_evaluation():
    with pytest.raises(UsageError, match="no examples to evaluate on"):
        judged(job_of(), [])


def test_data_without_targets_teaches_nothing():
    with pytest.raises(UsageError, match="no target"):
        judged(job_of(), [whole()[0]])


def test_evaluation_leaves_the_model_and_the_generators_as_they_were():
    with open_course(spec_of("with_state"), CpuDevice(), SilentChannel()) as course:
        course.step()
        state = {name: value.clone() for name, value in course.model.state_dict().items()}
        generator = torch.get_rng_state()
        first = course.evaluate()
        assert course.evaluate() == first
        assert all(torch.equal(value, state[name]) for name, value in course.model.state_dict().items())
        assert torch.equal(torch.get_rng_state(), generator)
        assert all(module.training for module in course.model.modules())


def test_scores_of_sequences_are_right_by_position_but_for_padding():
    scores = functional.one_hot(torch.tensor([[0, 1, 2], [2, 2, 0]]), 4).float()
    right, asked = hits(scores, torch.tensor([[0, 1, 1], [2, -100, -100]])) or (None, None)
    assert (right, asked) == (3, 4)


@pytest.mark.parametrize(
    ("scores", "target"),
    [
        (torch.zeros(4, 1), torch.zeros(4)),
        (torch.zeros(4, 3), torch.zeros(4, 3)),
        (torch.zeros(4, 3), torch.zeros(4, 2, dtype=torch.int64)),
        (torch.zeros(4, 3), None),
        (None, torch.zeros(4, dtype=torch.int64)),
    ],
)
def test_what_are_no_classes_has_no_accuracy(scores, target):
    assert hits(scores, target) is None


def test_examples_are_counted_by_the_first_tensor():
    assert examples_in({"flag": True, "inputs": [torch.zeros(()), torch.zeros(5, 2)]}) == 5
    with pytest.raises(UsageError, match="no tensor with examples"):
        examples_in(["nothing"])


def test_label_smoothing_of_ones_own_loss_is_refused():
    spec = spec_of("with_own_loss", Recipe(learning_rate=0.1, label_smoothing=0.1))
    with pytest.raises(UsageError, match="the loss is the workload's own"):
        learnt(spec)


def test_label_smoothing_is_that_of_torch_in_training():
    criterion = GivenTargets(label_smoothing=0.2)
    scores, target = torch.randn(5, 3), torch.tensor([0, 1, 2, 0, 1])
    assert criterion(scores, target) == nn.CrossEntropyLoss(label_smoothing=0.2)(scores, target)
    with pytest.raises(UsageError, match="one value"):
        criterion(torch.randn(5, 1), torch.randn(5))
    with pytest.raises(UsageError, match="its own loss"):
        criterion({"loss": torch.tensor(1.0)}, None)
