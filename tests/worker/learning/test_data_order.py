"""The endless row of shuffled epochs, and what each process takes of it."""

from itertools import chain, islice
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from traindyno.core.errors import UsageError
from traindyno.core.records import Settings
from traindyno.worker.learning.order import Order, Run, drawn, drawn_places, evaluation_places, own_places
from traindyno.worker.learning.processes import ALONE, Processes


def run_of(batch_size: int, processes: Processes = ALONE, **settings: Any) -> Run:
    return Run(Settings(batch_size=batch_size, **settings), 0, torch.device("cpu"), processes)


def batches(order: Order, run: Run, first_step: int, count: int) -> list[list[int]]:
    return [order.tickets(*places) for places in islice(own_places(run, first_step), count)]


@given(examples=st.integers(1, 40), batch_size=st.integers(1, 40), seed=st.integers(0, 5))
def test_every_example_comes_once_an_epoch_although_batches_cross_its_edge(
    examples: int, batch_size: int, seed: int
) -> None:
    order = Order(examples, seed)
    taken = list(chain.from_iterable(batches(order, run_of(batch_size), 0, 3 * examples)))
    for epoch in range(len(taken) // examples):
        tickets = taken[epoch * examples : (epoch + 1) * examples]
        assert sorted(tickets) == list(range(epoch * examples, (epoch + 1) * examples))


@given(examples=st.integers(1, 40), batch_size=st.integers(1, 40), first=st.integers(0, 30))
def test_a_run_begun_at_a_step_goes_on_as_one_begun_before(examples: int, batch_size: int, first: int) -> None:
    order, run = Order(examples, 1), run_of(batch_size)
    assert batches(order, run, first, 4) == batches(order, run, 0, first + 4)[first:]


@given(world=st.integers(1, 5), share=st.integers(1, 6), step=st.integers(0, 20))
def test_the_shares_of_all_processes_end_to_end_are_the_batch(world: int, share: int, step: int) -> None:
    order, batch_size = Order(37, 2), world * share
    shares = [batches(order, run_of(batch_size, Processes(rank, world)), step, 1)[0] for rank in range(world)]
    assert list(chain.from_iterable(shares)) == batches(order, run_of(batch_size), step, 1)[0]
    assert {len(each) for each in shares} == {share}


@given(examples=st.integers(0, 60), world=st.integers(1, 7), share=st.integers(1, 20))
def test_all_processes_together_evaluate_every_example_once(examples: int, world: int, share: int) -> None:
    places = [evaluation_places(examples, run_of(world * share, Processes(rank, world))) for rank in range(world)]
    assert list(chain.from_iterable(range(*each) for each in chain.from_iterable(places))) == list(range(examples))


def test_evaluation_computes_no_more_at_once_than_a_part_of_an_accumulated_step() -> None:
    assert evaluation_places(10, run_of(8, accumulation_steps=2)) == [(0, 4), (4, 8), (8, 10)]


def test_epochs_and_seeds_have_orders_of_their_own() -> None:
    orders = [Order(100, seed).epoch(number).tolist() for seed in range(3) for number in range(3)]
    assert len({tuple(order) for order in orders}) == 9


def test_micro_batches_of_another_draw_are_other_examples_and_not_those_of_training() -> None:
    firsts = [drawn(100, 0, 8, 4, draw).tickets(0, 32) for draw in range(3)]
    assert len({tuple(first) for first in [*firsts, Order(100, 0).tickets(0, 32)]}) == 4


def test_micro_batches_have_different_examples_each_and_may_share_some_with_others() -> None:
    order = drawn(20, 0, 5, 4, 0)
    batches = [[ticket % 20 for ticket in order.tickets(*places)] for places in drawn_places(order, 5, 4)]
    assert [len(set(batch)) for batch in batches] == [5] * 4
    assert len({index for batch in batches for index in batch}) < 20


def test_more_micro_batches_than_examples_are_refused_by_the_option() -> None:
    with pytest.raises(UsageError, match="16 micro-batches of 8 are 128 examples, and there are 100") as told:
        drawn(100, 0, 8, 16, 0)
    assert "--micro-batches" in told.value.hint
