"""A line between two machines that know the same secret: JSON documents both ways, and a word once a second.

The secret itself is never sent: each side proves to the other that it has it, by the challenge of Python's own
`multiprocessing.connection`. Nothing is unpickled, on either side.
"""

import socket
import struct
import threading
import time
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import NamedTuple

import msgspec

from traindyno.core.codec import decode, encode
from traindyno.core.errors import UsageError
from traindyno.runner.node_messages import Alive, Message

WORD_SECONDS = 1.0
SILENCE_SECONDS = 5.0
CONNECT_SECONDS = 3.0
LARGEST_MESSAGE_BYTES = 16 << 20


class LinkLostError(Exception):
    """The other side is gone, or silent."""


class NotUnderstoodError(LinkLostError):
    """What the other side said is no message of ours."""


class WrongTokenError(Exception):
    """The two sides do not have the same secret."""


class Address(NamedTuple):
    """Where a machine listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """`HOST:PORT`: a name, or an address of version 4."""
    host, _, port = text.strip().partition(":")
    if not (host and port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16):
        raise UsageError(f"{text!r} is no address", "write HOST:PORT, such as 10.0.0.1:29400")
    return Address(host, int(port))


class Link:
    """One end of a line. Several threads may send; one receives."""

    def __init__(self, endpoint: socket.socket) -> None:
        limit = struct.pack("ll", int(SILENCE_SECONDS), 0)
        endpoint.settimeout(None)
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            endpoint.setsockopt(socket.SOL_SOCKET, option, limit)
        self._endpoint = endpoint
        self._connection = Connection(socket.dup(endpoint.fileno()))
        self._sending = threading.Lock()
        self._heard = self._said = time.monotonic()

    def prove(self, token: bytes, *, calling: bool) -> None:
        """Each side shows that it has the token; whoever calls shows it first."""
        steps = (answer_challenge, deliver_challenge) if calling else (deliver_challenge, answer_challenge)
        try:
            for step in steps:
                step(self._connection, token)
        except AuthenticationError as error:
            raise WrongTokenError(str(error)) from None
        except (OSError, EOFError, AssertionError) as error:
            raise LinkLostError(_why(error)) from None

    def send(self, message: Message) -> None:
        with self._sending:
            try:
                self._connection.send_bytes(encode(message).encode())
            except (OSError, ValueError) as error:
                raise LinkLostError(_why(error)) from None
            self._said = time.monotonic()

    def receive(self) -> Message:
        """The next message; silence for too long is a loss."""
        try:
            message: Message = decode(self._connection.recv_bytes(LARGEST_MESSAGE_BYTES), Message)  # type: ignore[arg-type]
        except (OSError, EOFError, TypeError) as error:
            raise LinkLostError(_why(error)) from None
        except (ValueError, msgspec.ValidationError) as error:
            raise NotUnderstoodError(f"what it said was not understood: {error}") from None
        self._heard = time.monotonic()
        return message

    def receive_within(self, seconds: float) -> Message | None:
        """The next message, if one comes within so many seconds."""
        try:
            is_there = self._connection.poll(seconds)
        except (OSError, EOFError) as error:
            raise LinkLostError(_why(error)) from None
        return self.receive() if is_there else None

    def keep(self) -> None:
        """Say that we live, where that is due, and see that the other does."""
        now = time.monotonic()
        if now - self._said >= WORD_SECONDS:
            self.send(Alive())
        if now - self._heard > SILENCE_SECONDS:
            raise LinkLostError(_SILENT)

    def close(self) -> None:
        """Hang up, whoever waits for a word in another thread; the connection itself goes with the last of them."""
        with suppress(OSError):
            self._endpoint.shutdown(socket.SHUT_RDWR)
        self._endpoint.close()


def call(address: Address, token: bytes) -> Link:
    """Connect to a head that listens there, and know each other."""
    try:
        endpoint = socket.create_connection(address, timeout=CONNECT_SECONDS)
    except OSError as error:
        raise LinkLostError(_why(error)) from None
    link = Link(endpoint)
    try:
        link.prove(token, calling=True)
    except BaseException:
        link.close()
        raise
    return link


_SILENT = f"nothing was heard of it for {SILENCE_SECONDS:.0f} s"


def _why(error: BaseException) -> str:
    if isinstance(error, EOFError | ConnectionResetError | BrokenPipeError):
        return "its connection closed"
    if isinstance(error, BlockingIOError):
        return _SILENT
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
