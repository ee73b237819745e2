"""Lines between the captain, its ranks and the other nodes: JSON documents over authenticated connections."""

import contextlib
import json
import queue
import socket
import threading
import time
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener, answer_challenge, deliver_challenge
from typing import Any, NamedTuple

from traindyno.core.codec import encode
from traindyno.core.errors import UsageError

MOST_BYTES = 1 << 28
RETRY_SECONDS = 0.2

Message = dict[str, Any]
Address = tuple[str, int]


class Line:
    """One end of a connection. Any thread may tell; what cannot be told because the other end is gone is dropped."""

    def __init__(self, connection: "Connection[bytes, bytes]") -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def tell(self, kind: str, **fields: Any) -> None:
        document = encode({"type": kind, **fields}).encode()
        with self._lock, contextlib.suppress(OSError):
            self._connection.send_bytes(document)

    def hear(self) -> Message | None:
        """The next message; none once the other end is gone."""
        try:
            message: Message = json.loads(self._connection.recv_bytes(MOST_BYTES))
        except (EOFError, OSError):
            return None
        return message

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._connection.close()


class News(NamedTuple):
    """What came over a line; no message means that its other end is gone."""

    line: Line
    message: Message | None


Inbox = queue.Queue[News]


def hear_into(inbox: Inbox, line: Line) -> None:
    """Put all that comes over a line into the inbox, up to its end."""
    while True:
        message = line.hear()
        inbox.put(News(line, message))
        if message is None:
            return


def welcome_all(listener: Listener, token: bytes) -> Inbox:
    """What is told to the listener by all who know the token.

    Each caller proves it in a thread of its own, so that one who never does keeps nobody waiting.
    """
    inbox: Inbox = queue.Queue()
    threading.Thread(target=_accept, args=(listener, token, inbox), daemon=True).start()
    return inbox


def _accept(listener: Listener, token: bytes, inbox: Inbox) -> None:
    with contextlib.suppress(OSError):
        while True:
            caller = listener.accept()
            threading.Thread(target=_welcome, args=(caller, token, inbox), daemon=True).start()


def _welcome(caller: "Connection[bytes, bytes]", token: bytes, inbox: Inbox) -> None:
    try:
        deliver_challenge(caller, token)
        answer_challenge(caller, token)
    except Exception:  # noqa: BLE001 - whatever a stranger sends, it is not one of the group
        caller.close()
        return
    hear_into(inbox, Line(caller))


def call(address: Address, token: bytes, within_seconds: float = 0.0) -> Line:
    """A line to who listens there; where nobody does yet, it is tried again for some seconds."""
    deadline = time.monotonic() + within_seconds
    while True:
        try:
            return Line(Client(address, "AF_INET", authkey=token))
        except AuthenticationError as error:
            raise UsageError(
                f"{address[0]}:{address[1]} knows another secret than this machine",
                "set TRAINDYNO_TOKEN to the same text on every machine",
            ) from error
        except OSError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(RETRY_SECONDS)


def parsed(address: str) -> Address:
    """`host:port` in its two parts."""
    host, _, port = address.rpartition(":")
    return host, int(port)


def own_address_towards(other: Address) -> str:
    """The address of this machine by which the other is reached."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(other)
        return str(probe.getsockname()[0])
