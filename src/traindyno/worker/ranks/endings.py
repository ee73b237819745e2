"""From what became of the ranks of a group to the one failure of its trial: the first cause, not its consequences."""

import signal
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from traindyno.core.outcomes import REMEDIES, Outcome
from traindyno.core.records import Failure
from traindyno.worker.ranks.limits import MEETING
from traindyno.worker.ranks.members import Member, NodeMember
from traindyno.worker.tracebacks import own_text

INTERFACE_VARIABLES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")
INTERFACE_REMEDY = (
    "Name the network interface by which the machines reach each other in GLOO_SOCKET_IFNAME (CPUs) or "
    "NCCL_SOCKET_IFNAME (GPUs), on every machine, or unset it; `ip addr` lists them."
)
LOST_NODE_REMEDY = (
    "Look at the end of what `traindyno agent` printed there, start it again, then go on with `traindyno resume`."
)
HUNG_REMEDY = "The traceback tells where that rank stood: mend it there, or raise --step-timeout."
UNANSWERED_REMEDY = (
    "It did not even tell where it stands: see whether that process is stopped or out of memory there, or raise "
    "--step-timeout."
)
NOT_STARTED_REMEDY = "Read the end of the log: torchrun says there what it could not do. Then try `traindyno doctor`."
_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def told_failure(member: Member, ranks: int) -> Failure:
    """What a rank said itself, with its name."""
    assert member.error is not None, "this rank has told its failure"
    failure = member.error.failure
    message = failure.message if ranks == 1 else f"{_who(member, ranks)}: {failure.message}"
    return _named(failure, member, message)


def vanished_failure(member: Member, ranks: int, exit_code: int | None, oom_kills: int) -> Failure:
    """A rank that went without a word, and how, by torchrun's table."""
    outcome, how = _manner(exit_code, oom_kills)
    message = f"{_who(member, ranks)} {how} in phase '{member.phase}' without a result"
    return _named(Failure(outcome=outcome, message=message, remedy=REMEDIES[outcome]), member, message)


def _manner(exit_code: int | None, oom_kills: int) -> tuple[Outcome, str]:
    if exit_code is None:
        return Outcome.CRASH, "ended"
    if exit_code >= 0:
        return Outcome.CRASH, f"exited with code {exit_code}"
    number = -exit_code
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    if number == signal.SIGKILL and oom_kills > 0:
        return Outcome.OUT_OF_HOST_MEMORY, "was killed by the kernel because memory was exhausted"
    return Outcome.KILLED if number in _FROM_OUTSIDE else Outcome.CRASH, f"was ended by {name}"


def hung_failure(hung: Sequence[Member], ranks: int, silence: float, allowed: float) -> Failure:
    """Who stands still, and where. Ranks that never met cannot have reached each other."""
    first = hung[0]
    names = ", ".join(str(member.rank) for member in hung)
    who = _who(first, ranks) if len(hung) == 1 else f"ranks {names} of {ranks}"
    where = f"'{first.stage}' of step {first.step + 1}" if first.step else f"'{first.stage}'"
    others = "; the other ranks wait for it" if len(hung) == 1 < ranks else ""
    message = f"{who} made no progress for {silence:.0f} s in {where} (allowed: {allowed:.0f} s){others}"
    if first.phase == MEETING:
        failure = Failure(
            outcome=Outcome.INFRASTRUCTURE,
            message=f"the ranks did not reach each other within {allowed:.0f} s",
            remedy=INTERFACE_REMEDY,
        )
        return _named(failure, first, failure.message)
    traceback = None if first.stack is None else own_text(first.stack)[0]
    remedy = HUNG_REMEDY if traceback else UNANSWERED_REMEDY
    failure = Failure(outcome=Outcome.HANG, message=message, remedy=remedy, traceback=traceback)
    return _named(failure, first, message)


