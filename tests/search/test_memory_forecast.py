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
    assert forecast.largest_batch() == 1500


def test_one_size_foretells_nothing() -> None:
    assert forecast_memory(probes(16)) is None
    assert forecast_memory(probes(16, 64, reports_limit=False)) is None


def test_a_share_of_memory_holds_a_smaller_batch() -> None:
    forecast = forecast_memory(probes(16, 64))
    assert forecast is not None
    assert forecast.largest_batch(0.5) == pytest.approx(750, abs=5)


def test_what_small_sizes_reserve_does_not_lower_the_forecast() -> None:
    forecast = forecast_memory(probes(16, 64, reported_reserved=1.2))
    assert forecast is not None
    assert forecast.largest_batch() == 1500


def test_near_neighbours_do_not_set_the_slope() -> None:
    """A jump of 5 % between 1400 and 1420 would read as nearly five times the slope."""

    def jump(size: int) -> int:
        return 70 * 80 * MIB if size > 1410 else 0

    forecast = forecast_memory(probes(16, 64, 1400, 1420, extra_bytes=jump))
    assert forecast is not None
    assert forecast.model.slope_bytes == pytest.approx(80 * MIB * 1.05, rel=0.01)
