import math

import msgspec
import pytest

from analysis.making import failed, ran
from traindyno.analysis.curve import build_curve, failures_besides_memory, out_of_memory_from, step_interval
from traindyno.core.outcomes import Outcome


def test_a_point_covers_all_processes_of_its_size() -> None:
    records = [ran(64, 0.10), ran(8, 0.05), ran(64, 0.102, repeat=1), ran(64, 0.101, repeat=2)]
    small, large = build_curve(records)
    assert (small.batch_size, small.processes) == (8, 1)
    assert (large.batch_size, large.processes) == (64, 3)
    assert large.step_seconds == pytest.approx(0.101)
    assert large.examples_per_second == pytest.approx(64 / large.step_seconds)
    assert large.ci95[0] < 64 / 0.102 < 64 / 0.1 < large.ci95[1]


def test_the_interval_of_the_step_is_that_of_the_rate_turned_round() -> None:
    (point,) = build_curve([ran(64, 0.10, half_width=0.01)])
    assert step_interval(point) == pytest.approx((0.099, 0.101))


def test_only_speed_trials_that_ran_make_points() -> None:
    records = [ran(8), ran(16, kind="fit"), failed(32), ran(64, kind="train")]
    assert [point.batch_size for point in build_curve(records)] == [8]


def test_peak_memory_is_the_highest_and_its_share_is_of_the_limit() -> None:
    records = [ran(8, peak_bytes=50, limit_bytes=200), ran(8, peak_bytes=60, limit_bytes=200, repeat=1)]
    (point,) = build_curve(records)
    assert point.peak_memory_bytes == 60
    assert point.memory_share == pytest.approx(0.3)
    assert build_curve([ran(8, limit_bytes=None)])[0].memory_share is None


def test_the_evaluation_step_is_the_median_of_those_measured() -> None:
    times = (0.1, 0.3, 0.2, None)
    records = [ran(8, repeat=index, evaluation_step_seconds=time) for index, time in enumerate(times)]
    assert build_curve(records)[0].evaluation_step_seconds == 0.2
    assert build_curve([ran(8)])[0].evaluation_step_seconds is None


def test_one_unsteady_process_makes_the_point_unsteady() -> None:
    (point,) = build_curve([ran(8), ran(8, repeat=1, steady=False)])
    assert not point.steady
    assert point.marks == ("not steady",)


def test_marks_name_what_is_wrong() -> None:
    records = [
        ran(8, 0.1, half_width=0.1, throttle_reasons=("thermal", "power cap"), retries=2),
    ]
    assert build_curve(records)[0].marks == ("throttled: thermal", "noisy", "allocator retries")


def test_running_at_the_power_limit_is_no_mark() -> None:
    assert build_curve([ran(8, throttle_reasons=("power cap",))])[0].marks == ()


def test_a_clean_point_has_no_marks() -> None:
    assert build_curve([ran(8, retries=None)])[0].marks == ()


def test_processes_far_apart_are_noisy_however_precise_each_is() -> None:
    (point,) = build_curve([ran(8, time, repeat=index) for index, time in enumerate((0.1, 0.11, 0.12))])
    assert "noisy" in point.marks


def test_a_process_with_a_single_block_has_an_unbounded_interval() -> None:
    record = ran(8, 0.1)
    assert record.measurement is not None
    alone = msgspec.structs.replace(
        record, measurement=msgspec.structs.replace(record.measurement, ci95=(0.0, math.inf))
    )
    (point,) = build_curve([alone])
    assert point.ci95 == (0.0, math.inf)
    assert step_interval(point) == (0.0, math.inf)
    assert point.marks == ("noisy",)


def test_memory_ends_at_the_smallest_size_that_ran_out_of_it() -> None:
    records = [ran(8), failed(64), failed(32), failed(16, Outcome.CRASH), failed(8, kind="fit")]
    assert out_of_memory_from(records) == 32
    assert out_of_memory_from([ran(8)]) is None


def test_other_failures_are_listed_apart() -> None:
    records = [
        failed(64),
        failed(16, Outcome.CRASH),
        failed(32, Outcome.INTERRUPTED),
        failed(1, Outcome.USER_ERROR, code="batch_norm_single_value"),
    ]
    assert failures_besides_memory(records) == {16: Outcome.CRASH}
