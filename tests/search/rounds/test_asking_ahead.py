"""A strategy that is asked for many trials at once answers as if it were asked for each anew."""

import random

from hypothesis import given, settings
from hypothesis import strategies as some

from search.rounds.fake_round import DECAY, DEPTH, MOMENTUM, OPTIMIZER, RATE, a_round, ran, request_for, template_for
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.core.rounds import RoundBudget
from traindyno.search.rounds.strategy import RoundStrategy
from traindyno.search.strategy import Proposal

REQUEST = request_for(a_round(DEPTH, RATE, DECAY, OPTIMIZER, MOMENTUM, budget=RoundBudget(trials=8)))


def fresh() -> RoundStrategy:
    return RoundStrategy(REQUEST, template_for(REQUEST))


@settings(max_examples=15, deadline=None)
@given(some.randoms(use_true_random=False))
def test_what_it_remembers_of_the_last_question_changes_no_answer(chance: random.Random) -> None:
    strategy, finished, running = fresh(), tuple[TrialRecord, ...](), list[TrialSpec]()
    for _ in range(40):
        proposal = strategy.ask(finished, tuple(running))
        assert proposal == asked_anew(finished, running)
        if proposal is not None and chance.random() < 0.7:
            running.append(proposal.spec)
        elif running:
            finished = (*finished, ran(running.pop(chance.randrange(len(running)))))


def asked_anew(finished: tuple[TrialRecord, ...], running: list[TrialSpec]) -> Proposal | None:
    return fresh().ask(list(finished), list(running))


def test_a_run_that_somebody_gave_up_is_proposed_again() -> None:
    strategy = fresh()
    first = strategy.ask((), [])
    assert first is not None
    second = strategy.ask((), [first.spec])
    assert second is not None
    assert strategy.ask((), [second.spec]) == first
