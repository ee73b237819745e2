"""The head's door: machines that know the token come in, are looked at, and are heard from then on."""

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from msgspec.structs import replace

from traindyno.core.machine import MachineFacts
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.runner.node_link import WORD_SECONDS, Address, Link, LinkLostError, NotUnderstoodError, WrongTokenError
from traindyno.runner.node_messages import Alive, Ended, Farewell, Halt, Hello, Message, Order, Refusal, Welcome

CALLERS_AT_ONCE = 16
"""Whoever knocks and then says nothing holds one of so many places for a few seconds, and nobody up."""


class Node:
    """Another machine of the group, as the head sees it."""

    def __init__(self, link: Link, number: int, machine: MachineFacts) -> None:
        self.number, self.machine = number, machine
        self.lost: str | None = None
        self._link = link
        self._records: dict[str, TrialRecord] = {}

    @property
    def name(self) -> str:
        return f"{self.machine.hostname} (node {self.number})"

    def say(self, message: Message) -> None:
        try:
            self._link.send(message)
        except LinkLostError as error:
            self.lose(str(error))

    def order(self, spec: TrialSpec) -> None:
        self.say(Order(spec=spec))

    def record(self, meeting: str) -> TrialRecord | None:
        """How the trial of that meeting ended there; null while it goes on."""
        return self._records.get(meeting)

    def lose(self, reason: str) -> None:
        self.lost = self.lost or reason
        self._link.close()

    def hear(self) -> None:
        """Take in what the machine says, until it is gone."""
        try:
            while True:
                message = self._link.receive()
                if isinstance(message, Ended) and message.record.spec.meeting is not None:
                    self._records = {message.record.spec.meeting.id: message.record}
        except LinkLostError as error:
            self.lose(str(error))


class Door:
    """Listens at one address, and at no other.

    `look` says whether a machine may come in; `welcome` is what it is told then. `tell` hears in words who came, who
    went and who was refused, with whether that is a warning.
    """

    def __init__(
        self,
        address: Address,
        token: bytes,
        look: Callable[[Hello], Refusal | None],
        welcome: Welcome,
        tell: Callable[[str, bool], None],
    ) -> None:
        self._listener = socket.create_server(address, backlog=CALLERS_AT_ONCE)
        self.address = Address(address.host, self._listener.getsockname()[1])
        self._token, self._look, self._welcome, self.tell = token, look, welcome, tell
        self._nodes: dict[int, Node] = {}
        self._guard = threading.Lock()
        self._places = threading.Semaphore(CALLERS_AT_ONCE)
        self._closed = threading.Event()
        for work in (self._admit_all, self._stay_in_touch):
            threading.Thread(target=work, daemon=True).start()

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The machines that are here now, by their number."""
        with self._guard:
            return tuple(self._nodes[number] for number in sorted(self._nodes) if self._nodes[number].lost is None)

    def close(self, *, over: bool) -> None:
        """Nobody comes in any more. Where the work is `over` the machines are told; else they wait for a next head."""
        self._closed.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for node in self.nodes:
            node.say(Farewell() if over else Halt())
            node.lose("the head has closed")

    def _admit_all(self) -> None:
        while not self._closed.is_set():
            try:
                endpoint, caller = self._listener.accept()
            except OSError:
                self._closed.wait(WORD_SECONDS)
                continue
            if self._places.acquire(blocking=False):
                threading.Thread(target=self._admit, args=(endpoint, str(caller[0])), daemon=True).start()
            else:
                endpoint.close()

    def _admit(self, endpoint: socket.socket, caller: str) -> None:
        link = Link(endpoint)
        try:
            node = self._known(link, caller)
        finally:
            self._places.release()
        if node is None:
            link.close()
            return
        self.tell(f"{node.name} is here", False)
        node.hear()
        if not self._closed.is_set():
            self.tell(f"{node.name} went: {node.lost}", True)

    def _known(self, link: Link, caller: str) -> Node | None:
        """Whoever knows the token and fits; strangers and the silent are sent away."""
        try:
            link.prove(self._token, calling=False)
            hello = link.receive()
            return self._seated(link, hello) if isinstance(hello, Hello) else None
        except WrongTokenError:
            self.tell(f"a machine at {caller} has another TRAINDYNO_TOKEN, and was sent away", True)
        except NotUnderstoodError:
            self.tell(f"a machine at {caller} was sent away: {_ANOTHER_VERSION.message}", True)
            with suppress(LinkLostError):
                link.send(_ANOTHER_VERSION)
        except LinkLostError:
            pass
        return None

    def _seated(self, link: Link, hello: Hello) -> Node | None:
        if (refusal := self._look(hello)) is not None:
            self.tell(f"{hello.machine.hostname} was sent away: {refusal.message}", True)
            link.send(refusal)
            return None
        # A machine is among the others only once it is welcomed: nobody may say anything else to it before.
        with self._guard:
            free = [number for number in range(1, self._welcome.nodes) if self._is_free(number)]
            if free and not self._closed.is_set():
                node = self._nodes[free[0]] = Node(link, free[0], hello.machine)
                node.say(replace(self._welcome, node=node.number))
                return node
        link.send(_FULL)
        return None

    def _is_free(self, number: int) -> bool:
        return number not in self._nodes or self._nodes[number].lost is not None

    def _stay_in_touch(self) -> None:
        while not self._closed.wait(WORD_SECONDS):
            for node in self.nodes:
                node.say(Alive())


_ANOTHER_VERSION = Refusal(
    message="what it says is not understood here", hint="install the same version of traindyno on all machines"
)
_FULL = Refusal(message="all machines of this study are here already", hint="it waits for none now", for_good=False)


def wait_until(condition: Callable[[], bool], seconds: float, tick: Callable[[], bool] = lambda: True) -> bool:
    """Whether the condition came true within so many seconds, and before `tick` said no."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline or not tick():
            return False
        time.sleep(0.05)
    return True
