"""The captain of a group: starts its ranks, hears how each fares, and tells one measurement or one failure of all."""

import queue
import time
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from traindyno.core.records import Failure, Measurement, TrialSpec
from traindyno.machine.memory import oom_kill_count
from traindyno.worker.channel import Channel
from traindyno.worker.errors import RankFailedError
from traindyno.worker.ranks.endings import absent_failure, first_cause, hung_failure, not_started_failure
from traindyno.worker.ranks.launching import Torchrun
from traindyno.worker.ranks.limits import MEETING, SETTING_UP, Limits
from traindyno.worker.ranks.lines import Inbox, Line, Message
from traindyno.worker.ranks.members import Member, NodeMember, RankError, RankResult, furthest_behind

LOOK_SECONDS = 0.2
# After a first sign of trouble: for what other ranks have to say, and for torchrun's table of how they ended.
HEAR_OUT_SECONDS = 1.5
TABLE_SECONDS = 4.0
STACK_SECONDS = 1.0
PROGRESS = ("steps", "step_seconds", "planned_steps", "accuracy")
"""What the first rank tells of its steps, and its captain passes on."""


class Captain:
    """Knows every member of the group. It never touches the device."""

    def __init__(
        self,
        spec: TrialSpec,
        channel: Channel,
        limits: Limits,
        inbox: Inbox,
        torchrun: Torchrun,
        clock: Callable[[], float] = time.monotonic,
        asked_to_end: Callable[[], bool] = lambda: False,
    ) -> None:
        assert spec.group is not None, "a trial of several devices has a group"
        self._group, self._channel, self._limits = spec.group, channel, limits
        self._inbox, self._torchrun, self._clock = inbox, torchrun, clock
        self._members: dict[Line, Member] = {}
        self._nodes: dict[Line, NodeMember] = {}
        self._start = self._last_news = clock()
        self._longest_gap = 0.0
        self._trouble: float | None = None
        self._asked_to_end, self._end_passed_on = asked_to_end, False
        self._progress: dict[str, Any] = {"steps": 0}
        self._oom_kills_before = oom_kill_count()

    def lead(self) -> Measurement:
        """The measurement of all; every other node is told how it ended."""
        try:
            measurement = self._follow()
        except RankFailedError as error:
            self._tell_nodes("error", failure=error.failure)
            raise
        self._tell_nodes("result", measurement=measurement)
        return measurement

    def _follow(self) -> Measurement:
        while True:
            self._hear(LOOK_SECONDS)
            if self._complete():
                return self._measurement()
            # The runner need not know that a group is silent for good reasons: its own patience is for the captain.
            self._channel.step(**self._progress)
            self._pass_on_end()
            if (failure := self._failure()) is not None:
                raise RankFailedError(failure)

    def _pass_on_end(self) -> None:
        """A run that is asked to end is ended by its first rank, and all others end with it."""
        first = next((line for line, member in self._members.items() if member.rank == 0), None)
        if first is not None and not self._end_passed_on and self._asked_to_end():
            self._end_passed_on = True
            first.tell("end")

    def _complete(self) -> bool:
        members = self._members.values()
        return len(members) == self._group.devices and all(member.done for member in members)

    def _hear(self, seconds: float) -> None:
        try:
            news = self._inbox.get(timeout=seconds)
            while True:
                self._take(news.line, news.message)
                news = self._inbox.get_nowait()
        except queue.Empty:
            return

    def _take(self, line: Line, message: Message | None) -> None:
        if line in self._members:
            self._take_from_rank(self._members[line], message)
        elif line in self._nodes:
            self._take_from_node(self._nodes[line], message)
        elif message is not None and message["type"] == "hello":
            self._welcome(line, message)

    def _welcome(self, line: Line, message: Message) -> None:
        now = self._clock()
        if message["of"] == "node":
            self._nodes[line] = NodeMember(message["node"], message["host"], line, now)
            return
        self._members[line] = Member(message["rank"], message["node"], message["host"], line, now)
        self._last_news = now

    def _take_from_node(self, node: NodeMember, message: Message | None) -> None:
        node.heard = self._clock()
        if message is None:
            node.gone = True
        elif message["type"] == "ended":
            node.exit_codes = {int(rank): code for rank, code in message["exit_codes"].items()}
            node.printed = message["printed"]

    def _take_from_rank(self, member: Member, message: Message | None) -> None:
        now = self._clock()
        member.heard = now
        if message is None:
            member.gone = now
            return
        kind = message["type"]
        if message["marks"] > member.marks or kind == "step":
            self._remember_gap(member, now)
        member.marks, member.step, member.stage = message["marks"], message["step"], message["stage"]
        if kind == "phase":
            member.phase = message["name"]
            if member.rank == 0:
                self._channel.phase(message["name"])
        elif kind == "step" and member.rank == 0:
            self._progress = {name: message.get(name) for name in PROGRESS}
        elif kind == "stack":
            member.stack = message["text"]
        elif kind == "error":
            failure = msgspec.convert(message["failure"], Failure)
            member.error = RankError(failure, message["consequence"])
        elif kind == "result":
            member.result = msgspec.convert(message["result"], RankResult)

    def _remember_gap(self, member: Member, now: float) -> None:
        if member.phase not in (*SETTING_UP, MEETING):
            self._longest_gap = max(self._longest_gap, now - self._last_news)
        self._last_news = now

    def _failure(self) -> Failure | None:
        """The failure of the group, once it is clear what it is."""
        now = self._clock()
        if self._troubled(now):
            self._trouble = now if self._trouble is None else self._trouble
            return self._cause(now) if self._heard_out(now) else None
        if not self._all_here():
            return self._absent(now)
        return self._hung(now)

    def _troubled(self, now: float) -> bool:
        ended = self._torchrun.ended or any(node.printed is not None for node in self._nodes.values())
        return ended or self._node_lost(now) or any(each.error or each.vanished for each in self._members.values())

    def _node_lost(self, now: float) -> bool:
        return any(node.gone or now - node.heard > self._limits.node_silence for node in self._nodes.values())

    def _heard_out(self, now: float) -> bool:
        """Whether all ranks had time to speak, and torchrun to tell how one ended that did not."""
        assert self._trouble is not None
        waited = now - self._trouble
        if waited < HEAR_OUT_SECONDS:
            return False
        untold = [m for m in self._members.values() if m.vanished and m.rank not in self._exit_codes()]
        own = any(m.error is not None and not m.error.consequence for m in self._members.values())
        no_table = self._torchrun.ended_by is not None
        return own or self._node_lost(now) or not untold or no_table or waited >= TABLE_SECONDS

    def _exit_codes(self) -> dict[int, int]:
        codes = self._torchrun.exit_codes
        for node in self._nodes.values():
            codes |= node.exit_codes
        return codes

    def _cause(self, now: float) -> Failure:
        before, after = self._oom_kills_before, oom_kill_count()
        oom_kills = 0 if before is None or after is None else after - before
        members, nodes = list(self._members.values()), list(self._nodes.values())
        silence = self._limits.node_silence
        by_signal = self._torchrun.ended_by
        cause = first_cause(members, nodes, self._group.devices, self._exit_codes(), oom_kills, silence, now, by_signal)
        ended = [node for node in nodes if node.printed is not None]
        return cause or not_started_failure((ended[0].printed if ended else None) or self._torchrun.printed)

    def _all_here(self) -> bool:
        return len(self._members) == self._group.devices and len(self._nodes) == self._group.nodes - 1

    def _absent(self, now: float) -> Failure | None:
        """Machines come by themselves; ranks once torchrun has loaded torch on all of them, which may take minutes."""
        nodes = {node.node for node in self._nodes.values()}
        missing_nodes = [number for number in range(1, self._group.nodes) if number not in nodes]
        limit = self._limits.connect if missing_nodes else self._limits.start_up
        if now - self._start <= limit:
            return None
        present = {member.rank for member in self._members.values()}
        missing = [rank for rank in range(self._group.devices) if rank not in present]
        return absent_failure(missing, missing_nodes, limit)

    def _hung(self, now: float) -> Failure | None:
        """The rank that all wait for, if the group has stood still for too long; it is asked where it stands."""
        behind = furthest_behind(self._members.values(), now)
        silence = now - self._last_news
        allowed = self._limits.silence_in(behind[0].phase, self._longest_gap)
        if silence <= allowed:
            return None
        for member in behind:
            member.line.tell("where")
        deadline = now + STACK_SECONDS
        while behind[0].stack is None and self._clock() < deadline:
            self._hear(LOOK_SECONDS)
        return hung_failure(behind, self._group.devices, silence, allowed)

    def _measurement(self) -> Measurement:
        """What the first rank measured, with the readings of all; memory is that of who took most."""
        ordered = sorted(self._members.values(), key=lambda member: member.rank)
        results = [member.result for member in ordered if member.result is not None]
        of_all = results[0].measurement
        assert of_all is not None, "the first rank tells the measurement"
        readings = tuple(result.reading for result in results if result.reading is not None)
        return replace(
            of_all,
            memory=max((result.memory for result in results), key=lambda memory: memory.peak_bytes),
            scaling=None if of_all.scaling is None else replace(of_all.scaling, ranks=readings),
            notes=tuple(dict.fromkeys(note for result in results for note in result.notes)),
        )

    def _tell_nodes(self, kind: str, **fields: Measurement | Failure) -> None:
        for line in self._nodes:
            line.tell(kind, **fields)
