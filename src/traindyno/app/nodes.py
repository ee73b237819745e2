"""Several machines for one study: the head waits for them, runs trials with them, and tells them when it is over."""

import ipaddress
import math
import os
import shlex
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from msgspec import structs

from traindyno.app.context import Context
from traindyno.app.cut_short import MACHINE_LOST
from traindyno.app.node_checks import TOKEN_VARIABLE, refusal, token_from, unlike_machines
from traindyno.app.study import Study
from traindyno.app.workshop import Workshop, deadlines
from traindyno.core.errors import StoppedError, TraindynoError, UsageError
from traindyno.core.events import Notice
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure, TrialRecord, TrialSpec
from traindyno.core.requests import ScaleRequest
from traindyno.core.units import count_of, format_seconds
from traindyno.machine.gpu import cuda_index
from traindyno.runner.node_door import Door, wait_until
from traindyno.runner.node_link import Address, parse_address
from traindyno.runner.node_messages import Hello, Refusal, Welcome
from traindyno.runner.nodes import RETURN_SECONDS, NodesRunner
from traindyno.search.strategy import Proposal, Strategy

GATHER_SECONDS = 600.0


@dataclass(frozen=True)
class Machines:
    """The workshop whose runner has all machines of a study, and what to warn of about them."""

    workshop: Workshop
    runner: NodesRunner | None = None
    warnings: tuple[str, ...] = ()

    def drive(self, study: Study, strategy: Strategy) -> list[TrialRecord]:
        """Follow the strategy to its end. When a machine is gone for good, with what this one can do alone.

        A study that lacks points for want of machines is not done: it is resumed when they are back, and then what was
        lost with them is taken as if it had never been tried.
        """
        if self.runner is None:
            return study.drive(strategy)
        study.records[:] = [record for record in study.records if not _lost_with_a_machine(record)]
        history = study.drive(_Bearing(strategy, self.runner))
        if self.runner.missing and study.cut is None:
            study.cut = MACHINE_LOST
        return history


def _lost_with_a_machine(record: TrialRecord) -> bool:
    return _nodes(record.spec) > 1 and record.outcome is Outcome.INFRASTRUCTURE


def _nodes(spec: TrialSpec) -> int:
    return 1 if spec.group is None else spec.group.nodes


@contextmanager
def gathered(
    workshop: Workshop, request: ScaleRequest, context: Context, within_seconds: float = GATHER_SECONDS
) -> Iterator[Machines]:
    """Wait until all machines are here; afterwards they are told to go, unless the study has to go on with them."""
    listen = request.listen
    if listen is None or workshop.runner.simulated:
        yield Machines(workshop)
        return
    request = _where_code_lies_now(request, context)
    door = _open_door(workshop, request, parse_address(listen), context)
    over = False
    try:
        _gather(door, request, context, within_seconds)
        runner = NodesRunner(workshop.runner, door, RETURN_SECONDS)
        others = [(node.name, node.machine) for node in door.nodes]
        unlike = unlike_machines(workshop.machine, others, workshop.bench.device)
        yield Machines(replace(workshop, runner=runner), runner, unlike)
        over = not runner.missing and not context.should_stop()
    finally:
        door.close(over=over)


def _where_code_lies_now(request: ScaleRequest, context: Context) -> ScaleRequest:
    """The other machines name code of the user's own as it is named here now, whatever a resumed study called it."""
    here = context.moved.get(request.workload.model, request.workload.model)
    return structs.replace(request, workload=structs.replace(request.workload, model=here))


def _open_door(workshop: Workshop, request: ScaleRequest, address: Address, context: Context) -> Door:
    token = token_from(os.environ)
    _check_reachable(address)
    device, each = workshop.bench.device, math.ceil(max(request.devices) / request.nodes)
    first = cuda_index(device)
    welcome = Welcome(
        node=0,
        nodes=request.nodes,
        runner=workshop.bench.runner,
        deadlines=deadlines(workshop.bench),
        devices=() if first is None else tuple(f"cuda:{first + index}" for index in range(each)),
    )
    needed = len(welcome.devices) + (first or 0)

    def look(hello: Hello) -> Refusal | None:
        return refusal(hello, workshop.machine, request.workload, device, needed)

    def tell(text: str, warns: bool) -> None:
        context.emit(Notice(level="warning" if warns else "info", text=text))

    try:
        return Door(address, token, look, welcome, tell)
    except OSError as error:
        raise UsageError(
            f"nothing can listen at {address}: {os.strerror(error.errno) if error.errno else error}",
            "give an address of this machine, and a port that is free, to --listen",
        ) from None


def _check_reachable(address: Address) -> None:
    """An address that means all networks of this machine is none by which another could reach it."""
    try:
        found = socket.gethostbyname(address.host)
    except OSError:
        raise UsageError(f"{address.host!r} is not known here", "give an address of this machine to --listen") from None
    if ipaddress.ip_address(found).is_unspecified:
        raise UsageError(
            f"{address.host} is every address of this machine, and none by which another reaches it",
            "give the one on the network that the machines share to --listen",
        )


def _gather(door: Door, request: ScaleRequest, context: Context, within_seconds: float) -> None:
    wanted = request.nodes - 1
    command = agent_command(door.address, request)
    context.emit(Notice(level="info", text=_waiting(1, request.nodes, command)))
    told = 0

    def goes_on() -> bool:
        nonlocal told
        here = len(door.nodes)
        if here != told and here < wanted:
            context.emit(Notice(level="info", text=_waiting(1 + here, request.nodes, command)))
        told = here
        return not context.should_stop()

    start = time.monotonic()
    if wait_until(lambda: len(door.nodes) >= wanted, within_seconds, goes_on):
        return
    if context.should_stop():
        raise StoppedError("stopped before all machines were here", command)
    missing = count_of(wanted - len(door.nodes), "machine")
    raise TraindynoError(
        f"{missing} did not come within {format_seconds(time.monotonic() - start)}", f"type there: {command}"
    )


def _waiting(here: int, nodes: int, command: str) -> str:
    are = "is" if here == 1 else "are"
    return f"{here} of {nodes} machines {are} here; on each other type, with the same {TOKEN_VARIABLE}: {command}"


def agent_command(address: Address, request: ScaleRequest) -> str:
    """What to type on each other machine. The secret is no part of it."""
    own = ["--model", request.workload.model] if request.workload.runs_user_code else []
    return shlex.join(["traindyno", "agent", str(address), *own])


class _Bearing:
    """Leaves out what needs machines that are gone; what one machine does alone is still measured."""

    def __init__(self, strategy: Strategy, runner: NodesRunner) -> None:
        self._strategy, self._runner = strategy, runner

    def ask(self, history: Sequence[TrialRecord]) -> Proposal | None:
        left_out: list[TrialRecord] = []
        while (proposal := self._strategy.ask([*history, *left_out])) is not None:
            if not self._runner.missing or _nodes(proposal.spec) == 1:
                return proposal
            left_out.append(TrialRecord(spec=proposal.spec, outcome=_LEFT_OUT.outcome, seconds=0.0, failure=_LEFT_OUT))
        return None


_LEFT_OUT = Failure(
    outcome=Outcome.INFRASTRUCTURE, message="a machine is missing", remedy="Resume the study when it is back."
)
