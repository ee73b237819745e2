from hypothesis import given
from hypothesis import strategies as st

from traindyno.core.machine import GpuSample
from traindyno.machine.throttling import clock_reasons


def test_no_bits_are_no_reasons() -> None:
    assert clock_reasons(0) == ()


def test_the_drivers_bits_are_put_into_words() -> None:
    assert clock_reasons(0x4 | 0x20) == ("power cap", "thermal software slowdown")
    assert clock_reasons(0x40 | 0x80) == ("thermal hardware slowdown", "hardware power brake")
    assert clock_reasons(0x10 | 0x100) == ("sync boost", "display clocks")


def test_a_bit_newer_than_the_list_is_named_by_its_number() -> None:
    assert clock_reasons(0x8000) == ("reason 0x8000",)


def test_resting_and_chosen_clocks_are_no_throttling() -> None:
    assert GpuSample(index=0, clock_reasons=clock_reasons(0x1 | 0x2)).throttle_reasons == ()
    assert GpuSample(index=0, clock_reasons=clock_reasons(0x2 | 0x4)).throttle_reasons == ("power cap",)


@given(st.integers(0, 2**40 - 1))
def test_every_bit_has_its_own_words(bits: int) -> None:
    reasons = clock_reasons(bits)
    assert len(reasons) == len(set(reasons)) == bits.bit_count()
