"""What fewer devices foretell for more."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.scaling.studies import a_request, a_trial, concluded, one_device, row_of, said
from traindyno.analysis.scaling.conclude import conclude_scale


@settings(max_examples=15, deadline=None)
@given(st.floats(0, 1e-3), st.floats(1e9, 1e12), st.floats(0, 1))
def test_the_range_holds_what_more_of_the_simulated_devices_do(
    latency: float, bandwidth: float, overlap: float
) -> None:
    profile = f"noise=0,latency={latency},bandwidth={bandwidth},overlap={overlap}"
    fields = {"batches_per_device": (64,), "repeats": 1}
    predicted = concluded(profile, devices=(1, 2), **fields).predicted
    real = concluded(profile, devices=(1, 4, 8, 16), **fields)
    assert [each.devices for each in predicted] == [4, 8, 16]
    for each in predicted:
        low, high = each.efficiency_range
        measured = row_of(real, each.devices, 64).efficiency
        assert measured is not None
        assert low * 0.999 <= measured <= high * 1.001
        assert low <= each.efficiency <= high


def test_rows_are_foretold_from_fewer_devices_and_never_from_themselves() -> None:
    answer = concluded("noise=0", devices=(1, 2, 4), batches_per_device=(64,))
    assert row_of(answer, 1, 64).foretold_efficiency is None
    assert row_of(answer, 2, 64).foretold_efficiency is None
    assert row_of(answer, 4, 64).foretold_efficiency == pytest.approx(row_of(answer, 4, 64).efficiency, rel=0.01)
    assert not said(answer.verdicts, "foretold")


def test_a_prediction_that_misses_is_a_finding() -> None:
    one, two = one_device(64, 0.1), a_trial(128, exposed=0.002, exchange=0.003)
    slow = a_trial(256, (0.1,) * 4, exposed=0.08, exchange=0.09)
    answer = conclude_scale(a_request(devices=(1, 2, 4)), [one, two, slow], seconds=1.0, simulated=False)
    assert said(answer.verdicts, "foretold", "four devices with 64 each", "56 % was measured")


def test_every_batch_asked_for_is_predicted_and_of_shared_batches_the_largest() -> None:
    weak = concluded("", batches_per_device=(32, 64))
    assert [(each.devices, each.batch_per_device) for each in weak.predicted] == [
        (devices, batch) for batch in (32, 64) for devices in (4, 8, 16)
    ]
    strong = concluded("", global_batches=(64, 128, 256))
    assert {each.batch_per_device for each in strong.predicted} == {128}


def test_without_one_device_at_that_batch_the_missing_measurement_is_named() -> None:
    answer = concluded("", global_batches=(64,))
    assert answer.predicted == ()
    assert said(answer.verdicts, "Nothing is predicted", "--batch-per-device 32")


def test_more_devices_are_never_predicted_to_be_more_efficient() -> None:
    predicted = concluded("", devices=(1, 2), batches_per_device=(64,)).predicted
    efficiencies = [each.efficiency for each in predicted]
    assert efficiencies == sorted(efficiencies, reverse=True)
    assert predicted[0].efficiency_range[0] > predicted[-1].efficiency_range[0]


def test_no_more_is_hidden_than_two_thirds_of_the_step() -> None:
    slow_to_begin = ((4096, 5e-3), (1 << 20, 5.01e-3), (1 << 26, 5.64e-3))
    records = [one_device(64, 0.1), a_trial(128, exposed=0.0, exchange=0.01, exchanges=slow_to_begin)]
    answer = conclude_scale(a_request(), records, seconds=1.0, simulated=False)
    of_16 = answer.predicted[-1]
    assert of_16.exchange_seconds == pytest.approx(0.15, rel=0.02)
    assert of_16.efficiency_range[1] == pytest.approx(0.1 / (0.1 + 0.15 - 0.1 * 2 / 3), rel=0.02)
    assert of_16.efficiency_range[0] == pytest.approx(0.1 / (0.1 + 0.14), rel=0.02)


def test_what_was_measured_roughly_is_predicted_roughly() -> None:
    apart = [one_device(64, 0.1 * step, repeat=repeat) for repeat, step in enumerate((0.9, 1.0, 1.1))]
    both = [a_trial(128, (0.1, 0.1), repeat=repeat) for repeat in range(3)]
    answer = conclude_scale(a_request(batches_per_device=(64,)), [*apart, *both], seconds=1.0, simulated=False)
    low, high = answer.predicted[0].efficiency_range
    assert high / low > 1.3
