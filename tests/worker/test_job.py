"""Users' own jobs from file to training step."""

import traceback
from pathlib import Path
from typing import Any

import pytest
import torch

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.records import WorkloadSpec
from traindyno.worker.errors import DataError
from traindyno.worker.job import Job, build_job

CPU = torch.device("cpu")
HEAD = """
import torch
from collections import OrderedDict, UserDict
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset
from traindyno import Workload

class Net(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.layer = nn.Linear(width, 4)
"""

JOBS = {
    "tensor": """
def job(): return Workload(nn.Linear(6, 4), example_input=torch.zeros(6))
""",
    "input and target": """
def job(): return Workload(nn.Linear(6, 4), example_input=(torch.zeros(6), torch.tensor(3)))
""",
    "tuple of inputs, tuple of outputs": """
class Two(Net):
    def forward(self, a, b): return self.layer(a + b), a
def job(): return Workload(Two(), example_input=(torch.zeros(6), torch.zeros(6)))
""",
    "dict in, dict out": """
class Named(Net):
    def forward(self, left, right): return {"logits": self.layer(left * right)}
def job(): return Workload(Named(), example_input={"left": torch.zeros(6), "right": torch.ones(6)})
""",
    "labels among the inputs": """
class Output(OrderedDict):
    loss = property(lambda self: self["loss"])
class Labelled(Net):
    def forward(self, values, labels=None):
        scores = self.layer(values)
        return Output(loss=functional.cross_entropy(scores, labels), logits=scores)
def job(): return Workload(Labelled(), example_input={"values": torch.zeros(6), "labels": torch.tensor(1)})
""",
    "token numbers": """
class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(10, 8), nn.Linear(8, 10)
    def forward(self, tokens): return self.head(self.embed(tokens))
def job(): return Workload(Tokens(), example_input=torch.arange(10))
""",
    "own loss over several inputs": """
class Two(Net):
    def forward(self, a, b): return {"far": self.layer(a) - self.layer(b)}
def job(): return Workload(
    Two(),
    example_input=((torch.zeros(6), torch.zeros(6)), torch.tensor(1.0)),
    loss=lambda output, target: (output["far"].mean(1) - target).square().mean(),
)
""",
    "function for the batch": """
def job(): return Workload(
    nn.Linear(6, 4), example_input=lambda size: (torch.ones(size, 6), torch.zeros(size).long())
)
""",
    "own training step": """
def step(model, batch):
    noisy, scale = batch
    return (model.layer(noisy) * scale).square().mean()
def job(): return Workload(Net(), example_input=(torch.zeros(6), torch.ones(1)), training_step=step)
""",
    "dataset": """
def job(): return Workload(nn.Linear(6, 4), dataset=TensorDataset(torch.randn(9, 6), torch.arange(9) % 4))
""",
    "loader": """
def job(): return Workload(
    nn.Linear(6, 4), loader=DataLoader(TensorDataset(torch.randn(9, 6), torch.arange(9) % 4), batch_size=2)
)
""",
    "images assumed": """
class Pooled(Net):
    def forward(self, images): return self.layer(images.mean((2, 3)))
def job(): return Pooled(3)
""",
    "own optimiser": """
def job(): return Workload(nn.Linear(6, 4), example_input=torch.zeros(6), optimizer=torch.optim.Adagrad)
""",
}


def build(folder: Path, source: str, **fields: Any) -> Job:
    path = folder / "job_of_a_test.py"
    path.write_text(HEAD + source)
    return build_job(WorkloadSpec(model=f"{path}:job", **fields))


@pytest.mark.parametrize("source", JOBS.values(), ids=JOBS)
def test_every_kind_of_job_trains_and_predicts(source: str, tmp_path: Path) -> None:
    job = build(tmp_path, source, image_size=16 if "Pooled" in source else None)
    batch = job.batch(4, CPU, seed=0)
    model = job.model.train()
    before = [parameter.clone() for parameter in model.parameters()]
    optimizer = job.make_optimizer(model.parameters())
    loss = job.loss(model, batch)
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    assert torch.isfinite(loss)
    assert any(not torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))
    with torch.inference_mode():
        assert job.predict(model.eval(), batch) is not None


