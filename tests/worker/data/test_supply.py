"""What trials take their batches from: passes of cold data, and batches kept in memory."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from traindyno.analysis.flow_pace import pace_of
from traindyno.core.loading import Feed
from traindyno.core.records import Settings, TrialSpec, WorkloadSpec
from traindyno.worker.batches import FunctionSource, ImageSource, host_bytes
from traindyno.worker.classify import failure_of
from traindyno.worker.data import supply as supplies
from traindyno.worker.data.pipeline_source import PipelineSource
from traindyno.worker.data.placed import PlacedSupply
from traindyno.worker.data.stopwatch import Stopwatch
from traindyno.worker.data.supply import CachedSupply, LoaderSupply, cached_batches, host_batches
from traindyno.worker.data.warmth import Warmth
from traindyno.worker.errors import LargerThanDataError
from worker.data.known_data import KnownExamples, KnownStream


def supply_of(examples: int, feed: Feed, stream: bool = False, **knobs: Any) -> LoaderSupply:
    settings = Settings(**{"batch_size": 1, "num_workers": 2, **knobs})
    spec = TrialSpec(kind="feed", workload=WorkloadSpec(model=""), settings=settings, feed=feed)
    data = KnownStream(count=examples, buffer_examples=4) if stream else KnownExamples(count=examples)
    return LoaderSupply(PipelineSource(data, 16, "train"), spec, None, lambda: None)


def tensors(batch: Any) -> Iterator[torch.Tensor]:
    packed = batch.inputs
    yield packed if isinstance(packed, torch.Tensor) else packed.content
    yield batch.labels


def test_a_cold_pass_has_a_turn_of_the_workers_left_after_what_is_discarded() -> None:
    pace = pace_of(Settings(batch_size=1, num_workers=2))
    with supply_of(15, Feed(cold=True)) as supply:
        supply.start()
        for _ in range(pace.discarded):
            supply.take()
        assert supply.left() == pace.turn


def test_data_too_short_for_a_cold_pass_is_refused_with_what_it_needs() -> None:
    with pytest.raises(LargerThanDataError, match="needs 15 examples, and the data has 14") as raised:
        supply_of(14, Feed(cold=True))
    assert "fewer workers" in str(raised.value.hint)
    assert failure_of(raised.value, None, "data").details["code"] == "larger_than_data"
    supply_of(14, Feed()).flow.close()


def test_what_shuffle_buffers_read_before_the_first_batch_is_not_cold_any_more() -> None:
    with pytest.raises(LargerThanDataError, match="needs 23 examples, and the data has 22"):
        supply_of(22, Feed(cold=True), stream=True)
    supply_of(23, Feed(cold=True), stream=True).flow.close()


def test_every_cold_pass_must_have_been_cold(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first pass is, the second finds half of the data in memory, the third does not."""
    passes = iter([Warmth(0.01), Warmth(0.5, ("half was still there",)), Warmth(0.02, ("half was still there", "x"))])
    monkeypatch.setattr(PipelineSource, "cold", lambda _: next(passes))
    with supply_of(15, Feed(cold=True)) as supply:
        supply.start()
        assert supply.warmth == Warmth(0.01)
        supply.renew()
        supply.renew()
        assert supply.warmth == Warmth(0.5, ("half was still there", "x"))


def test_a_cold_pass_that_cannot_tell_leaves_unknown_what_was_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    passes = iter([Warmth(0.0), Warmth(None, ("not verified",)), Warmth(0.0)])
    monkeypatch.setattr(PipelineSource, "cold", lambda _: next(passes))
    with supply_of(15, Feed(cold=True)) as supply:
        supply.start()
        supply.renew()
        supply.renew()
        assert supply.warmth == Warmth(None, ("not verified",))


@pytest.mark.parametrize("decoder", ["pil", "nvjpeg"])
def test_cached_batches_are_memory_of_their_own_and_more_than_a_processor_caches(
    decoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supplies, "LEAST_CACHED_BYTES", 100_000)
    with supply_of(12, Feed(supply="cached"), batch_size=4, decoder=decoder) as supply:
        batches = cached_batches(supply, pinned=False)
    parts = [part for batch in batches for part in tensors(batch)]
    assert sum(map(host_bytes, batches)) >= 100_000
    assert len({part.data_ptr() for part in parts}) == len(parts)
    assert not any(part.is_shared() for part in parts)


