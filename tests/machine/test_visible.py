import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.machine.visible import visible_devices

UUIDS = ("GPU-aa11", "GPU-aa22", "GPU-bb33", "GPU-cc44")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, (0, 1, 2, 3)),
        ("", ()),
        ("-1", ()),
        ("NoDevFiles", ()),
        ("2", (2,)),
        ("3, 1", (3, 1)),
        ("1,7,0", (1,)),
        ("1,-1,0", (1,)),
        ("1,1", ()),
        ("GPU-bb33,GPU-aa11", (2, 0)),
        ("GPU-b", (2,)),
        ("GPU-aa", ()),
        ("0,GPU-aa11", ()),
        ("MIG-5f2a", ("MIG-5f2a",)),
    ],
)
def test_cuda_visible_devices_means_what_it_means_to_cuda(value: str | None, expected: tuple[int | str, ...]) -> None:
    assert visible_devices(value, UUIDS) == expected


@given(st.permutations(range(4)), st.integers(0, 4), st.booleans())
def test_any_choice_is_shown_in_its_order(order: list[int], count: int, by_uuid: bool) -> None:
    chosen = order[:count]
    value = ",".join(UUIDS[index] if by_uuid else str(index) for index in chosen)
    assert visible_devices(value, UUIDS) == tuple(chosen)


@given(st.text(alphabet="01239,-GPUMIa ", max_size=20))
def test_no_text_shows_a_gpu_twice_or_one_that_is_not_there(value: str) -> None:
    shown = visible_devices(value, UUIDS)
    assert len(set(shown)) == len(shown)
    assert all(isinstance(device, str) or device < len(UUIDS) for device in shown)
