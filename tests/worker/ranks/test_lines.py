"""Lines between processes: only who knows the token is heard, and nobody else keeps anyone waiting."""

import socket
from multiprocessing.connection import Listener

import pytest

from traindyno.core.errors import UsageError
from traindyno.worker.ranks.lines import call, own_address_towards, parsed, welcome_all

TOKEN = b"known to all"


def test_what_is_told_arrives_and_so_does_its_end():
    with Listener(("127.0.0.1", 0), backlog=4) as listener:
        inbox = welcome_all(listener, TOKEN)
        line = call(listener.address, TOKEN)
        line.tell("hello", rank=1, seconds=float("inf"))
        assert inbox.get(timeout=10).message == {"type": "hello", "rank": 1, "seconds": float("inf")}
        line.close()
        assert inbox.get(timeout=10).message is None


def test_a_stranger_is_refused_with_a_hint_and_one_who_says_nothing_keeps_nobody_waiting():
    with Listener(("127.0.0.1", 0), backlog=4) as listener:
        inbox = welcome_all(listener, TOKEN)
        with socket.create_connection(listener.address):
            with pytest.raises(UsageError, match="another secret"):
                call(listener.address, b"a guess")
            line = call(listener.address, TOKEN)
            line.tell("hello")
            assert inbox.get(timeout=10).message == {"type": "hello"}
            assert inbox.empty()


def test_where_nobody_listens_it_is_said():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = free.getsockname()
    with pytest.raises(ConnectionRefusedError):
        call(address, TOKEN)


def test_addresses_are_read_and_found():
    assert parsed("head.cluster:29400") == ("head.cluster", 29400)
    assert own_address_towards(("127.0.0.1", 29400)) == "127.0.0.1"
