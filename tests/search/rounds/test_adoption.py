"""Fresh seeds: the same for every candidate, seed by seed, and no seed of the search among them."""

from search.rounds.fake_round import DEPTH, RATE, SEED, a_round, crashed, draws_of, ran, run_through, template_for
from search.rounds.fake_round import request_for as round_request
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialSpec
from traindyno.core.requests import AdoptRequest, Candidate
from traindyno.core.round_space import configuration_of, incumbent_of
from traindyno.search.rounds.strategy import AdoptStrategy, RoundStrategy

ROUND = a_round(DEPTH, RATE)
WINNERS = {arm: configuration_of(ROUND, {"model": arm, "learning_rate": 0.2}) for arm in ("mlp:64", "mlp:64x64")}


def request(*looks: int) -> AdoptRequest:
    asked = round_request(ROUND)
    candidates = (
        Candidate(label="incumbent", values=incumbent_of(ROUND)),
        *(Candidate(label=arm, values=values, arm=arm) for arm, values in WINNERS.items()),
    )
    return AdoptRequest(
        workload=asked.workload, bench=asked.bench, settings=asked.settings, round=ROUND, round_study="depth",
        candidates=candidates, looks=looks, first_seed=SEED + 1_000_000, recipe=asked.recipe,
    )  # fmt: skip


def strategy(*looks: int) -> AdoptStrategy:
    return AdoptStrategy(request(*looks), template_for(round_request(ROUND)))


def test_every_candidate_has_every_seed_and_no_other() -> None:
    records = run_through(strategy(4))
    seeds = {
        label: [r.spec.seed for r in records if draws_of([r])[0].arm == label] for label in ("incumbent", *WINNERS)
    }
    assert set(map(tuple, seeds.values())) == {tuple(SEED + 1_000_000 + index for index in range(4))}
    search = RoundStrategy(round_request(ROUND), template_for(round_request(ROUND)))
    assert not {record.spec.seed for record in run_through(search)} & set(seeds["incumbent"])


def test_candidates_take_turns_and_each_seed_begins_with_another() -> None:
    draws = draws_of(run_through(strategy(3)), "confirm")
    assert [draw.index for draw in draws] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert [draws[place].arm for place in (0, 3, 6)] == ["incumbent", "mlp:64", "mlp:64x64"]


def test_a_candidate_trains_with_its_configuration_whole_to_the_end() -> None:
    for record in run_through(strategy(2)):
        draw, recipe = draws_of([record])[0], record.spec.recipe
        assert recipe is not None
        rate, model = (0.1, "mlp:64") if draw.arm == "incumbent" else (0.2, draw.arm)
        assert (recipe.learning_rate, record.spec.workload.model) == (rate, model)
        assert draw.values == {"learning_rate": rate, "model": model}
        assert record.spec.floors == ()


def test_another_look_adds_seeds_and_repeats_none() -> None:
    before = run_through(strategy(2))
    after = run_through(strategy(2, 5), before)
    assert after[:6] == before
    assert {draw.index for draw in draws_of(after[6:])} == {2, 3, 4}
    assert len({draw.slot for draw in draws_of(after)}) == len(after) == 15


def test_a_failed_run_is_a_result_and_a_stopped_one_is_run_again() -> None:
    first = strategy(2).ask([], [])
    assert first is not None
    after_failure = strategy(2).ask([crashed(first.spec)], [])
    assert after_failure is not None
    assert after_failure.spec != first.spec
    after_stop = strategy(2).ask([crashed(first.spec, Outcome.INTERRUPTED)], [])
    assert after_stop is not None
    assert after_stop.spec == first.spec


def test_what_others_are_running_is_not_started_again() -> None:
    running: list[TrialSpec] = []
    while (proposal := strategy(2).ask([], running)) is not None:
        assert proposal.expected_trials == 6
        running.append(proposal.spec)
    assert len({spec.key for spec in running}) == 6
    assert strategy(2).ask([ran(spec) for spec in running], []) is None
