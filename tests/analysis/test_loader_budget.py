"""Settings that cannot run are refused before they do, with what to change."""

import re

from hypothesis import given
from hypothesis import strategies as st

from traindyno.analysis.loader_budget import LoaderRoom, batches_in_flight, refuse_loader
from traindyno.core.records import Settings

MIB = 2**20


def at(workers: int, prefetch: int = 2) -> Settings:
    return Settings(batch_size=64, num_workers=workers, prefetch_factor=prefetch)


def test_what_is_not_known_refuses_nothing() -> None:
    assert refuse_loader(at(64), 10**12, LoaderRoom()) is None
    assert refuse_loader(at(64), None, LoaderRoom(shared_free_bytes=0)) is None


def test_too_little_shared_memory_names_the_sizes_and_the_ways_out() -> None:
    refusal = refuse_loader(at(8), 38 * MIB, LoaderRoom(shared_free_bytes=64 * MIB))
    assert refusal is not None
    assert "17 batches of 38.0 MiB" in refusal.message
    assert "/dev/shm has 64.0 MiB free" in refusal.message
    assert refusal.hint is not None
    assert "--shm-size 1g" in refusal.hint
    assert "no workers at all" in refusal.hint


def test_the_hint_says_how_many_workers_would_fit() -> None:
    refusal = refuse_loader(at(8), 38 * MIB, LoaderRoom(shared_free_bytes=300 * MIB))
    assert refusal is not None
    assert refusal.hint is not None
    assert "at most 3 workers" in refusal.hint


@given(st.integers(1, 64), st.integers(1, 8), st.integers(1, 10**9), st.integers(0, 10**11))
def test_as_many_workers_as_the_hint_allows_do_fit(workers: int, prefetch: int, batch: int, free: int) -> None:
    room = LoaderRoom(shared_free_bytes=free)
    refusal = refuse_loader(at(workers, prefetch), batch, room)
    if refusal is None:
        assert batches_in_flight(at(workers, prefetch)) * batch <= free
        return
    allowed = re.search(r"at most (\d+) worker", refusal.hint or "")
    fitting = int(allowed[1]) if allowed else 0
    assert fitting < workers
    assert refuse_loader(at(fitting, prefetch), batch, room) is None
    assert refuse_loader(at(fitting + 1, prefetch), batch, room) is not None


def test_without_workers_shared_memory_is_not_needed() -> None:
    assert refuse_loader(at(0), 10**9, LoaderRoom(shared_free_bytes=0, open_files=16)) is None


def test_too_little_memory_is_refused() -> None:
    refusal = refuse_loader(at(8), 100 * MIB, LoaderRoom(available_bytes=1024 * MIB))
    assert refusal is not None
    assert "memory" in refusal.message
    assert refuse_loader(at(8), 100 * MIB, LoaderRoom(available_bytes=8192 * MIB)) is None


def test_too_few_files_name_the_command_that_allows_more() -> None:
    refusal = refuse_loader(at(32), MIB, LoaderRoom(open_files=256))
    assert refusal is not None
    assert "the limit is 256" in refusal.message
    assert "ulimit -n" in (refusal.hint or "")
    assert refuse_loader(at(32), MIB, LoaderRoom(open_files=1024)) is None
