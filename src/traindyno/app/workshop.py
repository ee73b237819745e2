"""Everything that trials need, opened together and closed together."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from traindyno.app.processes import check_alone
from traindyno.core.errors import UsageError
from traindyno.core.machine import MachineFacts
from traindyno.core.requests import Bench
from traindyno.machine.facts import collect, resolve_device
from traindyno.machine.gpu import GpuReader, NullReader, open_reader
from traindyno.machine.locks import device_lock, noticed_neighbour
from traindyno.machine.memory import default_memory_limit_bytes
from traindyno.runner.choose import open_runner
from traindyno.runner.protocol import Deadlines, Runner
from traindyno.store.ledger import Ledger

SIMULATED_DEVICE = "simulated"
HIDDEN_FOLDER, LOGS = ".traindyno", "logs"


@dataclass(frozen=True)
class Workshop:
    """An open ledger, a runner for one device, and the facts about this machine.

    `asked` is the bench in the user's own words, for commands to type next; `bench` is what it means here.
    """

    ledger: Ledger
    runner: Runner
    reader: GpuReader
    machine: MachineFacts
    bench: Bench
    asked: Bench
    neighbour: str | None = None

    @property
    def not_alone(self) -> str | None:
        """The warning to give where another traindyno measures on the same CPU."""
        told = f"Not alone: {self.neighbour}. Numbers measured side by side mean little."
        return None if self.neighbour is None else told

    @property
    def hidden_folder(self) -> Path:
        """Where things are kept that people rarely look at: beside the ledger, or here if that is on a server."""
        return self.ledger.folder / HIDDEN_FOLDER

    @property
    def log_folder(self) -> Path:
        """Where trials' output goes."""
        return self.hidden_folder / LOGS


@contextmanager
def open_workshop(bench: Bench, store: str, *, shared: bool = False, pinned: bool = True) -> Iterator[Workshop]:
    """Open the ledger first: what cannot be kept is not worth measuring.

    `shared` is for work that several processes of torchrun do together; all other is refused there. Over a cluster, a
    study that is `pinned` stays with machines of one kind.
    """
    if not shared or bench.executor == "ray":
        check_alone()
    with ExitStack() as stack:
        ledger = stack.enter_context(Ledger.open(store))
        if bench.executor == "ray":
            yield _over_cluster(bench, ledger, pinned, stack)
            return
        reader = open_reader()
        stack.callback(reader.close)
        asked, bench = bench.asked, settle(bench, reader)
        stack.enter_context(device_lock(bench.device, reader))
        neighbour = stack.enter_context(noticed_neighbour(bench.device))
        runner = open_runner(bench.runner, deadlines(bench))
        stack.callback(runner.close)
        yield Workshop(
            ledger=ledger,
            runner=runner,
            reader=reader,
            machine=collect(reader),
            bench=bench,
            asked=asked,
            neighbour=neighbour,
        )


def _over_cluster(bench: Bench, ledger: Ledger, pinned: bool, stack: ExitStack) -> Workshop:
    """A workshop whose trials run elsewhere: the machine is that of its first lane, which looks at it by itself."""
    from traindyno.runner.ray_cluster import open_cluster
    from traindyno.runner.ray_runner import RayRunner
    from traindyno.runner.ray_words import LaneOrders

    asked, cluster = bench.asked, stack.enter_context(open_cluster(bench.address))
    if bench.device == "auto":
        bench = with_settled(bench, device="cuda:0" if cluster.has_gpus() else "cpu")
    bench = replace(bench, device=_lane_device(bench))
    orders = LaneOrders(
        runner=bench.runner,
        deadlines=deadlines(bench),
        device=bench.device,
        folder=os.getcwd(),
        threads=os.environ.get("OMP_NUM_THREADS"),
    )
    runner = RayRunner(cluster, orders, kind=bench.lane_kind, pinned=pinned)
    stack.callback(runner.close)
    facts = runner.facts()
    if bench.memory_limit_bytes is None and bench.device == "cpu":
        bench = with_settled(bench, memory_limit_bytes=facts.memory_limit_bytes)
    if bench.lane_kind is None and pinned:
        bench = with_settled(bench, lane_kind=runner.kind)
    nothing = NullReader("trials run on machines of a Ray cluster")
    return Workshop(ledger=ledger, runner=runner, reader=nothing, machine=facts.machine, bench=bench, asked=asked)


def _lane_device(bench: Bench) -> str:
    """What trials call the device of their lane, which has one GPU and sees no other."""
    if bench.runner.startswith(SIMULATED_DEVICE):
        return SIMULATED_DEVICE
    if bench.device in ("cuda", "cuda:0"):
        return "cuda:0"
    if bench.device == "cpu":
        return "cpu"
    raise UsageError(f"a lane of a Ray cluster has no device {bench.device}", "write --device cuda or --device cpu")


def settle(bench: Bench, reader: GpuReader) -> Bench:
    """Replace `auto` by what it means here, so that a resumed study means the same."""
    if bench.runner.startswith(SIMULATED_DEVICE):
        return with_settled(bench, device=SIMULATED_DEVICE)
    device = resolve_device(bench.device, reader)
    bench = with_settled(bench, device=device) if bench.device == "auto" else replace(bench, device=device)
    if bench.memory_limit_bytes is None and device == "cpu":
        bench = with_settled(bench, memory_limit_bytes=default_memory_limit_bytes())
    return bench


def with_settled(bench: Bench, **found: str | float | None) -> Bench:
    """The bench with what was found for it, and a note that nobody asked for that."""
    return replace(bench, settled=tuple(dict.fromkeys((*bench.settled, *found))), **found)


def deadlines(bench: Bench) -> Deadlines:
    """The defaults, shortened or lengthened as the user asked."""
    given = Deadlines()
    if bench.step_timeout_seconds is not None:
        step = bench.step_timeout_seconds
        # Starting is no step: a short limit on steps leaves it its time, a long one may lengthen it.
        start_up = max(given.start_up, step)
        given = replace(given, step=step, first_step=step, start_up=start_up, patience=1.0)
    if bench.trial_timeout_seconds is not None:
        given = replace(given, trial=bench.trial_timeout_seconds)
    return given
