"""Fresh seeds: those of one round are no other round's, and every time the same."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.app.rounds.adopt_request import APART, FRESH, PLACES, first_fresh_seed, proof_bench
from traindyno.core.errors import UsageError
from traindyno.core.requests import Bench
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


def test_a_proof_goes_where_its_round_went_unless_another_place_is_named() -> None:
    over_cluster = Bench(executor="ray", address="head:6379", time_budget_seconds=60)
    assert proof_bench(over_cluster, {}) == Bench(executor="ray", address="head:6379")
    assert proof_bench(over_cluster, {"address": "new-head:6379"}).address == "new-head:6379"
    assert proof_bench(over_cluster, {"executor": "local"}) == Bench()
    with pytest.raises(UsageError, match="runs go on this machine") as refused:
        proof_bench(Bench(), {"address": "head:6379"})
    assert refused.value.hint == "add --executor ray"
