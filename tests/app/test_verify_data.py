"""Where the data of a settings file lies here."""

import pytest

from traindyno.app.verify_data import is_given, with_data_here
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


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("folder:/no/such", "--data names folder:/no/such, and there is no /no/such"),
        ("folder:/no/such=folder:/x", "--data names folder:/no/such=folder:/x, and there is no "),
        ("folder:/x=folder:/no/such", "--data names folder:/no/such, and there is no /no/such"),
    ],
)
def test_a_place_that_does_not_exist_is_told_with_the_sources_that_the_file_has(given: str, message: str) -> None:
    arms = (Setup(data=data, settings=Settings(batch_size=8)) for data in ("folder:/x", "memory:folder:/x"))
    with pytest.raises(UsageError) as caught:
        with_data_here(*arms, [given], "best.toml", is_there=True)
    assert caught.value.message.startswith(message)
    assert caught.value.hint == "best.toml reads from folder:/x; say where that lies here: --data folder:/x=SOURCE"


def test_what_is_no_source_at_all_is_refused_as_the_option_s() -> None:
    with pytest.raises(UsageError, match="--data names 'floder:/y', which is no source"):
        here("folder:/x", "folder:/x", "floder:/y")


def test_a_place_is_the_user_s_or_the_file_s() -> None:
    assert is_given("memory:folder:/y", ["folder:/y"])
    assert is_given("folder:/y", ["folder:/x=folder:/y"])
    assert not is_given("prepared:/p", ["folder:/x=folder:/y"])
