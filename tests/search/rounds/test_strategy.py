"""What a round runs: gate, search and exploit; cut anywhere, shared by processes, and grown later."""

import random
from collections import Counter
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from search.rounds.fake_round import (
    DECAY,
    DEPTH,
    MOMENTUM,
    OPTIMIZER,
    RATE,
    SEED,
    a_round,
    crashed,
    draws_of,
    nuisance,
    ran,
    request_for,
    run_through,
    score,
    template_for,
)
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.core.round_space import contains, planned_trials
from traindyno.core.rounds import Draw, Goal, Parameter, Range, Round, RoundBudget, RoundJob
from traindyno.search.rounds.drawing import search_values
from traindyno.search.rounds.strategy import RoundStrategy


def strategy_for(round: Round) -> RoundStrategy:
    request = request_for(round)
    return RoundStrategy(request, template_for(request))


def slots(records: Sequence[TrialRecord]) -> set[tuple[str, str, str, int]]:
    return {draw.slot for draw in draws_of(records)}


def points(records: Sequence[TrialRecord]) -> dict[tuple[str, str, str, int], Draw]:
    return {draw.slot: draw for draw in draws_of(records)}


def diverged(spec: TrialSpec) -> TrialRecord:
    return ran(spec, diverged=True)


def test_the_incumbent_comes_first_with_seeds_of_its_own() -> None:
    records = run_through(strategy_for(a_round()))
    gate = [record for record in records if draws_of([record], "gate")]
    assert records[:2] == gate
    assert [record.spec.seed for record in gate] == [SEED, SEED + 1]
    assert all(record.spec.recipe is not None and record.spec.recipe.learning_rate == 0.1 for record in gate)
    assert {draw.arm for draw in draws_of(gate)} == {"mlp:64"}
    others = {record.spec.seed for record in records[2:]}
    assert others == {SEED + 1000 + index for index in range(6)}


def test_all_runs_of_the_gate_may_run_at_once_and_the_search_waits_for_them() -> None:
    strategy = strategy_for(a_round())
    first = strategy.ask([], [])
    assert first is not None
    second = strategy.ask([], [first.spec])
    assert second is not None
    assert strategy.ask([], [first.spec, second.spec]) is None
    assert strategy.ask([ran(first.spec)], [second.spec]) is None
    third = strategy.ask([ran(first.spec), ran(second.spec)], [])
    assert third is not None
    assert draws_of([ran(third.spec)])[0].phase == "search"


def test_an_incumbent_that_does_not_learn_allows_no_tuning() -> None:
    records = run_through(strategy_for(a_round()), ends=diverged)
    assert {draw.phase for draw in draws_of(records)} == {"gate"}


def test_a_first_round_and_one_without_an_incumbent_begin_with_the_search() -> None:
    for round in (a_round(goal=Goal(kind="initial")), a_round(incumbent={})):
        assert {draw.phase for draw in draws_of(run_through(strategy_for(round)))} == {"search"}


def test_every_arm_gets_its_budget_and_a_cut_leaves_them_equal() -> None:
    records = run_through(strategy_for(a_round()))
    assert len(records) == planned_trials(a_round()) == 2 + 3 * 6
    for most in range(2, len(records)):
        counts = Counter(draw.arm for draw in draws_of(records[:most], "search"))
        assert max(counts.values(), default=0) - min((counts[arm] for arm in DEPTH.values), default=0) <= 1


def test_a_run_that_failed_has_spent_its_draw() -> None:
    def ends(spec: TrialSpec) -> TrialRecord:
        assert spec.draw is not None
        return crashed(spec) if spec.draw.phase == "search" and spec.draw.index % 2 else ran(spec)

    assert slots(run_through(strategy_for(a_round()), ends=ends)) == slots(run_through(strategy_for(a_round())))


def test_arms_of_equal_parameters_are_tried_at_the_same_points_with_the_same_seeds() -> None:
    records = run_through(strategy_for(a_round()))
    by_index: dict[int, set[tuple[object, ...]]] = {}
    for record in records[2:]:
        draw = draws_of([record])[0]
        rate, decay = draw.values["learning_rate"], draw.values["weight_decay"]
        by_index.setdefault(draw.index, set()).add((rate, decay, record.spec.seed))
    assert all(len(points) == 1 for points in by_index.values())
    assert len({next(iter(points)) for points in by_index.values()}) == 6


def test_what_is_drawn_is_what_is_trained() -> None:
    for record in run_through(strategy_for(a_round()))[2:]:
        draw, recipe = draws_of([record])[0], record.spec.recipe
        assert recipe is not None
        assert recipe.learning_rate == draw.values["learning_rate"]
        assert recipe.weight_decay == draw.values["weight_decay"]
        assert record.spec.workload.model == draw.values["model"] == draw.arm


