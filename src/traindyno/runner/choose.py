"""The runner that `--runner` names."""

from traindyno.core.errors import UsageError
from traindyno.runner.local import LocalRunner
from traindyno.runner.profile import parse_profile
from traindyno.runner.protocol import Deadlines, Runner
from traindyno.runner.simulated import SimulatedRunner

WORKER_ENTRY = "traindyno.worker.main:run"


def open_runner(name: str, deadlines: Deadlines) -> Runner:
    """`fork` (the default), `spawn`, or `simulated[:name=value,...]`."""
    kind, _, argument = name.partition(":")
    if kind in ("fork", "spawn") and not argument:
        return LocalRunner(WORKER_ENTRY, deadlines, spawn=kind == "spawn")
    if kind == "simulated":
        return SimulatedRunner(parse_profile(argument))
    raise UsageError(f"there is no runner {name!r}", "use fork, spawn or simulated")
