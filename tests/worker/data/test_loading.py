"""Loaders without end: which examples they deliver, with which settings, and what they do when something is wrong."""

import gc
import multiprocessing
import os
import threading
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Settings
from traindyno.worker.data.flow import Flow
from traindyno.worker.data.loading import UnpicklableError
from traindyno.worker.data.pipeline import Pipeline
from traindyno.worker.data.sampling import MOST_TICKETS, EndlessBatches, Shuffled
from traindyno.worker.data.shards import open_shards
from traindyno.worker.data.worker_faults import HandOverError, WorkerEndedError
from traindyno.worker.errors import DataError
from traindyno.worker.loaders import dataset_source, loader_source
from worker.data.tiny_sets import write_shards

TEN = TensorDataset(torch.arange(10))


class Evens(IterableDataset[int]):
    """A stream that workers share because `share_out` tells each of them its part, as torch's manual has it."""

    start, step = 0, 1

    def __iter__(self) -> Iterator[int]:
        return iter(range(2 * self.start, 20, 2 * self.step))

    def __len__(self) -> int:
        return 10


def share_out(number: int) -> None:
    worker = get_worker_info()
    assert worker is not None
    worker.dataset.start, worker.dataset.step = number, worker.num_workers  # type: ignore[attr-defined]


class Locked(Dataset[int]):
    """Holds something that cannot travel."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> int:
        return index


class Generators(Locked):
    """Items that cannot travel either."""

    def __getitem__(self, index: int) -> Any:
        return (number for number in range(index))


class OfThisProcess:
    """Cannot be taken apart in a fork, as what lies on a GPU; only the collector takes it apart."""

    def __init__(self, traces: Path) -> None:
        self.itself, self.made_in, self.traces = self, os.getpid(), traces

    def __del__(self) -> None:
        (self.traces / ("here" if os.getpid() == self.made_in else "in a fork")).touch()


class Collecting(Locked):
    """A dataset whose items make the collector run."""

    def __getitem__(self, index: int) -> int:
        gc.collect()
        return index


def flow_of(data: Any, **knobs: Any) -> Flow:
    source = loader_source(data) if isinstance(data, DataLoader) else dataset_source(data)
    knobs = {"batch_size": 2, "num_workers": 1, **knobs}
    return Flow(source.endless(Settings(**knobs), seed=1, skipped=None, depth="examples", drawn=None))


def taken(flow: Flow, count: int) -> list[Any]:
    with flow:
        return [flow.start()[1], *(flow.take() for _ in range(count - 1))]


@given(st.integers(1, 40), st.integers(0, 5), st.data())
@settings(max_examples=50)
def test_every_epoch_deals_each_example_at_most_once_in_whole_batches(examples: int, seed: int, data: Any) -> None:
    batch_size = data.draw(st.integers(1, examples))
    per_epoch = examples // batch_size
    batches = list(islice(EndlessBatches(Shuffled(examples, seed), batch_size), 3 * per_epoch))
    assert {len(batch) for batch in batches} == {batch_size}
    for epoch in range(3):
        tickets = [ticket for batch in batches[epoch * per_epoch : (epoch + 1) * per_epoch] for ticket in batch]
        assert {ticket // examples for ticket in tickets} == {epoch}
        assert len({ticket % examples for ticket in tickets}) == per_epoch * batch_size


def test_the_order_changes_with_epoch_and_seed_and_with_nothing_else() -> None:
    first, same, other = Shuffled(50, 1), Shuffled(50, 1), Shuffled(50, 2)
    assert first(0) == same(0) != other(0)
    assert [ticket - 50 for ticket in first(1)] != first(0)


def test_no_epoch_of_one_seed_is_one_of_another() -> None:
    dealt = [Shuffled(50, seed) for seed in range(3)]
    places = [[each.drawn.index(ticket % 50) for ticket in each(epoch)] for each in dealt for epoch in range(3)]
    assert len(set(map(tuple, places))) == 9


def test_a_stream_of_one_seed_is_never_that_of_another(tmp_path: Path) -> None:
    shards = open_shards(str(write_shards(tmp_path, 4, 5)), "train")
    firsts = [list(islice(Pipeline(shards, 8, seed=seed).stream(0, 1), 60)) for seed in (0, 1)]
    epochs = [tuple(stored.name for stored in read[start : start + 20]) for read in firsts for start in (0, 20, 40)]
    assert len(set(epochs)) == 6


def test_a_part_of_the_examples_is_drawn_once_and_kept() -> None:
    part = Shuffled(50, 1, drawn=40)
    assert sorted(part(0)) == sorted(ticket - 50 for ticket in part(1)) == sorted(part.drawn)
    assert len(part.drawn) == 40


def test_an_epoch_of_a_part_is_as_long_as_one_of_all_and_augments_anew_each_time() -> None:
    part = Shuffled(50, 1, drawn=7)
    tickets = [*part(0), *part(1)]
    assert len(tickets) == 2 * 7 * 7
    for number in range(14):
        passed = tickets[7 * number : 7 * number + 7]
        assert sorted(ticket - 50 * number for ticket in passed) == sorted(part.drawn)
    places = [tuple(ticket % 50 for ticket in tickets[start : start + 7]) for start in range(0, len(tickets), 7)]
    assert len(set(places)) > 12


def test_an_epoch_of_a_part_of_very_many_examples_is_cut() -> None:
    assert len(Shuffled(50 * MOST_TICKETS, 1, drawn=MOST_TICKETS // 4)(0)) == MOST_TICKETS


def test_an_epoch_can_be_ended_and_the_next_begun() -> None:
    batches = EndlessBatches(Shuffled(10, 1), 2)
    running = iter(batches)
    assert {ticket // 10 for ticket in next(running)} == {0}
    batches.finish()
    assert list(running) == []
    assert {ticket // 10 for ticket in next(iter(batches))} == {1}


def test_a_sampler_that_gives_no_whole_batch_does_not_loop_for_ever() -> None:
    with pytest.raises(TraindynoError, match="before it gave one batch of 4"):
        next(iter(EndlessBatches(lambda _: [1, 2, 3], 4)))


def test_the_settings_become_those_of_the_loader() -> None:
    settings = Settings(batch_size=2, num_workers=3, prefetch_factor=4, persistent_workers=True)
    loader = dataset_source(TEN).endless(settings, 0, None, "examples", None).loader
    assert (loader.num_workers, loader.prefetch_factor, loader.persistent_workers) == (3, 4, True)
    assert loader.multiprocessing_context.get_start_method() == "fork"


def test_a_users_dataset_goes_on_from_epoch_to_epoch() -> None:
    batches = taken(flow_of(TEN, num_workers=2), 10)
    for epoch in (batches[:5], batches[5:]):
        assert sorted(torch.cat([batch[0] for batch in epoch]).tolist()) == list(range(10))


def test_a_users_sampler_and_collate_function_are_kept_and_begun_anew() -> None:
    loader = DataLoader(
        TEN, batch_size=5, sampler=[3, 1, 4, 1, 5], collate_fn=lambda items: [int(each[0]) for each in items]
    )
    assert taken(flow_of(loader, batch_size=2), 4) == [[3, 1], [4, 1], [3, 1], [4, 1]]


def test_a_users_stream_is_shared_as_its_own_initialisation_wants_it_and_begun_anew() -> None:
    loader = DataLoader(Evens(), batch_size=5, worker_init_fn=share_out)
    batches = taken(flow_of(loader, batch_size=5, num_workers=2), 4)
    assert [batch.tolist() for batch in batches] == [[0, 4, 8, 12, 16], [2, 6, 10, 14, 18]] * 2


@pytest.mark.parametrize("persistent", [True, False])
def test_the_start_of_another_epoch_is_timed_and_leaves_the_loader_running(persistent: bool) -> None:
    with flow_of(TEN, num_workers=2, persistent_workers=persistent) as flow:
        flow.start()
        before = {child.pid for child in psutil.Process().children()}
        seconds = flow.next_epoch_seconds()
        assert seconds is not None
        assert seconds > 0
        assert (before == {child.pid for child in psutil.Process().children()}) is persistent
        assert flow.take()[0].shape == (2,)


def test_workers_end_with_the_flow() -> None:
    others = set(multiprocessing.active_children())
    with flow_of(TEN, num_workers=2) as flow:
        flow.start()
        assert len(set(multiprocessing.active_children()) - others) == 2
    assert not set(multiprocessing.active_children()) - others


def test_an_item_that_raises_in_a_worker_is_a_data_error() -> None:
    class Broken(Locked):
        def __getitem__(self, index: int) -> int:
            raise FileNotFoundError(f"no image {index}")

    with pytest.raises(DataError) as raised, flow_of(Broken()) as flow:
        flow.start()
    assert isinstance(raised.value.__cause__, FileNotFoundError)


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_what_cannot_be_sent_to_a_worker_is_named_down_to_the_attribute(method: str) -> None:
    loader = DataLoader(Locked(), batch_size=2, num_workers=1, multiprocessing_context=method)
    with (
        pytest.raises(UnpicklableError, match="'lock' of the loader's dataset \\(Locked\\)") as raised,
        flow_of(loader) as flow,
    ):
        flow.start()
    assert "forked workers" in str(raised.value.hint)


def test_a_forked_worker_needs_no_pickling() -> None:
    assert taken(flow_of(Locked()), 1)[0].shape == (2,)


def test_a_worker_takes_nothing_apart_that_its_parent_has_dropped(tmp_path: Path) -> None:
    gc.disable()
    try:
        OfThisProcess(tmp_path)
        taken(flow_of(Collecting(), num_workers=2), 3)
        assert os.listdir(tmp_path) == []
    finally:
        gc.enable()
    gc.collect()
    assert os.listdir(tmp_path) == ["here"]


@pytest.mark.parametrize("collects", [True, False])
def test_the_collector_works_in_workers_and_here_as_it_did_before(collects: bool) -> None:
    class Asked(Locked):
        def __getitem__(self, index: int) -> int:
            return int(gc.isenabled())

    try:
        if not collects:
            gc.disable()
        (batch,) = taken(flow_of(Asked()), 1)
        assert gc.isenabled() is collects
    finally:
        gc.enable()
    assert batch.tolist() == [int(collects)] * 2


def test_a_batch_that_cannot_be_handed_over_is_an_error_and_not_a_wait_without_end() -> None:
    loader = DataLoader(Generators(), batch_size=2, collate_fn=lambda items: items)
    with pytest.raises(HandOverError, match="cannot pickle 'generator' object"), flow_of(loader) as flow:
        flow.start()


def test_a_worker_ends_even_if_nobody_listens_to_why_it_could_not_hand_over() -> None:
    loader = DataLoader(Generators(), batch_size=2, collate_fn=lambda items: items, timeout=60)
    source = loader_source(loader).endless(Settings(batch_size=2, num_workers=1), 0, None, "examples", None)
    source.faults._reader.close()
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        next(iter(source.loader))


def test_a_worker_that_ends_itself_is_told_by_its_exit_code() -> None:
    class Dies(Locked):
        def __getitem__(self, index: int) -> int:
            os._exit(7)

    with pytest.raises(WorkerEndedError, match="exited with code 7"), flow_of(Dies()) as flow:
        flow.start()


def test_a_users_dataset_cannot_be_asked_to_stop_halfway() -> None:
    with pytest.raises(UsageError, match="cannot stop at bytes"):
        dataset_source(TEN).endless(Settings(batch_size=2), 0, None, "bytes", None)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ("is killed by signal: Bus error. It is possible that", "end of shared memory"),
        ("is killed by signal: Killed. ", "ended by SIGKILL from outside"),
        ("is killed by signal: Segmentation fault. ", "ended by SIGSEGV"),
        ("exited unexpectedly with exit code 3. Details are lost", "exited with code 3"),
    ],
)
def test_a_worker_that_ends_while_others_are_started_is_explained_by_what_torch_says(told: str, message: str) -> None:
    ended = flow_of(TEN).explain(RuntimeError(f"DataLoader worker (pid 4321) {told}"))
    assert isinstance(ended, WorkerEndedError)
    assert message in str(ended)


def test_a_worker_that_ends_while_the_others_are_shut_down_hides_no_explanation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = RuntimeError("DataLoader worker (pid 4321) exited unexpectedly with exit code 3. Details are lost")
    flow, closed = flow_of(TEN), []

    def end_workers() -> None:
        closed.append(True)
        if len(closed) == 1:
            raise told

    monkeypatch.setattr(flow, "_end_workers", end_workers)
    monkeypatch.setattr(flow, "_processes", [None, None])
    monkeypatch.setattr(flow, "_ending", lambda code, wait_seconds: WorkerEndedError(f"code {code}", Outcome.CRASH))
    with pytest.raises(WorkerEndedError, match="code 3"), flow:
        raise told
    assert len(closed) == 2


def test_an_error_of_the_data_is_no_workers_end() -> None:
    assert flow_of(TEN).explain(RuntimeError("frame 7 is missing")) is None
