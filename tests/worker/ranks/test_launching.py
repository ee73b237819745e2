"""What torchrun is started with."""

import os
import queue
import threading
from multiprocessing.connection import Listener
from typing import Any

import pytest
from msgspec.structs import replace

from traindyno.core.errors import UsageError
from traindyno.core.records import Settings, TrialSpec, WorkloadSpec
from traindyno.core.scaling import Group
from traindyno.worker.devices import CpuDevice, CudaDevice
from traindyno.worker.kinds.scale import check_group
from traindyno.worker.learning.processes import Processes
from traindyno.worker.ranks import main
from traindyno.worker.ranks.launching import Place, command, variables
from traindyno.worker.ranks.leading import token_of_nodes
from traindyno.worker.ranks.lines import welcome_all
from traindyno.worker.ranks.measuring import own_share
from traindyno.worker.ranks.reporting import RankChannel

PLACE = Place(1, "10.0.0.1:29400", "fresh", "10.0.0.2", ("10.0.0.1", 29401), "secret")


def spec_of(
    devices: int, nodes: int = 1, batch_size: int = 8, mode: Any = "train", threads: int | None = None
) -> TrialSpec:
    return TrialSpec(
        kind="scale",
        workload=WorkloadSpec(model="mlp:8", mode=mode),
        settings=Settings(batch_size=batch_size, threads=threads),
        group=Group(devices=devices, nodes=nodes),
    )


def test_ranks_are_spread_over_the_nodes_and_never_started_again():
    words = command(spec_of(8, nodes=2), PLACE)
    given = dict(zip(words[3:-2:2], words[4:-2:2], strict=True))
    assert given == {
        "--nnodes": "2",
        "--nproc-per-node": "4",
        "--max-restarts": "0",
        "--rdzv-backend": "c10d",
        "--rdzv-endpoint": "10.0.0.1:29400",
        "--rdzv-id": "fresh",
        "--local-addr": "10.0.0.2",
    }
    assert "secret" not in words


def test_ranks_find_their_captain_and_have_their_threads():
    found = variables(spec_of(8, nodes=2, threads=3), PLACE)
    assert found["TRAINDYNO_CAPTAIN"] == "10.0.0.1:29401"
    assert found["TRAINDYNO_TOKEN"] == "secret"
    assert found["OMP_NUM_THREADS"] == "3"


def test_a_rank_runs_what_its_own_launcher_says_and_nothing_that_its_captain_sends(monkeypatch: pytest.MonkeyPatch):
    """Another machine's captain knows the secret, but not what this machine's command line allowed."""
    listener, heard = Listener(("127.0.0.1", 0)), queue.Queue[TrialSpec]()
    place = PLACE._replace(captain=listener.address)
    inbox = welcome_all(listener, place.token.encode())
    allowed = spec_of(2)
    for name, value in {**variables(allowed, place), "RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(main, "end_with_parent", lambda: None)
    monkeypatch.setattr(RankChannel, "keep_telling", lambda _self: None)
    monkeypatch.setattr("traindyno.worker.ranks.rank.run_rank", lambda spec, _channel: heard.put(spec) or 0)
    thread = threading.Thread(target=main.main)
    thread.start()
    line, _ = inbox.get(timeout=30)
    line.tell("spec", spec=replace(allowed, workload=WorkloadSpec(model="elsewhere.py:evil")))
    thread.join(timeout=60)
    listener.close()
    assert heard.get(timeout=60) == allowed
    assert "TRAINDYNO_TOKEN" not in os.environ


def test_ranks_of_one_machine_share_its_batch_and_on_a_cpu_its_memory():
    spec = replace(spec_of(4, nodes=2), memory_limit_bytes=2**30)
    on_cpu = own_share(spec, Processes(rank=1, world_size=4, local_rank=1), CpuDevice())
    on_gpu = own_share(spec, Processes(rank=1, world_size=4, local_rank=1), CudaDevice("cuda:1"))
    assert on_cpu.settings.batch_size == on_gpu.settings.batch_size == 2
    assert (on_cpu.memory_limit_bytes, on_gpu.memory_limit_bytes) == (2**29, 2**30)


def test_several_nodes_without_a_secret_are_refused_with_a_hint(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("TRAINDYNO_TOKEN", raising=False)
    with pytest.raises(UsageError) as refused:
        token_of_nodes()
    assert "TRAINDYNO_TOKEN" in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (spec_of(3, batch_size=8), "cannot be shared equally by 3 processes"),
        (spec_of(3, nodes=2, batch_size=6), "cannot be spread evenly over 2 nodes"),
        (spec_of(2, nodes=2), "need a place to meet"),
        (spec_of(2, mode="infer"), "inference has none"),
    ],
)
def test_groups_that_cannot_be_are_refused_before_anything_starts(spec: TrialSpec, message: str):
    with pytest.raises(UsageError, match=message):
        check_group(spec)
