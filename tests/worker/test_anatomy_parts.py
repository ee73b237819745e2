"""The instruments, the counters and the ceilings on their own, where every number is known beforehand."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from traindyno.analysis.flow_pace import Pace
from traindyno.core.records import Block, Budget, Settings
from traindyno.worker.anatomy import ceilings, queueing
from traindyno.worker.anatomy.ceilings import bytes_per_second_ceiling, flops_per_second_ceiling
from traindyno.worker.anatomy.counting import MovedBytes, count_work
from traindyno.worker.anatomy.instruments import Instruments, MarkedWaits
from traindyno.worker.anatomy.phases import instrument_cost, phases_of
from traindyno.worker.anatomy.profiling import union_length
from traindyno.worker.anatomy.turns import Turns
from traindyno.worker.devices import CpuDevice
from worker.counted_device import SilentChannel

PLAIN = Settings(batch_size=4)


def clock_of(*times: float) -> Callable[[], float]:
    return iter(times).__next__


def test_a_phase_lasts_until_the_next_begins_and_may_come_more_than_once() -> None:
    instruments = Instruments(clock_of(0, 1, 3, 6, 10, 15, 21))
    for phase in ("load", "forward", "backward", "forward", "optimizer", "other"):
        instruments.mark(phase)  # type: ignore[arg-type]
    instruments.close()
    readings = instruments.read(steps=2)
    assert {phase: reading.seconds for phase, reading in readings.items()} == {
        "load": 0.5,
        "forward": (2 + 4) / 2,
        "backward": 1.5,
        "optimizer": 2.5,
        "other": 3.0,
    }


def test_a_block_does_not_remember_the_one_before() -> None:
    instruments = Instruments(clock_of(0, 1, 100, 102))
    for seconds in (1, 2):
        instruments.mark("forward")
        instruments.close()
        assert instruments.read(steps=1)["forward"].seconds == seconds


def test_a_transfer_begins_when_the_batch_is_there_and_only_where_it_is_asked_for() -> None:
    instruments, waits = Instruments(clock_of(*range(10))), MarkedWaits()
    take = waits.around(lambda: "batch")
    take()
    with waits.marking(instruments):
        assert take() == "batch"
    take()
    instruments.close()
    assert set(instruments.read(steps=1)) == {"transfer"}
    assert len(waits.take()) == 3


def test_phases_come_in_the_order_of_a_step_with_the_mean_of_all_blocks() -> None:
    """One block in three is held up: the middle one would know nothing of it."""
    blocks = []
    for seconds in (1.0, 1.0, 7.0):
        instruments = Instruments(clock_of(0, 1, 1 + seconds))
        instruments.mark("optimizer")
        instruments.mark("forward")
        instruments.close()
        blocks.append(instruments.read(steps=1))
    forward, optimizer = phases_of(blocks)
    assert (forward.phase, forward.seconds) == ("forward", 3.0)
    assert (optimizer.phase, optimizer.seconds) == ("optimizer", 1.0)


def test_a_phase_of_no_time_at_all_has_an_interval() -> None:
    instruments = Instruments(clock_of(0, 0, 1))
    instruments.mark("load")
    instruments.mark("forward")
    instruments.close()
    load, _ = phases_of([instruments.read(steps=1)] * 2)
    assert load.ci95[1] < 1e-8


def test_the_cost_of_instruments_is_found_pair_by_pair_whatever_drifts() -> None:
    plain = [Block(steps=2, seconds=2.0 * drift) for drift in range(1, 9)]
    instrumented = [Block(steps=2, seconds=2.02 * drift) for drift in range(1, 9)]
    cost, (low, high) = instrument_cost(plain, instrumented)
    assert cost == pytest.approx(0.01)
    assert (low, high) == pytest.approx((0.01, 0.01))


class Endless:
    def left(self) -> float:
        return float("inf")

    def renew(self) -> None:
        raise AssertionError


class Narrow(Endless):
    """Data that must be begun anew after every few batches."""

    def __init__(self) -> None:
        self.taken, self.renewed = 0, 0

    def left(self) -> float:
        return 7 - self.taken

    def renew(self) -> None:
        self.taken, self.renewed = 0, self.renewed + 1


def test_blocks_with_instruments_and_without_take_turns_in_changing_order() -> None:
    calls: list[str] = []
    instruments = Instruments()

    def instrumented() -> None:
        instruments.mark("forward")
        calls.append("i")

    turns = Turns(
        lambda: calls.append("p"),
        instrumented,
        instruments,
        Endless(),
        MarkedWaits(),
        Pace(discarded=4, turn=1, measured=1),
        CpuDevice(),
        SilentChannel(),
    )
    told = turns.run(Budget(seconds=0.01, relative_interval=100))
    steps = told.timing.blocks[0].steps
    blocks = "".join(calls[4 + steps :: steps])
    assert len(blocks) == 2 * len(turns.instrumented_blocks) == 2 * len(turns.readings) == 2 * len(told.timing.blocks)
    assert blocks == ("piip" * len(blocks))[: len(blocks)]


def test_data_that_ends_is_begun_anew_within_either_turn() -> None:
    supply, instruments = Narrow(), Instruments()

    def step() -> None:
        supply.taken += 1
        assert supply.taken <= 7

    turns = Turns(
        step,
        step,
        instruments,
        supply,
        MarkedWaits(),
        Pace(discarded=2, turn=1, measured=1),
        CpuDevice(),
        SilentChannel(),
    )
    turns.run(Budget(seconds=0.0, relative_interval=100))
    assert supply.renewed > 0


def moved(work: Callable[[], object]) -> int:
    with MovedBytes() as counter:
        work()
    return counter.bytes


A, B = torch.ones(8, 16), torch.ones(8, 16)
SIZE = A.nbytes


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        (lambda: A + B, 3 * SIZE),
        (lambda: A + 1, 2 * SIZE),
        (lambda: A.clone().mul_(2), 4 * SIZE),
        (lambda: torch.empty_like(A), 0),
        (lambda: torch.zeros_like(A), SIZE),
        (lambda: A.clone().copy_(B), 4 * SIZE),
        (lambda: A.sum(), SIZE + 4),
        (lambda: A[:1].expand(8, 16) + B, SIZE // 8 + 2 * SIZE),
        (lambda: torch._foreach_add_([A.clone()], [B]), 5 * SIZE),
        (lambda: A.t().contiguous(), 2 * SIZE),
    ],
)
def test_an_operation_moves_what_it_reads_and_what_it_writes(work: Callable[[], object], expected: int) -> None:
    assert moved(work) == expected


@pytest.mark.parametrize(
    "view", [lambda: A.view(16, 8), lambda: A.t(), lambda: A[2:], lambda: A.detach(), lambda: A.expand(3, 8, 16)]
)
def test_views_move_nothing(view: Callable[[], object]) -> None:
    assert moved(view) == 0
    with torch.inference_mode():
        assert moved(view) == 0


def linear_step(compiled: bool = False) -> Callable[[], Any]:
    model, inputs = nn.Linear(16, 3, bias=False), torch.ones(8, 16, requires_grad=True)
    if compiled:
        model.compile(backend="eager")

    def step() -> None:
        model(inputs).sum().backward()

    return step


def test_forward_and_both_gradients_of_a_linear_layer_are_three_products() -> None:
    work = count_work(linear_step(), PLAIN)
    assert work.flops_per_step == 3 * 2 * 8 * 16 * 3
    assert work.uncounted_because is None


@pytest.mark.parametrize(
    "layer",
    [
        nn.Conv2d(8, 16, 3),
        nn.Conv2d(8, 16, 3, stride=2, padding=1, groups=4),
        nn.Conv2d(8, 8, 3, groups=8),
        nn.ConvTranspose2d(8, 16, 3, groups=2),
    ],
    ids=str,
)
def test_both_gradients_of_a_convolution_are_as_many_products_as_itself_whatever_its_groups(layer: nn.Module) -> None:
    images = torch.ones(2, 8, 10, 10, requires_grad=True)

    def step() -> None:
        layer(images).sum().backward()

    with torch.no_grad():
        forward = count_work(lambda: layer(images), Settings(batch_size=2)).flops_per_step
    assert forward is not None
    assert count_work(step, Settings(batch_size=2)).flops_per_step == 3 * forward


def test_a_compiled_step_is_counted_as_if_it_were_not_but_what_it_moves_is_not_known() -> None:
    step = linear_step(compiled=True)
    step()
    work = count_work(step, Settings(batch_size=4, compile="default"))
    assert work.flops_per_step == 3 * 2 * 8 * 16 * 3
    assert work.bytes_per_step is None
    assert work.uncounted_because is not None
    assert "compiler" in work.uncounted_because


def test_attention_is_counted_in_inference_too() -> None:
    model, inputs = nn.MultiheadAttention(8, 2, batch_first=True).eval(), torch.ones(4, 5, 8)

    def step() -> None:
        with torch.inference_mode():
            model(inputs, inputs, inputs)

    projections, products = 4 * 2 * (4 * 5) * 8 * 8, 2 * 2 * 4 * 5 * 5 * 8
    assert count_work(step, PLAIN).flops_per_step == projections + products
    assert torch.backends.mha.get_fastpath_enabled()


def test_a_step_without_any_product_is_not_counted_as_none() -> None:
    work = count_work(lambda: A + B, PLAIN)
    assert work.flops_per_step is None
    assert work.bytes_per_step == 3 * SIZE
    assert work.uncounted_because is not None


@pytest.mark.parametrize("kind", [RuntimeError, AttributeError, ValueError, AssertionError])
def test_a_step_that_cannot_be_followed_says_why(kind: type[Exception]) -> None:
    def step() -> None:
        raise kind("no dispatch here\nand a long story")

    assert count_work(step, PLAIN).uncounted_because == (
        f"torch's counter could not follow the step: {kind.__name__}: no dispatch here"
    )


@pytest.mark.parametrize("waits", [True, False])
def test_a_step_is_queued_once_it_has_compiled_and_recorded(monkeypatch: pytest.MonkeyPatch, waits: bool) -> None:
    steps: list[int] = []

    def waits_for_device(step: Callable[[], None]) -> bool:
        assert len(steps) >= 3
        step()
        return waits

    monkeypatch.setattr(queueing, "_waits_for_device", waits_for_device)
    told: list[int] = [0]
    seconds = queueing.queue_seconds(lambda: steps.append(1), CpuDevice(), lambda: told.append(len(steps)))
    assert (seconds is None) == waits
    assert all(after - before <= 1 for before, after in pairwise([*told, len(steps)]))


class SlowDevice(CpuDevice):
    """A step is queued in 20 ms, and waited for as long as it takes."""

    def __init__(self, step_seconds: float) -> None:
        super().__init__()
        self.now, self._step_seconds, self.steps, self._done = 0.0, step_seconds, 0, 0.0

    def perf_counter(self) -> float:
        return self.now

    def step(self) -> None:
        self.steps += 1
        self.now += 0.02
        self._done = max(self._done, self.now) + self._step_seconds

    def synchronize(self) -> None:
        self.now = max(self.now, self._done)


@pytest.mark.parametrize(("step_seconds", "repeats"), [(0.05, 10), (0.66, 3), (0.2, 5), (5.0, 3)])
def test_a_slow_step_is_queued_fewer_times(step_seconds: float, repeats: int, monkeypatch: pytest.MonkeyPatch) -> None:
    device = SlowDevice(step_seconds)
    monkeypatch.setattr(queueing, "time", device)
    monkeypatch.setattr(queueing, "_waits_for_device", lambda step: False)
    assert queueing.queue_seconds(device.step, device, lambda: None) == pytest.approx(0.02)
    assert device.steps - queueing.STEPS_BEFORE == repeats


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ceilings, "SIZES", {"cpu": (16, 32)})
    monkeypatch.setattr(ceilings, "COPY_BYTES", {"cpu": 1 << 20})
    monkeypatch.setattr(ceilings, "LEAST_COPY_BYTES", 1 << 10)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_there_is_a_ceiling_in_every_precision(precision: Any) -> None:
    before = torch.backends.cuda.matmul.allow_tf32
    assert (flops_per_second_ceiling(Settings(batch_size=4, precision=precision), CpuDevice()) or 0) > 0
    assert (bytes_per_second_ceiling(CpuDevice()) or 0) > 0
    assert torch.backends.cuda.matmul.allow_tf32 == before


@pytest.fixture
def newer_names() -> Iterator[None]:
    """As a user's file may leave the flags: by their newer names, after which torch refuses to read the older ones."""
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    with pytest.raises(RuntimeError):
        print(torch.backends.cuda.matmul.allow_tf32)
    yield
    torch.backends.cuda.matmul.allow_tf32 = False


@pytest.mark.usefixtures("small", "newer_names")
@pytest.mark.parametrize("tf32", ["none", "convolutions"])
def test_there_is_a_ceiling_after_the_newer_names_of_flags_were_used(tf32: Any) -> None:
    assert (flops_per_second_ceiling(Settings(batch_size=4, tf32=tf32), CpuDevice()) or 0) > 0
    assert torch.backends.cuda.matmul.fp32_precision == "tf32"


@pytest.mark.usefixtures("small")
def test_without_room_there_is_no_ceiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ceilings, "_room", lambda device: 100)
    assert flops_per_second_ceiling(PLAIN, CpuDevice()) is None
    assert bytes_per_second_ceiling(CpuDevice()) is None


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)).map(lambda span: (span[0], span[0] + span[1]))))
def test_what_overlaps_counts_once(spans: list[tuple[int, int]]) -> None:
    covered = {moment for start, end in spans for moment in range(start, end)}
    assert union_length(spans) == len(covered)
