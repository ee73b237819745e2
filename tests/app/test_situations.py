"""What a switch may know before a trial: how many threads torch computes with as it is."""

import msgspec
import psutil
import pytest

from traindyno.app.situations import situation_of
from traindyno.app.surroundings import situation_within, surroundings_of
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.requests import Bench, FindRequest

WORKLOAD, BASELINE = WorkloadSpec(model="mlp:64"), Settings(batch_size=64, device="cpu")
OMP, MKL = "OMP_NUM_THREADS", "MKL_NUM_THREADS"


@pytest.fixture(autouse=True)
def _eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "cpu_count", lambda logical=True: 8)
    for name in (OMP, MKL):
        monkeypatch.delenv(name, raising=False)


def threads(executor: str = "local") -> int | None:
    bench = msgspec.structs.replace(Bench(device="cpu"), executor=executor)
    return situation_of(WORKLOAD, BASELINE, bench).default_threads


@pytest.mark.parametrize(
    ("environment", "count"),
    [
        ({}, None),
        ({OMP: "1"}, 1),
        ({MKL: "2"}, 2),
        ({OMP: "1", MKL: "4"}, 4),
        ({OMP: "16"}, None),
        ({OMP: "0"}, None),
        ({OMP: "4,2"}, None),
    ],
)
def test_the_environment_says_what_torch_computes_with(
    environment: dict[str, str], count: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert threads() == count


def test_lanes_of_a_cluster_have_one_of_both_from_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MKL, "4")
    assert threads("ray") is None
    monkeypatch.setenv(OMP, "2")
    assert threads("ray") == 2


def test_a_search_goes_on_with_what_was_there_when_it_began(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OMP, "1")
    request = FindRequest(workload=WORKLOAD, bench=Bench(device="cpu"), settings=BASELINE)
    around = surroundings_of(request)
    monkeypatch.delenv(OMP)
    assert situation_within(around, request).default_threads == 1
