"""Settings that cannot be meant are refused with the way out."""

from typing import Any

import pytest

from traindyno.core.errors import UsageError
from traindyno.core.records import Settings
from traindyno.core.setting_checks import check_settings


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"batch_size": 0}, "at least one example"),
        ({"num_workers": -1}, "-1 loader workers are less than none"),
        ({"prefetch_factor": 0}, "a prefetch factor of 0"),
        ({"threads": 0}, "0 threads"),
        ({"accumulation_steps": 3}, "cannot be computed in 3 equal parts"),
    ],
)
def test_counts_of_nothing_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        check_settings(Settings(**{"batch_size": 4, **wrong}), "train", "cpu")
    assert refused.value.hint


def test_the_least_counts_that_can_be_meant_are_taken() -> None:
    check_settings(Settings(batch_size=1, num_workers=0, prefetch_factor=1, threads=1), "train", "cpu")


def test_several_devices_are_for_those_who_take_them() -> None:
    shared = Settings(batch_size=64, devices=2)
    check_settings(shared, "train", "cpu", takes_devices=True)
    with pytest.raises(UsageError, match="one device, and 2 are asked for") as refused:
        check_settings(shared, "train", "cpu")
    assert "`traindyno scale --devices 1,2`" in (refused.value.hint or "")


def test_devices_have_equal_shares() -> None:
    with pytest.raises(UsageError, match="a batch of 64 cannot be shared equally by 3 devices"):
        check_settings(Settings(batch_size=64, devices=3), "train", "cpu", takes_devices=True)
    with pytest.raises(UsageError, match="no devices cannot train"):
        check_settings(Settings(batch_size=64, devices=0), "train", "cpu", takes_devices=True)
