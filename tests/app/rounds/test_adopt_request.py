"""Fresh seeds: those of one round are no other round's, and every time the same."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from traindyno.app.rounds.adopt_request import APART, FRESH, PLACES, first_fresh_seed
from traindyno.core.rounds import Goal, Round, RoundBudget, RoundJob

ROUND = Round(
    name="depth", goal=Goal(kind="helps"), job=RoundJob(model="mlp:64"), parameters=(), budget=RoundBudget(trials=4)
)


def test_rounds_of_a_campaign_share_no_fresh_seed() -> None:
    firsts = sorted(first_fresh_seed(ROUND, name, 0) for name in ("first", "depth", "depth-2", "batch", "decay"))
    assert all(later - earlier >= APART for earlier, later in pairwise(firsts))
    assert first_fresh_seed(ROUND, "depth", 0) == first_fresh_seed(ROUND, "depth", 0)


@given(st.text(min_size=1), st.integers(0, 2**31))
def test_fresh_seeds_lie_beyond_the_search_and_are_few_enough_for_any_generator(name: str, seed: int) -> None:
    assert seed + FRESH <= first_fresh_seed(ROUND, name, seed) <= seed + FRESH + APART * PLACES < 2**32
