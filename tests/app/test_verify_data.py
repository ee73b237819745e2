"""Where the data of a settings file lies here."""

import pytest

from traindyno.app.verify_data import with_data_here
from traindyno.core.errors import UsageError
from traindyno.core.records import Settings
from traindyno.core.setups import Setup


def here(baseline: str, recommended: str, *given: str) -> tuple[str, str]:
    arms = (Setup(data=data, settings=Settings(batch_size=8)) for data in (baseline, recommended))
    first, second = with_data_here(*arms, given)
    return first.data, second.data


def test_one_source_stands_for_that_of_both() -> None:
    assert here("folder:/x", "folder:/x", "folder:/y") == ("folder:/y", "folder:/y")


def test_what_is_held_in_memory_follows_its_source() -> None:
    assert here("folder:/x", "memory:folder:/x", "folder:/y") == ("folder:/y", "memory:folder:/y")
    assert here("folder:/x", "memory:folder:/x", "folder:/x=folder:/y") == ("folder:/y", "memory:folder:/y")


def test_two_sources_are_named_by_what_they_were() -> None:
    both = ("folder:/x=folder:/y", "prepared:/p=prepared:/q")
    assert here("folder:/x", "prepared:/p", *both) == ("folder:/y", "prepared:/q")
    assert here("folder:/x", "prepared:/p", both[1]) == ("folder:/x", "prepared:/q")


def test_a_name_may_hold_an_equals_sign() -> None:
    assert here("folder:/a=b", "folder:/a=b", "folder:/c=d") == ("folder:/c=d", "folder:/c=d")
    assert here("folder:/a=b", "prepared:/p", "folder:/a=b=folder:/c=d")[0] == "folder:/c=d"


def test_nothing_given_changes_nothing() -> None:
    assert here("folder:/x", "prepared:/p") == ("folder:/x", "prepared:/p")


@pytest.mark.parametrize(
    ("arms", "given", "message"),
    [
        (("folder:/x", "prepared:/p"), ("folder:/y",), "from folder:/x and what is recommended from prepared:/p"),
        (("folder:/x", "folder:/x"), ("folder:/y", "folder:/z"), "two places for folder:/x"),
        (("synthetic:", "synthetic:"), ("folder:/y",), "without stored data"),
    ],
)
def test_what_is_not_clear_is_refused(arms: tuple[str, str], given: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        here(*arms, *given)
    assert caught.value.hint
