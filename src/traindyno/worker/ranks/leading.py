"""A group's trial as its process on each node sees it: the captain's on the first, a launcher's on the others."""

import os
import queue
import secrets
import socket
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Listener

import msgspec

from traindyno.core.errors import UsageError
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure, Measurement, TrialSpec
from traindyno.core.scaling import Group, Meeting
from traindyno.worker.channel import Channel
from traindyno.worker.ending import ending_on_request
from traindyno.worker.errors import RankFailedError
from traindyno.worker.ranks.captain import Captain
from traindyno.worker.ranks.endings import LOST_NODE_REMEDY, unheard_failure
from traindyno.worker.ranks.launching import TOKEN, Place, Torchrun
from traindyno.worker.ranks.limits import Limits, limits_of
from traindyno.worker.ranks.lines import Address, Inbox, Line, call, hear_into, own_address_towards, parsed, welcome_all

LOOPBACK = "127.0.0.1"
ALIVE_SECONDS = 1.0
# A node whose torchrun has ended waits for the captain's word on what happened.
VERDICT_SECONDS = 15.0
TOLD_CHARACTERS = 2000


def lead_learning(spec: TrialSpec, channel: Channel) -> Measurement:
    """Run a recipe on the devices of this machine; asked to end, the ranks keep their state and tell how far they are.

    What they keep is that of the run, of whose identity the group is no part.
    """
    group = Group(devices=spec.settings.devices)
    spec = msgspec.structs.replace(spec, group=group, checkpoints_of=spec.checkpoints_of or spec.key)
    with ending_on_request() as asked_to_end:
        return lead(spec, channel, limits_of(spec), asked_to_end)


def lead(
    spec: TrialSpec, channel: Channel, limits: Limits, asked_to_end: Callable[[], bool] = lambda: False
) -> Measurement:
    """Run the group from its first node. On one machine everything stays on its loopback interface."""
    assert spec.group is not None, "a trial of several devices has a group"
    meeting = spec.meeting
    token = secrets.token_hex(16) if meeting is None else token_of_nodes()
    address = (LOOPBACK, 0) if meeting is None else parsed(meeting.captain)
    channel.phase("start")
    most = spec.group.devices + spec.group.nodes
    with (
        _listener(address, most) as listener,
        Torchrun(spec, _first_place(meeting, listener.address, token)) as torchrun,
    ):
        inbox = welcome_all(listener, token.encode())
        return Captain(spec, channel, limits, inbox, torchrun, asked_to_end=asked_to_end).lead()


def _listener(address: Address, most: int) -> Listener:
    try:
        return Listener(address, "AF_INET", backlog=most)
    except OSError as error:
        raise RankFailedError(unheard_failure(f"{address[0]}:{address[1]}", error)) from error


def _first_place(meeting: Meeting | None, captain: Address, token: str) -> Place:
    if meeting is None:
        return Place(0, f"{LOOPBACK}:0", secrets.token_hex(8), LOOPBACK, captain, token)
    return Place(0, meeting.rendezvous, meeting.id, own_address_towards(captain), captain, token)


def follow(spec: TrialSpec, channel: Channel, limits: Limits) -> Measurement:
    """Run this node's ranks, tell the captain every second that the node lives, and end as the captain says."""
    assert spec.meeting is not None, "a node that is not the first was told where to meet"
    channel.phase("start")
    meeting, token = spec.meeting, token_of_nodes()
    captain = parsed(meeting.captain)
    try:
        line = call(captain, token.encode(), limits.connect)
    except OSError as error:
        raise RankFailedError(_no_captain(f"could not be reached: {error}", meeting)) from error
    line.tell("hello", of="node", node=meeting.node, host=socket.gethostname())
    place = Place(meeting.node, meeting.rendezvous, meeting.id, own_address_towards(captain), captain, token)
    with Torchrun(spec, place) as torchrun:
        return _until_told(line, torchrun, channel, meeting)


def _until_told(line: Line, torchrun: Torchrun, channel: Channel, meeting: Meeting) -> Measurement:
    inbox: Inbox = queue.Queue()
    threading.Thread(target=hear_into, args=(inbox, line), daemon=True).start()
    ended: float | None = None
    while True:
        line.tell("alive")
        channel.step(0)
        if torchrun.ended:
            # Told more than once: the last of what it printed may come a moment later.
            ended = ended or time.monotonic()
            codes = {str(rank): code for rank, code in torchrun.exit_codes.items()}
            line.tell("ended", exit_codes=codes, printed=torchrun.printed[-TOLD_CHARACTERS:])
        if ended is not None and time.monotonic() - ended > VERDICT_SECONDS:
            raise RankFailedError(_no_captain("said nothing after this node's ranks had ended", meeting))
        try:
            message = inbox.get(timeout=ALIVE_SECONDS).message
        except queue.Empty:
            continue
        if message is None:
            raise RankFailedError(_no_captain("closed the connection", meeting))
        if message["type"] == "error":
            raise RankFailedError(msgspec.convert(message["failure"], Failure))
        return msgspec.convert(message["measurement"], Measurement)


def token_of_nodes() -> str:
    """The secret that all machines of a group share."""
    token = os.environ.get(TOKEN)
    if not token:
        raise UsageError(
            "machines that train together know each other by a secret, and there is none",
            f"set {TOKEN} to the same long random text on every machine, such as that of `openssl rand -hex 16`",
        )
    return token


def _no_captain(how: str, meeting: Meeting) -> Failure:
    return Failure(
        outcome=Outcome.INFRASTRUCTURE,
        message=f"node 0 ({meeting.captain}) {how}",
        remedy=LOST_NODE_REMEDY.replace("`traindyno agent`", "`traindyno scale`"),
        details={"node_number": "0"},
    )
