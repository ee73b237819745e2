"""From which batch on more devices pay."""

from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.scaling.studies import a_request, a_trial, concluded, one_device, said
from traindyno.analysis.scaling.conclude import conclude_scale
from traindyno.core.answers.scaling import BreakEven
from traindyno.core.records import TrialRecord

BATCHES = (32, 64, 128, 256)


def test_the_break_even_is_found_where_it_was_planted() -> None:
    one = [one_device(size, size * 1e-3) for size in BATCHES]
    # Half the work and 20 ms of communication: as fast as one device at a batch of 40.
    two = [a_trial(size, (size * 5e-4,) * 2, exposed=0.02) for size in BATCHES]
    answer = conclude_scale(a_request(), [*one, *two], seconds=1.0, simulated=False)
    assert answer.break_even == (BreakEven(devices=2, batch_size=64, slower_at=32, between=(32, 64)),)
    assert answer.break_even_batch == 64
    assert said(answer.verdicts, "Two devices are slower than one at batch 32 in all", "from batch 64 they pay")


def test_devices_that_never_pay_are_told_so() -> None:
    answer = concluded("bandwidth=1e8", global_batches=(32, 64))
    assert answer.break_even_batch is None
    assert said(answer.verdicts, "slower than one at batch 64", "pay at no batch measured")


def test_devices_that_always_pay_have_the_smallest_batch() -> None:
    answer = concluded("bandwidth=1e12", global_batches=(64, 128))
    assert answer.break_even[0] == BreakEven(devices=2, batch_size=64)
    assert said(answer.verdicts, "Two devices pay from batch 64", "the smallest batch measured")


def test_what_is_too_close_to_tell_is_neither_slower_nor_faster() -> None:
    factors = (1.0, 1.1)
    one = [one_device(64, 0.1 * factor, repeat) for repeat, factor in enumerate(factors)]
    two = [a_trial(64, (0.09 * each,) * 2, exposed=0.009, repeat=repeat) for repeat, each in enumerate(factors)]
    answer = conclude_scale(a_request(), [*one, *two], seconds=1.0, simulated=False)
    assert answer.break_even == (BreakEven(devices=2, batch_size=None, undecided_at=(64,)),)
    assert said(answer.verdicts, "Whether two devices are faster than one", "too close to tell", "--repeats")


def undecided(size: int) -> list[TrialRecord]:
    """One device and two that are as fast, each measured twice with a tenth between."""
    factors = (1.0, 1.1)
    one = [one_device(size, 0.1 * factor, repeat) for repeat, factor in enumerate(factors)]
    return [*one, *(a_trial(size, (0.09 * each,) * 2, exposed=0.009, repeat=n) for n, each in enumerate(factors))]


def test_a_batch_above_at_which_it_is_too_close_to_tell_takes_the_promise_for_larger_ones_away() -> None:
    paying = [one_device(64, 0.1), a_trial(64, (0.06, 0.06), exposed=0.02)]
    answer = conclude_scale(a_request(), [*paying, *undecided(128), *undecided(256)], seconds=1.0, simulated=False)
    assert answer.break_even == (BreakEven(devices=2, batch_size=64, undecided_at=(128, 256)),)
    assert said(answer.verdicts, "Two devices pay at batch 64 in all (1.25 times as fast as one)", "smallest batch")
    assert said(answer.verdicts, "at 128 and 256 it is too close to tell")
    assert not said(answer.verdicts, "from batch 64")


def test_the_same_holds_above_a_batch_at_which_they_are_slower() -> None:
    slower = [one_device(32, 0.05), a_trial(32, (0.03, 0.03), exposed=0.04)]
    paying = [one_device(64, 0.1), a_trial(64, (0.06, 0.06), exposed=0.02)]
    answer = conclude_scale(a_request(), [*slower, *paying, *undecided(128)], seconds=1.0, simulated=False)
    assert said(answer.verdicts, "slower than one at batch 32 in all", "at batch 64 they pay", "at 128 it is too close")
    assert not answer.break_even[0].holds_above


def test_the_break_even_of_the_most_devices_is_the_answer() -> None:
    answer = concluded("noise=0,latency=5e-4", devices=(1, 2, 4), global_batches=BATCHES)
    assert [each.devices for each in answer.break_even] == [2, 4]
    assert answer.break_even_batch == answer.break_even[-1].batch_size


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0, 5e-3), min_size=2, max_size=2), st.sampled_from([2, 4]))
def test_more_latency_never_lowers_the_break_even(latencies: list[float], devices: int) -> None:
    found = [
        concluded(
            f"noise=0,latency={latency}", devices=(1, devices), global_batches=BATCHES, repeats=1
        ).break_even_batch
        for latency in sorted(latencies)
    ]
    less, more = (inf if batch is None else batch for batch in found)
    assert less <= more


@pytest.mark.parametrize("bandwidth", [1e8, 1e9, 1e10, 1e11])
def test_the_bracket_holds_the_crossing_of_the_simulated_step(bandwidth: float) -> None:
    found = concluded(f"noise=0,bandwidth={bandwidth}", global_batches=BATCHES).break_even[0]
    if found.between is not None:
        assert found.between == (found.slower_at, found.batch_size)
        assert BATCHES.index(found.between[1]) == BATCHES.index(found.between[0]) + 1