def test_a_conditional_parameter_is_drawn_only_where_it_exists_and_branches_take_turns() -> None:
    records = run_through(strategy_for(a_round(RATE, OPTIMIZER, MOMENTUM)))
    draws = draws_of(records, "search")
    assert [draw.branch for draw in draws[:4]] == ["optimizer=sgd", "optimizer=adam"] * 2
    for record in records[2:]:
        values = draws_of([record])[0].values
        assert ("sgd_momentum" in values) == (values["optimizer"] == "sgd") == (record.spec.workload.optimizer == "sgd")


def test_the_reason_names_arm_point_and_values() -> None:
    strategy = strategy_for(a_round())
    records = run_through(strategy, most=6)
    proposal = strategy.ask(records, [])
    assert proposal is not None
    draw = draws_of([ran(proposal.spec)])[0]
    rate, decay = float(draw.values["learning_rate"]), float(draw.values["weight_decay"])
    assert proposal.reason == f"arm mlp:64x64, point 2 of 6: learning_rate {rate:.3g}, weight_decay {decay:.3g}"
    assert proposal.expected_trials == 20


@given(some.integers(0, 20))
@settings(max_examples=10, deadline=None)
def test_a_round_cut_anywhere_goes_on_to_the_same_runs(cut: int) -> None:
    round = a_round(DEPTH, RATE, OPTIMIZER, MOMENTUM)
    whole = run_through(strategy_for(round))
    kept = whole[:cut]
    random.Random(cut).shuffle(kept)
    assert points(run_through(strategy_for(round), kept)) == points(whole)


@given(some.randoms(use_true_random=False), some.integers(2, 8))
@settings(max_examples=10, deadline=None)
def test_processes_that_share_a_round_never_draw_a_slot_twice_and_miss_none(chance: random.Random, many: int) -> None:
    """Each process that is free asks, in any order; runs end, or are killed and forgotten, at any time."""
    round = a_round(DEPTH, RATE, OPTIMIZER, MOMENTUM, budget=RoundBudget(trials=5))
    strategy = strategy_for(round)
    finished: list[TrialRecord] = []
    running: list[TrialSpec] = []
    while True:
        proposal = strategy.ask(finished, running) if len(running) < many else None
        if proposal is not None:
            draw = proposal.spec.draw
            assert draw is not None
            assert draw.slot not in slots(finished) | {each.draw.slot for each in running if each.draw is not None}
            running.append(proposal.spec)
        elif not running:
            break
        while running and (proposal is None or chance.random() < 0.4):
            ended = running.pop(chance.randrange(len(running)))
            if chance.random() < 0.8:
                finished.append(ran(ended))
            break
    assert points(finished) == points(run_through(strategy))
    assert len(finished) == len(slots(finished))


def test_wider_ranges_and_more_trials_keep_old_runs_and_go_on_with_the_next_index() -> None:
    before = run_through(strategy_for(a_round()))
    wider = msgspec.structs.replace(RATE, range=Range(low=0.0001, high=10.0, scale="log"))
    after = run_through(strategy_for(a_round(DEPTH, wider, DECAY, budget=RoundBudget(trials=9))), before)
    assert after[: len(before)] == before
    new = draws_of(after[len(before) :])
    assert {(draw.arm, draw.index) for draw in new} == {(arm, index) for arm in DEPTH.values for index in (6, 7, 8)}
    rates = [float(draw.values["learning_rate"]) for draw in draws_of(after, "search")]
    assert len(set(rates)) == 9, "three arms share each of nine points"


def test_runs_with_other_values_than_what_is_fixed_since_take_nothing_from_the_budget() -> None:
    before = run_through(strategy_for(a_round()))
    fixed = Parameter(name="weight_decay", role="fixed", value=0.005)
    after = run_through(strategy_for(a_round(DEPTH, RATE, fixed)), before)
    new = draws_of(after[len(before) :])
    assert {(draw.arm, draw.index) for draw in new} == {(arm, index) for arm in DEPTH.values for index in range(6, 12)}
    decays = [record.spec.recipe.weight_decay for record in after[len(before) :] if record.spec.recipe is not None]
    assert set(decays) == {0.005}


@given(
    low=some.floats(1e-7, 100),
    width=some.floats(1.0, 1e5),
    scale=some.sampled_from(["linear", "log"]),
    integer=some.booleans(),
    index=some.integers(0, 200),
)
def test_whatever_is_drawn_lies_in_the_space_and_so_is_spent(
    low: float, width: float, scale: str, integer: bool, index: int
) -> None:
    low = float(max(1, round(low))) if integer else low
    anything = nuisance("anything", low, float(round(low * width)) if integer else low * width, scale, integer=integer)
    round_ = a_round(DEPTH, OPTIMIZER, MOMENTUM, anything, job=RoundJob(function="train.py:run"))
    for arm, branch in (("mlp:64", "optimizer=sgd"), ("mlp:64x64", "optimizer=adam")):
        values = msgspec.json.decode(msgspec.json.encode(search_values(round_, arm, branch, index)))
        assert contains(round_, arm, branch, values)


