"""The event simulation against closed forms, and against what must hold whatever the parts are."""

import math
import statistics

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traindyno.analysis.cpu_sharing import cpu_level
from traindyno.analysis.loader_simulation import PipelineModel, simulate, simulate_epoch_end

SECONDS = st.floats(1e-4, 1.0)
WORKERS = st.integers(0, 12)
untimed = settings(deadline=None)


def pipeline(workers: int, load: float, step: float = 0.0, **parts: object) -> PipelineModel:
    return PipelineModel(num_workers=workers, load_seconds=load, step_seconds=step, **parts)  # type: ignore[arg-type]


def step_seconds(workers: int, load: float, step: float = 0.0, **parts: object) -> float:
    return simulate(pipeline(workers, load, step, **parts)).step_seconds


@pytest.mark.parametrize("workers", [1, 2, 5, 16])
def test_a_loader_that_is_too_slow_gives_a_batch_per_load_time_over_workers(workers: int) -> None:
    assert step_seconds(workers, load=1.0, step=0.01, cpus=64) == pytest.approx(1.0 / workers)


def test_a_loader_that_is_fast_enough_is_not_seen() -> None:
    assert step_seconds(4, load=0.1, step=0.05, asynchronous=True, cpus=16) == pytest.approx(0.05)


def test_without_workers_a_cpu_loads_and_steps_in_turn() -> None:
    assert step_seconds(0, load=0.03, step=0.05, cpus=8) == pytest.approx(0.08)


def test_without_workers_a_gpu_computes_while_the_main_process_loads() -> None:
    assert step_seconds(0, load=0.03, step=0.05, asynchronous=True) == pytest.approx(0.05)
    assert step_seconds(0, load=0.07, step=0.05, asynchronous=True) == pytest.approx(0.07)


@pytest.mark.parametrize("workers", [4, 7, 12])
def test_workers_beyond_the_cpus_share_them(workers: int) -> None:
    assert step_seconds(workers, load=1.0, cpus=3) == pytest.approx(1 / 3)


def test_workers_that_wait_for_their_disk_leave_their_cpu_to_others() -> None:
    assert step_seconds(4, load=1.0, load_cpu_share=0.5, cpus=2) == pytest.approx(1 / 4)
    assert step_seconds(8, load=1.0, load_cpu_share=0.5, cpus=2) == pytest.approx(1 / 4)
    assert step_seconds(8, load=1.0, load_cpu_share=0.0, cpus=1) == pytest.approx(1 / 8)


def test_a_step_on_the_cpu_and_its_loader_share_all_the_work_among_the_cpus() -> None:
    seconds = step_seconds(2, load=0.06, step=0.1, step_threads=2, cpus=2)
    assert seconds == pytest.approx((0.06 + 2 * 0.1) / 2, rel=0.01)


def test_a_step_whose_threads_wait_for_each_other_suffers_more_than_its_share() -> None:
    fluid, sensitive = (
        step_seconds(1, load=0.06, step=0.1, step_threads=2, cpus=2, step_sensitivity=power) for power in (1.0, 2.3)
    )
    assert sensitive > 1.1 * fluid


def test_handing_over_is_paid_by_the_main_process_one_batch_at_a_time() -> None:
    assert step_seconds(8, load=0.01, hand_off_seconds=0.02) == pytest.approx(0.02)
    assert step_seconds(8, load=0.01, step=0.05, hand_off_seconds=0.02) == pytest.approx(0.07)
    assert step_seconds(8, load=0.01, step=0.05, hand_off_seconds=0.02, asynchronous=True) == pytest.approx(0.05)


def test_a_thread_that_pins_takes_the_hand_over_from_the_main_process() -> None:
    parts = {"hand_off_seconds": 0.02, "asynchronous": True, "launch_seconds": 0.05}
    assert step_seconds(8, load=0.01, step=0.05, **parts) == pytest.approx(0.07)
    assert step_seconds(8, load=0.01, step=0.05, pin_seconds=0.01, **parts) == pytest.approx(0.05)
    assert step_seconds(8, load=0.01, step=0.05, pin_seconds=0.06, **parts) == pytest.approx(0.08)


def test_a_copy_costs_the_step_its_time_whether_waited_for_or_queued() -> None:
    parts = {"transfer_seconds": 0.01, "asynchronous": True}
    assert step_seconds(8, load=0.01, step=0.05, transfer="blocking", **parts) == pytest.approx(0.06)
    assert step_seconds(8, load=0.01, step=0.05, transfer="queued", **parts) == pytest.approx(0.06)


def test_a_step_that_is_launched_more_slowly_than_it_runs_takes_as_long_as_launching() -> None:
    assert step_seconds(4, load=0.01, step=0.02, asynchronous=True, launch_seconds=0.03) == pytest.approx(0.03)


def test_contention_slows_workers_down_by_how_many_are_busy() -> None:
    assert step_seconds(5, load=1.0, contention=0.1, cpus=16) == pytest.approx(1.4 / 5)


def test_a_straggler_is_waited_for_and_prefetching_further_helps_over_it() -> None:
    pattern = (*[0.8] * 15, 4.0)
    short, long = (
        step_seconds(4, load=0.18, step=0.05, load_pattern=pattern, prefetch_factor=ahead, asynchronous=True)
        for ahead in (2, 8)
    )
    even = step_seconds(4, load=0.18, step=0.05, asynchronous=True)
    assert short > 1.1 * even
    assert long < 0.95 * short