def lost_node_failure(node: NodeMember, silence: float) -> Failure:
    """A machine that is gone, whatever its ranks said before."""
    how = "closed its connection" if node.gone else f"was not heard of for {silence:.0f} s"
    return Failure(
        outcome=Outcome.INFRASTRUCTURE,
        message=f"node {node.node} ({node.host}) {how}",
        remedy=LOST_NODE_REMEDY,
        details={"node": node.host, "node_number": str(node.node)},
    )


def absent_failure(missing_ranks: Sequence[int], missing_nodes: Sequence[int], seconds: float) -> Failure:
    """A group that never was complete: machines that did not come, or ranks that could not reach the captain."""
    if missing_nodes:
        who = f"node {', '.join(map(str, missing_nodes))}"
    else:
        who = f"rank {', '.join(map(str, missing_ranks))}"
    return Failure(
        outcome=Outcome.INFRASTRUCTURE,
        message=f"{who} did not join within {seconds:.0f} s",
        remedy=INTERFACE_REMEDY if missing_nodes else NOT_STARTED_REMEDY,
    )


def unheard_failure(address: str, error: OSError) -> Failure:
    """The captain has no place where ranks could reach it."""
    return Failure(
        outcome=Outcome.INFRASTRUCTURE,
        message=f"this machine cannot listen at {address}: {error.strerror or error}",
        remedy="Give --listen an address of this machine that the others reach, with a port that is free.",
    )


def ended_launcher_failure(number: int, oom_kills: int) -> Failure:
    """torchrun was ended, and took its ranks along."""
    outcome, how = _manner(-number, oom_kills)
    return Failure(outcome=outcome, message=f"torchrun {how}, and its ranks with it", remedy=REMEDIES[outcome])


def not_started_failure(printed: str) -> Failure:
    """torchrun ended before a rank said a word."""
    lines = [line for line in printed.strip().splitlines() if line.strip(" =-")]
    last = f": {lines[-1].strip()}" if lines else ""
    return Failure(
        outcome=Outcome.INFRASTRUCTURE,
        message=f"torchrun ended before all ranks had begun{last}",
        remedy=NOT_STARTED_REMEDY,
    )


def first_cause(
    members: Sequence[Member],
    nodes: Sequence[NodeMember],
    ranks: int,
    exit_codes: Mapping[int, int],
    oom_kills: int,
    node_silence: float,
    now: float,
    launcher_signal: int | None = None,
) -> Failure | None:
    """What a rank said of itself, before a lost machine, before a rank that vanished, before broken connections.

    A rank ended by torchrun because another had failed is no cause, nor is one that ended because torchrun itself was
    ended by a signal. None where nothing has gone wrong.
    """
    told = [member for member in members if member.error is not None]
    if own := [member for member in told if member.error is not None and not member.error.consequence]:
        return told_failure(own[0], ranks)
    for node in nodes:
        if node.gone or now - node.heard > node_silence:
            return lost_node_failure(node, now - node.heard)
    vanished = [member for member in members if member.vanished]
    if launcher_signal is not None:
        return ended_launcher_failure(launcher_signal, oom_kills)
    if vanished:
        causes = [member for member in vanished if exit_codes.get(member.rank) != -signal.SIGTERM] or vanished
        known = [member for member in causes if member.rank in exit_codes]
        cause = min(known or causes, key=lambda member: member.gone or 0.0)
        return vanished_failure(cause, ranks, exit_codes.get(cause.rank), oom_kills)
    return told_failure(told[0], ranks) if told else None


def _who(member: Member, ranks: int) -> str:
    return "the process" if ranks == 1 else f"rank {member.rank} of {ranks} on {member.host}"


def _named(failure: Failure, member: Member, message: str) -> Failure:
    details = {**failure.details, "rank": str(member.rank), "node": member.host, "node_number": str(member.node)}
    phase = failure.phase or member.phase
    return replace(failure, message=message, details=details, phase=phase)
