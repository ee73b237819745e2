import pytest

from search.fake_device import MIB, device_for, fit_template
from traindyno.core.records import TrialRecord
from traindyno.search.memory_forecast import forecast_memory
from traindyno.search.strategy import at_batch_size


def probes(*sizes: int, **options: object) -> list[TrialRecord]:
    device = device_for(1500, **options)
    return [device.run(at_batch_size(fit_template(), size)) for size in sizes]


def test_two_sizes_foretell_the_limit() -> None:
    forecast = forecast_memory(probes(16, 64))
    assert forecast is not None
    assert forecast.largest_batch() == forecast.largest_reserved_batch() == 1500


def test_one_size_foretells_nothing() -> None:
    assert forecast_memory(probes(16)) is None
    assert forecast_memory(probes(16, 64, reports_limit=False)) is None


def test_reserved_memory_lowers_the_forecast() -> None:
    forecast = forecast_memory(probes(16, 64, reserved=1.02))
    assert forecast is not None
    assert forecast.largest_reserved_batch() == 1500
    assert forecast.largest_batch() == pytest.approx(1530, abs=2)


def test_small_sizes_may_not_exaggerate_what_is_reserved() -> None:
    forecast = forecast_memory(probes(16, 64, reserved=1.3))
    assert forecast is not None
    assert forecast.largest_reserved_batch() == pytest.approx(1500 * 1.3 / 1.04, rel=0.01)


def test_near_neighbours_do_not_set_the_slope() -> None:
    """A jump of 5 % between 1400 and 1420 would read as nearly five times the slope."""

    def jump(size: int) -> int:
        return 70 * 80 * MIB if size > 1410 else 0

    forecast = forecast_memory(probes(16, 64, 1400, 1420, extra_bytes=jump))
    assert forecast is not None
    assert forecast.model.slope_bytes == pytest.approx(80 * MIB * 1.05, rel=0.01)


def test_a_failure_under_the_margin_lowers_the_limit() -> None:
    device = device_for(1500, reserved=1.05, reports_reserved=False)
    records = [device.run(at_batch_size(fit_template(), size)) for size in (16, 64)]
    before = forecast_memory(records)
    records.append(device.run(at_batch_size(fit_template(), 1460, margin=0.05, evaluate=True)))
    after = forecast_memory(records)
    assert before is not None
    assert after is not None
    assert after.largest_batch() == pytest.approx(1460 / 0.95, rel=0.01)
    assert after.largest_batch() < before.largest_batch()


def test_a_size_known_to_fail_bounds_a_share_of_the_limit() -> None:
    forecast = forecast_memory(probes(16, 64))
    assert forecast is not None
    assert forecast.largest_reserved_batch(0.5, below=800) == pytest.approx(400, abs=5)