@untimed
@given(WORKERS, SECONDS, SECONDS, SECONDS, st.floats(1, 32), st.booleans())
def test_nothing_is_faster_than_its_slowest_part(
    workers: int, load: float, step: float, hand_off: float, cpus: float, asynchronous: bool
) -> None:
    seconds = step_seconds(
        workers, load, step, hand_off_seconds=hand_off, cpus=cpus, asynchronous=asynchronous, step_sensitivity=2.0
    )
    bounds = [step, load / max(1, workers), load / cpus, hand_off if workers else 0.0]
    assert seconds >= max(bounds) * (1 - 1e-6)


@untimed
@given(WORKERS, SECONDS, SECONDS, SECONDS, st.floats(1, 32), st.booleans())
def test_nothing_is_slower_than_doing_everything_in_turn_on_one_cpu(
    workers: int, load: float, step: float, hand_off: float, cpus: float, asynchronous: bool
) -> None:
    """Up to what workers do ahead while the clock runs: two batches in 64."""
    seconds = step_seconds(workers, load, step, hand_off_seconds=hand_off, cpus=cpus, asynchronous=asynchronous)
    assert seconds <= (load + step + hand_off) * 1.04


@untimed
@given(st.integers(1, 11), SECONDS, SECONDS, st.booleans())
def test_with_cpus_for_all_more_workers_are_never_slower(
    workers: int, load: float, step: float, asynchronous: bool
) -> None:
    fewer, more = (step_seconds(count, load, step, asynchronous=asynchronous) for count in (workers, workers + 1))
    assert more <= fewer * (1 + 1e-6)


@untimed
@given(WORKERS, SECONDS, SECONDS, st.floats(1, 16), st.floats(1.01, 3))
def test_whatever_takes_longer_makes_the_step_no_shorter(
    workers: int, load: float, step: float, cpus: float, factor: float
) -> None:
    """Up to what workers happen to be ahead when the clock starts and stops."""
    model = pipeline(workers, load, step, cpus=cpus, hand_off_seconds=0.001)
    seconds = simulate(model).step_seconds
    for changes in ({"load_seconds": load * factor}, {"step_seconds": step * factor}, {"hand_off_seconds": factor}):
        assert simulate(msgspec.structs.replace(model, **changes)).step_seconds >= seconds * 0.96


@untimed
@given(WORKERS, SECONDS, SECONDS, st.floats(0.01, 100))
def test_the_unit_of_time_does_not_matter(workers: int, load: float, step: float, factor: float) -> None:
    one, other = (step_seconds(workers, load * scale, step * scale, cpus=3) for scale in (1.0, factor))
    assert other == pytest.approx(one * factor, rel=1e-6)


@untimed
@given(st.integers(0, 40), st.floats(0, 1), st.floats(0, 40), st.floats(0.5, 64))
def test_cpus_are_handed_out_completely_and_never_twice(
    workers: int, share: float, threads: float, cpus: float
) -> None:
    level = cpu_level(workers, share, threads, cpus)
    used = workers * min(share, level) + threads * min(1.0, level)
    wanted = workers * share + threads
    assert used == pytest.approx(min(wanted, cpus), rel=1e-9, abs=1e-9)


def test_the_same_model_gives_the_same_forecast() -> None:
    model = pipeline(3, 0.2, 0.03, load_pattern=(0.5, 1.0, 1.5), cpus=2)
    assert simulate(model) == simulate(model)


def test_uneven_batches_cost_no_less_than_even_ones_of_the_same_mean() -> None:
    pattern = tuple(math.exp(0.4 * statistics.NormalDist().inv_cdf((rank + 0.5) / 24)) for rank in range(24))
    mean = statistics.fmean(pattern)
    uneven = step_seconds(4, 0.2, 0.045, load_pattern=tuple(value / mean for value in pattern), asynchronous=True)
    assert uneven >= step_seconds(4, 0.2, 0.045, asynchronous=True) * (1 - 1e-9)


@pytest.mark.parametrize(
    ("workers", "load", "step", "batches", "seconds"),
    [
        (4, 0.2, 0.01, 57, 0.171),
        (4, 0.2, 0.06, 57, 0.203),
        (8, 0.1, 0.05, 40, 0.098),
        (15, 0.3, 0.02, 57, 0.303),
        (1, 0.05, 0.05, 30, 0.052),
    ],
)
def test_the_end_of_an_epoch_costs_what_it_was_seen_to_cost_with_torch_s_own_loader(
    workers: int, load: float, step: float, batches: int, seconds: float
) -> None:
    """Examples that sleep, workers that persist: epochs beside a loader without end, each several times."""
    model = pipeline(workers, load, step, load_cpu_share=0.0)
    assert simulate_epoch_end(model, batches) == pytest.approx(seconds, rel=0.08)


def test_without_workers_an_epoch_just_goes_on() -> None:
    assert simulate_epoch_end(pipeline(0, 0.2, 0.1), 10) == 0.0


@pytest.mark.parametrize("load", [0.15, 0.35])
def test_a_device_that_is_waited_for_at_the_end_of_an_epoch_stands_still_for_the_first_batch(load: float) -> None:
    model = pipeline(4, load, 0.1, asynchronous=True, transfer="queued", cpus=16)
    assert simulate_epoch_end(model, 100) == pytest.approx(load, rel=0.01)


@untimed
@given(workers=WORKERS, load=SECONDS, step=SECONDS, batches=st.integers(1, 400))
def test_an_epoch_ends_within_the_time_of_its_longest_wait(
    workers: int, load: float, step: float, batches: int
) -> None:
    ends = simulate_epoch_end(pipeline(workers, load, step, load_cpu_share=0.0), batches)
    assert 0.0 <= ends <= load + step + 1e-9