@pytest.mark.parametrize(("name", "examples"), [("dataset", 9), ("loader", 9), ("tensor", None)])
def test_a_job_tells_how_much_data_it_has(name: str, examples: int | None, tmp_path: Path) -> None:
    assert build(tmp_path, JOBS[name]).examples_in_data == examples


def test_the_users_optimiser_goes_before_the_asked_one(tmp_path: Path) -> None:
    job = build(tmp_path, JOBS["own optimiser"], optimizer="adamw")
    assert isinstance(job.make_optimizer(job.model.parameters()), torch.optim.Adagrad)


def test_the_asked_optimiser_is_used_without_one_of_the_users(tmp_path: Path) -> None:
    job = build(tmp_path, JOBS["tensor"], optimizer="adamw")
    assert isinstance(job.make_optimizer(job.model.parameters()), torch.optim.AdamW)


def test_inference_of_a_job_with_its_own_step_is_the_model_alone(tmp_path: Path) -> None:
    source = """
def step(model, batch): raise AssertionError("training")
def job(): return Workload(nn.Linear(6, 4), example_input=torch.zeros(6), training_step=step)
"""
    job = build(tmp_path, source, mode="infer")
    assert job.predict(job.model, job.batch(3, CPU)).shape == (3, 4)


def test_a_model_that_takes_no_images_is_told_to_bring_an_example(tmp_path: Path) -> None:
    job = build(tmp_path, "def job(): return nn.Linear(6, 4)")
    with pytest.raises(RuntimeError) as raised:
        job.loss(job.model, job.batch(2, CPU))
    assert "example_input=" in "".join(traceback.format_exception(raised.value))
    assert type(raised.value) is RuntimeError


def test_an_example_with_batch_dimension_is_explained(tmp_path: Path) -> None:
    source = "def job(): return Workload(nn.Conv2d(3, 4, 3), example_input=torch.zeros(1, 3, 8, 8))"
    job = build(tmp_path, source)
    with pytest.raises(RuntimeError) as raised:
        job.predict(job.model, job.batch(2, CPU))
    assert "without batch dimension" in "".join(traceback.format_exception(raised.value))


def test_running_out_of_memory_gets_no_advice_about_inputs(tmp_path: Path) -> None:
    source = """
class Greedy(nn.Module):
    def forward(self, x): raise torch.OutOfMemoryError("CUDA out of memory.")
def job(): return Greedy()
"""
    job = build(tmp_path, source)
    with pytest.raises(torch.OutOfMemoryError) as raised:
        job.predict(job.model, job.batch(1, CPU))
    assert not hasattr(raised.value, "__notes__")


def test_a_bug_in_the_model_passes_through(tmp_path: Path) -> None:
    source = """
class Buggy(nn.Module):
    def forward(self, x): return {}["missing"]
def job(): return Workload(Buggy(), example_input=torch.zeros(2))
"""
    job = build(tmp_path, source)
    with pytest.raises(KeyError, match="missing") as raised:
        job.loss(job.model, job.batch(2, CPU))
    assert raised.value.__context__ is None


def test_the_users_batch_norm_keeps_refusing_a_batch_of_one(tmp_path: Path) -> None:
    source = "def job(): return Workload(nn.BatchNorm1d(3), example_input=torch.zeros(3))"
    job = build(tmp_path, source)
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        job.loss(job.model.train(), job.batch(1, CPU))


def test_broken_data_is_a_data_error(tmp_path: Path) -> None:
    source = """
class Broken(TensorDataset):
    def __getitem__(self, index): raise OSError("truncated file")
def job(): return Workload(nn.Linear(6, 4), dataset=Broken(torch.zeros(9, 6)))
"""
    with pytest.raises(DataError):
        build(tmp_path, source).batch(2, CPU)


def test_two_origins_of_batches_are_refused(tmp_path: Path) -> None:
    source = "def job(): return Workload(nn.Linear(6, 4), example_input=torch.zeros(6), dataset=[1])"
    with pytest.raises(UsageError, match="example_input and dataset"):
        build(tmp_path, source)


def test_an_example_that_cannot_be_repeated_is_refused_when_the_job_is_built(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="contains a str"):
        build(tmp_path, "def job(): return Workload(nn.Linear(6, 4), example_input=['text'])")


