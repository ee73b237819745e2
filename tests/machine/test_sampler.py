from collections.abc import Collection
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from traindyno.core.events import CEILINGS, TrialProgress
from traindyno.core.machine import GpuFacts, GpuSample
from traindyno.core.records import Conditions
from traindyno.machine.gpu import NullReader
from traindyno.machine.replay import RecordedLine, ReplayReader
from traindyno.machine.sampler import FOREIGN_PROCESSES_EVERY_SAMPLES, Sampler


class CrowdReader(ReplayReader):
    """Shows a different number of foreign processes each time, and remembers what was asked."""

    def __init__(self, *crowds: int | None) -> None:
        super().__init__([RecordedLine(sample=GpuSample(index=0))])
        self.crowds = list(crowds)
        self.asked: list[Collection[int]] = []

    def foreign_processes(self, index: int, own_pids: Collection[int]) -> tuple[str, ...] | None:
        self.asked.append(own_pids)
        crowd = self.crowds.pop(0)
        return None if crowd is None else ("somebody",) * crowd


def run(reader: ReplayReader, ticks: int) -> Conditions:
    sampler = Sampler(reader, 0, interval_seconds=1.0, load_average=lambda: 0.5, settle_seconds=0.0)
    for second in range(ticks):
        sampler.tick(float(second))
    return sampler.conditions()


def test_a_recorded_run_is_summed_up_from_its_busy_moments(recording: Path) -> None:
    conditions = run(ReplayReader.from_file(recording), 6)
    assert conditions.samples == 6
    assert conditions.sm_clock_mhz == (1410, 1980)
    assert conditions.power_watts == (420.0, 699.1)
    assert conditions.temperature_celsius == (34, 88)
    assert conditions.throttle_reasons == ("power cap", "thermal software slowdown")
    assert conditions.foreign_processes == 0


def test_an_h200_under_load_is_summed_up_without_its_rest(h200: Path) -> None:
    conditions = run(ReplayReader.from_file(h200), 181)
    assert conditions.samples == 181
    assert conditions.sm_clock_mhz is not None
    assert conditions.sm_clock_mhz[1] == 1980
    assert conditions.sm_clock_mhz[0] > 345
    assert conditions.temperature_celsius == (35, 55)
    assert conditions.throttle_reasons == ()


def test_an_idle_gpu_was_not_throttled_and_its_clock_means_nothing(recording: Path) -> None:
    conditions = run(ReplayReader.from_file(recording), 1)
    assert conditions.samples == 1
    assert conditions.sm_clock_mhz is None
    assert conditions.throttle_reasons == ()
    assert conditions.temperature_celsius == (34, 34)


def test_reasons_seen_while_no_work_ran_do_not_count() -> None:
    resting = GpuSample(index=0, utilization_percent=0, clock_reasons=("power cap",))
    assert run(ReplayReader([RecordedLine(sample=resting)]), 2).throttle_reasons == ()


def test_an_unknown_load_counts_as_busy_unless_the_driver_says_idle() -> None:
    unknown = GpuSample(index=0, sm_clock_mhz=1500, clock_reasons=("power cap",))
    assert run(ReplayReader([RecordedLine(sample=unknown)]), 1).throttle_reasons == ("power cap",)
    idle = GpuSample(index=0, sm_clock_mhz=300, clock_reasons=("gpu idle", "power cap"))
    assert run(ReplayReader([RecordedLine(sample=idle)]), 1).throttle_reasons == ()


def test_ticks_between_samples_cost_nothing() -> None:
    reader = ReplayReader([RecordedLine(sample=GpuSample(index=0))])
    sampler = Sampler(reader, 0, interval_seconds=0.25, load_average=lambda: None, settle_seconds=0.0)
    for now in (10.0, 10.1, 10.2, 10.25, 10.3, 10.49, 10.5):
        sampler.tick(now)
    assert sampler.conditions().samples == 3


def test_without_a_gpu_only_the_load_is_known() -> None:
    loads = iter([0.5, 3.5, 1.5])
    sampler = Sampler(NullReader("no driver"), None, interval_seconds=1.0, load_average=lambda: next(loads))
    for second in range(3):
        sampler.tick(float(second))
    assert sampler.conditions() == Conditions(load_average=3.5)


def test_before_the_first_tick_everything_is_unknown() -> None:
    assert Sampler(NullReader("no driver"), 0).conditions() == Conditions()


def test_a_silent_gpu_leaves_everything_unknown() -> None:
    sampler = Sampler(NullReader("no driver"), 0, load_average=lambda: None)
    sampler.tick(0.0)
    assert sampler.conditions() == Conditions()


def test_the_largest_crowd_of_foreign_processes_is_kept() -> None:
    reader = CrowdReader(1, 3, None)
    assert run(reader, 2 * FOREIGN_PROCESSES_EVERY_SAMPLES + 1).foreign_processes == 3
    assert len(reader.asked) == 3


def test_own_processes_are_asked_for_anew_each_time() -> None:
    reader = CrowdReader(0, 0)
    pids = iter([(1,), (1, 2)])
    sampler = Sampler(reader, 0, interval_seconds=1.0, own_pids=lambda: next(pids), settle_seconds=0.0)
    for second in range(FOREIGN_PROCESSES_EVERY_SAMPLES + 1):
        sampler.tick(float(second))
    assert reader.asked == [(1,), (1, 2)]


@given(st.lists(st.integers(100, 2000) | st.none(), min_size=1, max_size=10))
def test_the_range_of_the_clock_spans_what_was_seen(clocks: list[int | None]) -> None:
    gpu = RecordedLine(gpu=GpuFacts(index=0, name="Test", uuid="GPU-1", memory_bytes=1))
    lines = [gpu, *(RecordedLine(sample=GpuSample(index=0, sm_clock_mhz=clock)) for clock in clocks)]
    known = [clock for clock in clocks if clock is not None]
    expected = (min(known), max(known)) if known else None
    assert run(ReplayReader(lines), len(clocks)).sm_clock_mhz == expected


def test_what_the_device_does_at_its_utmost_is_not_what_was_measured() -> None:
    measured = GpuSample(index=0, utilization_percent=100)
    capped = GpuSample(index=0, utilization_percent=100, clock_reasons=("power cap",))
    reader = ReplayReader([RecordedLine(sample=sample) for sample in (measured, capped)])
    sampler = Sampler(reader, 0, interval_seconds=1.0, load_average=lambda: None, settle_seconds=0.0)
    for now, phase in enumerate(("measure", CEILINGS, CEILINGS)):
        sampler.hear(TrialProgress(phase=phase, steps=0, seconds=0.0))
        sampler.tick(float(now))
    assert sampler.conditions().samples == 1
    assert sampler.conditions().throttle_reasons == ()
    sampler.hear(TrialProgress(phase="measure", steps=0, seconds=0.0))
    sampler.tick(9.0)
    assert sampler.conditions().throttle_reasons == ("power cap",)


def test_what_the_trial_before_left_behind_is_not_of_this_one() -> None:
    capped = GpuSample(index=0, utilization_percent=100, clock_reasons=("power cap",))
    calm = GpuSample(index=0, utilization_percent=100)
    reader = ReplayReader([RecordedLine(sample=sample) for sample in (capped, calm)])
    sampler = Sampler(reader, 0, load_average=lambda: 0.5)
    for tenth in range(10):
        sampler.tick(7.0 + tenth / 10)
    assert sampler.conditions() == Conditions(load_average=0.5)
    sampler.tick(8.2)
    assert sampler.conditions().throttle_reasons == ("power cap",)
