"""Groups of processes on this machine, through the real runner."""

import os
import socket
import threading
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from traindyno.core.loading import Feed
from traindyno.core.records import Budget, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.scaling import Group, Meeting
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Watcher

JOBS = Path(__file__).parents[2] / "faults" / "group_jobs.py"


def spec_of(job: str, devices: int = 2, seconds: float = 1.0, nodes: int = 1, **more: Any) -> TrialSpec:
    """A trial of a job in `group_jobs.py`, or of a model by name; one thread and 8 examples for each device."""
    settings = {name: more.pop(name) for name in ("num_workers", "accumulation_steps") if name in more}
    return TrialSpec(
        kind="scale",
        workload=WorkloadSpec(model=job if ":" in job else f"{JOBS}:{job}"),
        settings=Settings(batch_size=8 * devices, threads=1, **settings),
        budget=Budget(seconds=seconds, relative_interval=more.pop("relative_interval", 0.01)),
        group=Group(devices=devices, nodes=nodes),
        feed=Feed(supply=more.pop("supply", "resident")),
        **more,
    )


def run_nodes(runners: list[LocalRunner], spec: TrialSpec, watcher: Watcher | None = None) -> list[TrialRecord]:
    """The records of every node, each run by its own runner; the first one's progress is watched."""
    meeting = Meeting(captain=f"127.0.0.1:{_port()}", rendezvous=f"127.0.0.1:{_port()}", id=os.urandom(8).hex())
    records: dict[int, TrialRecord] = {}

    def run(node: int) -> None:
        own = replace(spec, meeting=replace(meeting, node=node))
        records[node] = runners[node].run(own, (watcher if node == 0 else None) or Watcher(), None)

    threads = [threading.Thread(target=run, args=(node,)) for node in range(len(runners))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=240)
    return [records[node] for node in range(len(runners))]


def _port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
