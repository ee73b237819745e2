"""Trials on several machines at once: the head's own runner has the captain, agents run the rest."""

import secrets
import socket
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from traindyno.core.errors import TraindynoError
from traindyno.core.events import TrialProgress
from traindyno.core.outcomes import REMEDIES, Outcome
from traindyno.core.records import Failure, TrialRecord, TrialSpec
from traindyno.core.scaling import Meeting
from traindyno.core.units import count_of
from traindyno.runner.node_door import Door, Node, wait_until
from traindyno.runner.node_link import Address
from traindyno.runner.node_messages import Halt
from traindyno.runner.protocol import Runner, Watcher

RETURN_SECONDS = 30.0
"""How long a machine that went is waited for."""
CAPTAIN_SECONDS = 3.0
"""The captain hears of a lost machine too, and tells more of it: so long it has for that."""
ENDING_SECONDS = 2.0
BURIAL_SECONDS = 10.0
AGAIN = "start `traindyno agent {address}` there again, then go on with `traindyno resume`"


class NodesRunner:
    """Runs trials of one machine as `local` does, and those of several together with the machines at the door.

    `missing` says that the latest trial of several could not be run for want of machines.
    """

    simulated = False

    def __init__(self, local: Runner, door: Door, return_seconds: float = RETURN_SECONDS) -> None:
        self._local, self._door = local, door
        self._patience = self._return_seconds = return_seconds
        self.missing = False

    def run(self, spec: TrialSpec, watcher: Watcher, log_path: Path | None) -> TrialRecord:
        others = 0 if spec.group is None else spec.group.nodes - 1
        if others == 0:
            return self._local.run(spec, watcher, log_path)
        start = time.monotonic()
        nodes = self._those_here(others, watcher)
        if self.missing:
            return self._not_run(spec, watcher, time.monotonic() - start)
        return self._together(nodes, spec, watcher, log_path)

    def close(self) -> None:
        self._local.close()

    def _those_here(self, others: int, watcher: Watcher) -> Sequence[Node]:
        """So many machines, after some waiting for those that went; waiting in vain is done only once."""

        def goes_on() -> bool:
            watcher.tick(time.monotonic(), None)
            return not watcher.should_stop()

        absent = others - len(self._door.nodes)
        if absent > 0 and self._patience > 0:
            again = f"up to {self._patience:.0f} s for `traindyno agent {self._door.address}`"
            self._door.tell(f"{count_of(absent, 'machine')} of {others + 1} missing: waiting {again} there", True)
        wait_until(lambda: len(self._door.nodes) >= others, self._patience, goes_on)
        nodes = self._door.nodes[:others]
        self.missing = len(nodes) < others
        self._patience = 0.0 if self.missing and not watcher.should_stop() else self._return_seconds
        return nodes

    def _not_run(self, spec: TrialSpec, watcher: Watcher, seconds: float) -> TrialRecord:
        if watcher.should_stop():
            stopped = _failure(Outcome.INTERRUPTED, "stopped on request", REMEDIES[Outcome.INTERRUPTED])
            return _failed(spec, stopped, seconds)
        here = 1 + len(self._door.nodes)
        nodes = spec.group.nodes if spec.group is not None else here
        are = "is" if here == 1 else "are"
        message = f"only {here} of {nodes} machines {are} here, and nobody came within {self._return_seconds:.0f} s"
        remedy = f"On what is missing, {AGAIN.format(address=self._door.address)}."
        return _failed(spec, _failure(Outcome.INFRASTRUCTURE, message, remedy), seconds)

    def _together(self, nodes: Sequence[Node], spec: TrialSpec, watcher: Watcher, log_path: Path | None) -> TrialRecord:
        meeting = new_meeting(self._door.address.host)
        for number, node in enumerate(nodes, start=1):
            node.order(replace(spec, meeting=replace(meeting, node=number)))
        guard = _Guard(nodes, meeting.id, watcher, AGAIN.format(address=self._door.address))
        record = self._local.run(replace(spec, meeting=_hosted_here(meeting)), guard, log_path)
        _end(nodes, meeting.id, at_once=not record.ok)
        return _judged(record, None if guard.stopped else guard.trouble())