def test_an_arm_that_is_added_later_catches_up() -> None:
    two = msgspec.structs.replace(DEPTH, values=DEPTH.values[:2])
    before = run_through(strategy_for(a_round(two, RATE, DECAY)))
    after = run_through(strategy_for(a_round()), before)
    assert {draw.arm for draw in draws_of(after[len(before) :])} == {DEPTH.values[2]}
    assert slots(after) == slots(run_through(strategy_for(a_round())))


def test_a_run_that_was_stopped_has_not_spent_its_draw() -> None:
    strategy = strategy_for(a_round())
    records = run_through(strategy, most=6)
    proposal = strategy.ask(records, [])
    assert proposal is not None
    stopped = crashed(proposal.spec, Outcome.INTERRUPTED)
    assert strategy.ask([*records, stopped], []) == proposal
    assert strategy.ask([*records, stopped], [proposal.spec]) != proposal


def test_hours_have_no_end_of_their_own() -> None:
    round = a_round(budget=RoundBudget(hours=1.0))
    records = run_through(strategy_for(round), most=62)
    assert Counter(draw.arm for draw in draws_of(records, "search")) == dict.fromkeys(DEPTH.values, 20)
    proposal = strategy_for(round).ask(records, [])
    assert proposal is not None
    assert "point 21:" in proposal.reason


@pytest.mark.parametrize("explorer", ["gp", "tpe"])
def test_after_the_search_each_arm_is_searched_where_it_was_best(explorer: str) -> None:
    two = msgspec.structs.replace(DEPTH, values=DEPTH.values[:2])
    round = a_round(two, RATE, budget=RoundBudget(trials=12), then=explorer, then_trials=4)
    records = run_through(strategy_for(round))
    learnt = draws_of(records, "exploit")
    assert Counter(draw.arm for draw in learnt) == dict.fromkeys(two.values, 4)
    assert len(records) == planned_trials(round)
    assert len({(draw.arm, draw.values["learning_rate"]) for draw in draws_of(records, "search", "exploit")}) == 32
    plain = [score(draw.values) for draw in draws_of(records, "search")]
    assert sum(score(draw.values) for draw in learnt) / len(learnt) > sum(plain) / len(plain)


def test_with_hours_alone_learning_comes_after_as_many_plain_runs() -> None:
    round = a_round(RATE, budget=RoundBudget(hours=1.0), then="tpe", then_trials=3)
    phases = [draw.phase for draw in draws_of(run_through(strategy_for(round), most=10))]
    assert phases == ["gate"] * 2 + ["search"] * 3 + ["exploit"] * 3 + ["search"] * 2


def test_learning_goes_on_in_the_branch_of_the_best_run() -> None:
    round = a_round(RATE, OPTIMIZER, MOMENTUM, then="tpe", then_trials=3)

    def ends(spec: TrialSpec) -> TrialRecord:
        return ran(spec, lambda values: score(values) - (0.4 if spec.workload.optimizer == "sgd" else 0.0))

    learnt = draws_of(run_through(strategy_for(round), ends=ends), "exploit")
    assert [(draw.branch, draw.index) for draw in learnt] == [("optimizer=adam", index) for index in range(3)]
    assert all(draw.values.keys() == {"optimizer", "learning_rate"} for draw in learnt)


def test_processes_that_learn_at_once_draw_different_points() -> None:
    round = a_round(RATE, then="gp", then_trials=3)
    strategy = strategy_for(round)
    records = run_through(strategy, most=8)
    running: list[TrialSpec] = []
    while (proposal := strategy.ask(records, running)) is not None:
        running.append(proposal.spec)
    drawn = [spec.draw for spec in running if spec.draw is not None]
    assert [draw.slot for draw in drawn] == [("exploit", "", "", index) for index in range(3)]
    assert len({draw.values["learning_rate"] for draw in drawn}) == 3


def test_only_what_can_be_ended_early_has_floors_and_only_after_five_runs() -> None:
    round = a_round(RATE, prune=True, budget=RoundBudget(trials=8))
    records = run_through(strategy_for(round))
    floors = [record.spec.floors for record in records]
    assert floors[: 2 + 5] == [()] * 7
    assert all(floors[7:])
    assert all(record.spec.floors == () for record in run_through(strategy_for(a_round(RATE))))


def test_a_job_of_the_users_own_is_called_with_what_is_drawn() -> None:
    job = RoundJob(function="train.py:run", values={"epochs": 3})
    width = nuisance("width", 8, 64, "log", integer=True)
    round = a_round(width, Parameter(name="deep", role="fixed", value=True), job=job, incumbent={"width": 16})
    proposal = strategy_for(round).ask([], [])
    assert proposal is not None
    assert proposal.spec.kind == "job"
    assert proposal.spec.workload.arguments == {"epochs": 3, "deep": True, "width": 16}
