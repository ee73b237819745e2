"""Everything that trials need, opened together and closed together."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from traindyno.app.processes import check_alone
from traindyno.core.machine import MachineFacts
from traindyno.core.requests import Bench
from traindyno.machine.facts import collect, resolve_device
from traindyno.machine.gpu import GpuReader, open_reader
from traindyno.machine.locks import device_lock, noticed_neighbour
from traindyno.machine.memory import default_memory_limit_bytes
from traindyno.runner.choose import open_runner
from traindyno.runner.protocol import Deadlines, Runner
from traindyno.store.ledger import Ledger

SIMULATED_DEVICE = "simulated"


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
    def hidden_folder(self) -> Path:
        """Where things are kept that people rarely look at: beside the ledger."""
        return self.ledger.path.parent / ".traindyno"

    @property
    def log_folder(self) -> Path:
        """Where trials' output goes."""
        return self.hidden_folder / "logs"


@contextmanager
def open_workshop(bench: Bench, store: str, *, shared: bool = False) -> Iterator[Workshop]:
    """Open the ledger first: what cannot be kept is not worth measuring.

    `shared` is for work that several processes of torchrun do together; all other is refused there.
    """
    if not shared:
        check_alone()
    with ExitStack() as stack:
        ledger = stack.enter_context(Ledger.open(store))
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