def test_large_batches_are_not_copied_and_tiny_ones_not_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supplies, "MOST_COPIES", 5)
    with supply_of(12, Feed(supply="cached"), batch_size=4) as supply:
        assert len(cached_batches(supply, pinned=False)) == supplies.DIFFERENT_BATCHES + 5
    monkeypatch.setattr(supplies, "LEAST_CACHED_BYTES", 1)
    monkeypatch.setattr(supplies, "MOST_CACHED_BYTES", 1)
    with supply_of(12, Feed(supply="cached"), batch_size=4) as supply:
        assert len(cached_batches(supply, pinned=False)) == 2


def test_batches_without_a_tensor_are_not_copied() -> None:
    spec = TrialSpec(kind="anatomy", workload=WorkloadSpec(model=""), settings=Settings(batch_size=4))
    source = FunctionSource(lambda size: ["text"] * size)
    assert len(host_batches(source, spec, None, lambda: None)) == supplies.DIFFERENT_BATCHES


def made_up(source: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setattr(supplies, "LEAST_CACHED_BYTES", 1)
    spec = TrialSpec(kind="anatomy", workload=WorkloadSpec(model=""), settings=Settings(batch_size=4), seed=3)
    return host_batches(source, spec, None, lambda: None)


def test_where_there_is_nothing_to_load_batches_are_made_up_in_host_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = made_up(ImageSource((3, 8, 8), classes=5), monkeypatch)
    assert len(batches) == supplies.DIFFERENT_BATCHES
    assert all(images.shape == (4, 3, 8, 8) and images.device.type == "cpu" for images, _ in batches)
    assert not torch.equal(batches[0][0], batches[1][0])
    again = made_up(ImageSource((3, 8, 8), classes=5), monkeypatch)
    assert torch.equal(batches[0][0], again[0][0])


def test_made_up_batches_are_placed_as_they_are_and_waits_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    source, waits = FunctionSource(lambda size: {"tokens": torch.arange(size)}), Stopwatch()
    supply = CachedSupply(made_up(source, monkeypatch))
    with PlacedSupply(supply, source, Settings(batch_size=4), torch.device("cpu"), waits) as placed:
        assert placed.next()["tokens"].tolist() == [0, 1, 2, 3]
    assert len(waits.take()) == 1


class Counting:
    """Batches of one number each, and how many there still are."""

    def __init__(self, count: int) -> None:
        self.taken, self.count, self.now = 0, count, 0.0

    def take(self) -> torch.Tensor:
        self.taken += 1
        self.now += 1.0
        return torch.full((1,), self.taken)

    def left(self) -> float:
        return self.count - self.taken

    def renew(self) -> None:
        self.taken = 0


# A device that is not this processor, and that this processor has.
ELSEWHERE = torch.device("meta")


def placed_from(supply: Counting, device: torch.device, waits: Stopwatch, **knobs: Any) -> PlacedSupply:
    source = FunctionSource(lambda size: torch.zeros(size))
    return PlacedSupply(supply, source, Settings(batch_size=1, **knobs), device, waits)


def test_a_batch_that_was_loaded_ahead_comes_next_and_its_wait_is_noted_once() -> None:
    supply = Counting(3)
    waits = Stopwatch(lambda: supply.now)
    with placed_from(supply, ELSEWHERE, waits) as placed:
        placed.load_ahead()
        placed.load_ahead()
        assert (supply.taken, placed.left()) == (1, 3)
        placed.next()
        assert (supply.taken, placed.left(), waits.take()) == (1, 2, (1.0,))
        placed.next()
        assert waits.take() == (1.0,)
        placed.load_ahead()
        placed.next()
        placed.load_ahead()
        assert (supply.taken, placed.left()) == (3, 0), "beyond the end nothing is loaded ahead"


def test_what_was_loaded_ahead_is_gone_when_the_data_begin_anew() -> None:
    supply = Counting(3)
    with placed_from(supply, ELSEWHERE, Stopwatch()) as placed:
        placed.load_ahead()
        placed.renew()
        assert placed.left() == 3


@pytest.mark.parametrize(
    ("device", "knobs"),
    [(torch.device("cpu"), {}), (ELSEWHERE, {"num_workers": 1}), (ELSEWHERE, {"decoder": "nvjpeg"})],
)
def test_nothing_is_loaded_ahead_where_others_load_or_nothing_computes_meanwhile(
    device: torch.device, knobs: dict[str, Any]
) -> None:
    supply = Counting(3)
    with placed_from(supply, device, Stopwatch(), **knobs) as placed:
        placed.load_ahead()
        assert supply.taken == 0