def new_meeting(host: str) -> Meeting:
    """A place for one trial alone: two ports that are free now, and an identity that nobody can guess."""
    try:
        with socket.create_server((host, 0)) as one, socket.create_server((host, 0)) as two:
            captain, rendezvous = (str(Address(host, each.getsockname()[1])) for each in (one, two))
    except OSError as error:
        raise TraindynoError(
            f"no port can be had at {host}: {error.strerror or error}", "see that the network is up, then resume"
        ) from None
    return Meeting(captain=captain, rendezvous=rendezvous, id=secrets.token_hex(16))


def _hosted_here(meeting: Meeting) -> Meeting:
    """The meeting as its host is told of it: torchrun hosts none at an address that it does not take for its own.

    Which it does of loopback, but not of a second network's. It listens at all of them.
    """
    port = meeting.rendezvous.rpartition(":")[2]
    return replace(meeting, rendezvous=f"127.0.0.1:{port}")


class _Guard(Watcher):
    """Passes on what the study's watcher is told, and ends the head's own trial when another machine's has failed."""

    def __init__(self, nodes: Sequence[Node], meeting: str, watcher: Watcher, again: str) -> None:
        self._nodes, self._meeting, self._watcher, self._again = nodes, meeting, watcher, again
        self._since: float | None = None
        self.stopped = False

    def progress(self, progress: TrialProgress) -> None:
        self._watcher.progress(progress)

    def tick(self, now: float, pid: int | None) -> None:
        self._watcher.tick(now, pid)

    def should_stop(self) -> bool:
        self.stopped = self.stopped or self._watcher.should_stop()
        if self._since is None and self.trouble() is not None:
            self._since = time.monotonic()
        return self.stopped or (self._since is not None and time.monotonic() - self._since > CAPTAIN_SECONDS)

    def trouble(self) -> Failure | None:
        """What went wrong on another machine, if anything did: what one says of itself before that one is gone."""
        found = [failure for node in self._nodes if (failure := self._trouble_of(node)) is not None]
        return min(found, key=lambda failure: failure.outcome is Outcome.INFRASTRUCTURE, default=None)

    def _trouble_of(self, node: Node) -> Failure | None:
        record = node.record(self._meeting)
        if record is not None and record.failure is not None and record.outcome is not Outcome.INTERRUPTED:
            message = f"on {node.name}: {record.failure.message}"
            details = {"node": node.machine.hostname, **record.failure.details}
            return replace(record.failure, message=message, details=details)
        if record is None and node.lost is not None:
            message = f"{node.name} was lost in mid-trial: {node.lost}"
            remedy = f"See that it runs and can be reached; {self._again}."
            failure = _failure(Outcome.INFRASTRUCTURE, message, remedy)
            return replace(failure, details={"node": node.machine.hostname})
        return None


def _end(nodes: Sequence[Node], meeting: str, *, at_once: bool) -> None:
    """No trial goes on elsewhere when it has ended here; a machine that cannot say so is one no longer."""

    def has_ended(node: Node) -> bool:
        return node.lost is not None or node.record(meeting) is not None

    wait_until(lambda: all(map(has_ended, nodes)), 0.0 if at_once else ENDING_SECONDS)
    for node in nodes:
        if not has_ended(node):
            node.say(Halt())
    wait_until(lambda: all(map(has_ended, nodes)), BURIAL_SECONDS)
    for node in nodes:
        if not has_ended(node):
            node.lose("it did not say that its trial has ended")


def _judged(record: TrialRecord, trouble: Failure | None) -> TrialRecord:
    """The captain's story; another machine's where the captain was ended for it, or knows only that one was lost."""
    if record.ok or trouble is None:
        return record
    ended_for_it = record.outcome is Outcome.INTERRUPTED
    knows_less = record.outcome is Outcome.INFRASTRUCTURE and trouble.outcome is not Outcome.INFRASTRUCTURE
    return replace(record, outcome=trouble.outcome, failure=trouble) if ended_for_it or knows_less else record


def _failure(outcome: Outcome, message: str, remedy: str) -> Failure:
    return Failure(outcome=outcome, message=message, remedy=remedy, phase="start")


def _failed(spec: TrialSpec, failure: Failure, seconds: float) -> TrialRecord:
    return TrialRecord(spec=spec, outcome=failure.outcome, seconds=seconds, failure=failure)
