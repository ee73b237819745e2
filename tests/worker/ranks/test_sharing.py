"""A model in torch's wrapper: what it sends, and when."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed as distributed
from torch import nn

from traindyno.core.errors import UsageError
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.worker.devices import CpuDevice
from traindyno.worker.job import build_job
from traindyno.worker.learning.processes import ALONE
from traindyno.worker.ranks.crew import Crew
from traindyno.worker.ranks.exchanges import Exchanger
from traindyno.worker.ranks.position import Position
from traindyno.worker.ranks.sharing import bucket_bytes, buffer_sharing, gradient_bytes, share_gradients
from traindyno.worker.steps import make_step

SOURCE = """
import torch
from torch import nn
from traindyno import Workload

def hook(calls, bucket):
    CALLS.append(bucket.buffer().nbytes)
    done = torch.futures.Future()
    done.set_result(bucket.buffer())
    return done

CALLS = []

def job():
    layers = [nn.Linear(512, 512) for _ in range(4)]
    return Workload(model=nn.Sequential(*layers), example_input=torch.randn(512), communication_hook=hook)

def plain():
    layers = [nn.Linear(512, 512) for _ in range(4)]
    return Workload(model=nn.Sequential(*layers), example_input=torch.randn(512))

def wrong():
    return Workload(model=nn.Linear(2, 2), example_input=torch.randn(2), communication_hook="all_reduce")
"""


@pytest.fixture(scope="module", autouse=True)
def _group_of_one() -> Iterator[None]:
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "hooked.py"
    file.write_text(SOURCE)
    return file


def test_of_an_accumulated_step_only_the_last_part_sends_through_the_users_hook(source: Path):
    device, settings = CpuDevice(), Settings(batch_size=8, accumulation_steps=4)
    workload = WorkloadSpec(model=f"{source}:job")
    job, wrapped = share_gradients(build_job(workload), 25.0, device)
    step = make_step(job, job.batch(8, device.torch_device), workload, settings, device)
    sent = job.communication_hook.__globals__["CALLS"]
    step()
    once = len(sent)
    step()
    step()
    assert once >= 1
    assert sum(sent) == 3 * gradient_bytes(wrapped)


def test_buckets_are_as_large_as_asked_and_hold_all_gradients(source: Path):
    device, settings = CpuDevice(), Settings(batch_size=2)
    workload = WorkloadSpec(model=f"{source}:plain")
    job, wrapped = share_gradients(build_job(workload), 1.0, device)
    step = make_step(job, job.batch(2, device.torch_device), workload, settings, device)
    for _ in range(3):
        step()
    assert len(bucket_bytes(wrapped)) > 1
    assert sum(bucket_bytes(wrapped)) == gradient_bytes(wrapped) == 4 * 4 * (512 * 512 + 512)


def test_a_hook_that_cannot_be_called_is_refused(source: Path):
    with pytest.raises(UsageError, match="communication_hook is a str"):
        build_job(WorkloadSpec(model=f"{source}:wrong"))


def normalised() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))


def test_the_exchange_of_a_step_shares_buffers_as_the_step_does(monkeypatch: pytest.MonkeyPatch):
    sent: list[int] = []
    wrapped = nn.parallel.DistributedDataParallel(normalised())
    send = wrapped._distributed_broadcast_coalesced

    def spy(tensors: list[torch.Tensor], *arguments: object) -> None:
        sent.append(len(tensors))
        send(tensors, *arguments)

    monkeypatch.setattr(wrapped, "_distributed_broadcast_coalesced", spy)
    for _ in range(2):
        wrapped(torch.randn(8, 4)).sum().backward()
    in_a_step = sent[-1]
    with wrapped.no_sync():
        wrapped(torch.randn(8, 4)).sum().backward()
        sent.clear()
        wrapped(torch.randn(8, 4)).sum().backward()
    assert sent == [], "blocks without communication share no buffers"
    exchanger = Exchanger(Crew(ALONE, CpuDevice(), Position()), CpuDevice(), torch.float32)
    exchanger.time_of((1024,), buffer_sharing(wrapped))
    assert set(sent) == {in_a_step} == {3}


def test_a_model_without_buffers_shares_none():
    assert buffer_sharing(nn.parallel.DistributedDataParallel(nn.Linear(4, 2))) is None


def test_frozen_weights_are_not_sent():
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    model[0].requires_grad_(False)
    assert gradient_bytes(model) == 4 * (4 * 2 + 2)
