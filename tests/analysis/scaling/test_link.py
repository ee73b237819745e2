"""Latency and bandwidth from all-reduces, and the same link in a larger ring."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.scaling.studies import a_trial, concluded
from traindyno.analysis.scaling.link import fit_link, message_seconds, with_devices
from traindyno.core.scaling import Scaling

SIZES = (1 << 12, 1 << 16, 1 << 20, 1 << 23, 1 << 26)


def scaling_of(readings: dict[int, float]) -> Scaling:
    measurement = a_trial(exchanges=tuple(readings.items())).measurement
    assert measurement is not None
    assert measurement.scaling is not None
    return measurement.scaling


@settings(max_examples=40, deadline=None)
@given(st.floats(1e-6, 1e-2), st.floats(1e7, 1e12))
def test_planted_latency_and_bandwidth_are_found_again(latency: float, bandwidth: float) -> None:
    link = fit_link([scaling_of({size: latency + size / bandwidth for size in SIZES})])
    assert link is not None
    for size in SIZES:
        assert message_seconds(link, size) == pytest.approx(latency + size / bandwidth, rel=0.01)
    if latency > 0.1 * SIZES[0] / bandwidth:
        assert link.latency_seconds == pytest.approx(latency, rel=0.02)
    if SIZES[-1] / bandwidth > 0.1 * latency:
        assert link.bytes_per_second == pytest.approx(bandwidth, rel=0.02)


@pytest.mark.parametrize("devices", [2, 4, 8])
def test_a_ring_has_two_hops_per_further_device_and_passes_its_share_of_the_bytes(devices: int) -> None:
    answer = concluded("noise=0,latency=2e-4,bandwidth=5e9", devices=(1, devices), batches_per_device=(32,))
    assert answer.link is not None
    hops = 2 * (devices - 1)
    assert answer.link.latency_seconds == pytest.approx(hops * 2e-4, rel=0.01)
    assert answer.link.bytes_per_second == pytest.approx(5e9 * devices / hops, rel=0.01)


def test_one_reading_that_is_off_does_not_bend_the_line() -> None:
    readings = {size: 1e-4 + size / 1e9 for size in SIZES}
    link = fit_link([scaling_of({**readings, SIZES[2]: 2 * readings[SIZES[2]]})])
    assert link is not None
    assert link.latency_seconds == pytest.approx(1e-4, rel=0.05)
    assert link.bytes_per_second == pytest.approx(1e9, rel=0.05)
    assert link.error > 0.4


def test_a_larger_ring_is_slower_to_begin_with_and_hardly_slower_with_its_bytes() -> None:
    link = fit_link([scaling_of({size: 1e-4 + size / 1e9 for size in SIZES})])
    assert link is not None
    larger = with_devices(link, 16)
    assert larger.latency_seconds == pytest.approx(15 * link.latency_seconds)
    assert 0.5 * link.bytes_per_second < larger.bytes_per_second < 0.6 * link.bytes_per_second


def test_a_single_size_makes_no_line() -> None:
    assert fit_link([scaling_of({SIZES[0]: 1e-3})]) is None
