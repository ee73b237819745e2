"""What the commands about loading hint to type next: for the same device, into the same store."""

import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from traindyno.app.context import Context
from traindyno.app.loader import loader
from traindyno.app.stalls import stalls
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.requests import Bench, LoaderRequest, StallsRequest

WORKLOAD = WorkloadSpec(model="torchvision:resnet50", data="folder:/data/train")


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "my studies.db")


def is_for(hint: str | None, command: str, store: str) -> bool:
    words = shlex.split(hint or "")
    given = dict(pairwise(words))
    return words[1] == command and given.get("--device") == "cuda:1" and given.get("--store") == store


@pytest.mark.parametrize(("with_model", "command"), [(True, "stalls"), (False, "loader")])
def test_after_loader_the_next_command_is_for_the_same_device(store: str, with_model: bool, command: str) -> None:
    bench = Bench(runner="simulated:", device="cuda:1")
    asked = LoaderRequest(workload=WORKLOAD, bench=bench, batch_size=64, with_model=with_model, decoder="pil")
    assert is_for(loader(asked, Context(store=store)).hint, command, store)


def test_after_stalls_the_next_command_is_for_the_same_device_and_store(store: str) -> None:
    bench = Bench(runner="simulated:decode_seconds=0.1", device="cuda:1")
    settings = Settings(batch_size=64, num_workers=1)
    asked = StallsRequest(workload=WORKLOAD, bench=bench, settings=settings, repeats=2, cold=False)
    assert is_for(stalls(asked, Context(store=store)).hint, "stalls", store)