@pytest.mark.parametrize(
    ("fields", "message"),
    [({"image_size": 64}, "settled by the workload's"), ({"conv1_stride": 2}, "conv1 stride")],
)
def test_options_that_would_have_no_effect_are_refused(fields: dict[str, int], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        build(tmp_path, JOBS["tensor"], **fields)


def test_a_training_step_must_return_the_loss(tmp_path: Path) -> None:
    source = """
def step(model, batch): model(batch).sum().backward()
def job(): return Workload(nn.Linear(6, 4), example_input=torch.zeros(6), training_step=step)
"""
    job = build(tmp_path, source)
    with pytest.raises(TraindynoError, match="training_step returned a NoneType"):
        job.loss(job.model, job.batch(2, CPU))


USING_UP = {
    "takes out of a dictionary": """
def step(model, batch):
    target = batch.pop("labels")
    return functional.cross_entropy(model(batch["x"]), target)
def job(): return Workload(
    nn.Linear(6, 4), example_input={"x": torch.ones(6), "labels": torch.tensor(1)}, training_step=step
)
""",
    "takes out of an object that moves itself": """
class Encoded(UserDict):
    def to(self, device):
        return self
def step(model, batch):
    target = batch.pop("labels")
    return functional.cross_entropy(model(batch["x"]), target)
def job(): return Workload(
    nn.Linear(6, 4),
    example_input=lambda size: Encoded(x=torch.ones(size, 6), labels=torch.ones(size).long()),
    training_step=step,
)
""",
    "takes out of a list": """
def step(model, batch):
    target = batch.pop()
    return functional.cross_entropy(model(batch.pop()), target)
def job(): return Workload(nn.Linear(6, 4), example_input=[torch.ones(6), torch.tensor(1)], training_step=step)
""",
}
NORMALISING = """
def step(model, batch):
    batch[0].sub_(0.5).div_(0.25)
    return functional.cross_entropy(model(batch[0]), batch[1])
def job(): return Workload(nn.Linear(6, 4), example_input=(torch.rand(6), torch.tensor(1)), training_step=step)
"""


@pytest.mark.parametrize("source", USING_UP.values(), ids=USING_UP)
def test_a_step_that_uses_up_its_batch_is_given_it_again(source: str, tmp_path: Path) -> None:
    job = build(tmp_path, source)
    batch = job.batch(3, CPU)
    losses = job.bound_loss(job.model, batch)
    assert losses().item() == losses().item() == losses().item()
    assert job.predict(job.model, batch).item() == job.predict(job.model, batch).item()
    assert job.notes == []


def test_a_step_that_changes_its_batch_is_given_copies_and_a_note_says_so_once(tmp_path: Path) -> None:
    job = build(tmp_path, NORMALISING)
    batch = job.batch(3, CPU)
    halves = [tuple(part[half] for part in batch) for half in (slice(0, 2), slice(2, 3))]
    bound = [job.bound_loss(job.model, half) for half in halves]
    _, *later = [[loss().item() for loss in bound] for _ in range(4)]
    assert later == [later[0]] * 3
    assert job.predict(job.model, batch).item() == job.predict(job.model, batch).item()
    (note,) = job.notes
    assert "changes the tensors of its batch" in note


def test_a_batch_that_is_used_once_may_be_changed(tmp_path: Path) -> None:
    job = build(tmp_path, NORMALISING)
    for _ in range(3):
        batch = job.batch(3, CPU)
        before = batch[0].clone()
        job.loss(job.model, batch)
        torch.testing.assert_close(batch[0], (before - 0.5) / 0.25)
    assert job.notes == []


def test_auxiliary_heads_of_a_model_from_a_file_count_as_those_of_the_same_model_by_name(tmp_path: Path) -> None:
    source = """
import torchvision
def job():
    return torchvision.models.googlenet(weights=None, init_weights=False, aux_logits=True, num_classes=4)
"""
    own = build(tmp_path, source, image_size=64)
    named = build_job(WorkloadSpec(model="torchvision:googlenet", image_size=64, classes=4))
    batch = named.batch(2, CPU)
    losses = []
    for job in (own, named):
        torch.manual_seed(5)
        losses.append(job.loss(own.model.train(), batch).item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
