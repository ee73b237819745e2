"""Which runs `accuracy` makes, and in which order."""

import math

import pytest

from search.fake_device import failure
from search.fake_learner import EXAMPLES, FakeLearner, asked, plan_of, trained
from traindyno.core.learning import Recipe
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord, WorkloadSpec
from traindyno.core.requests import Bench
from traindyno.search.accuracy_runs import recipe_at
from traindyno.search.rate_search import FARTHEST


def rates(history: list[TrialRecord]) -> dict[int, float]:
    return {record.batch_size: record.spec.recipe.learning_rate for record in history if record.spec.recipe}


def test_sizes_take_turns_so_that_a_cut_leaves_equal_seeds() -> None:
    history = trained(asked(seeds=3), FakeLearner())
    order = [(record.spec.seed, record.batch_size) for record in history]
    assert order == [(seed, size) for seed in range(3) for size in (32, 64, 128)]
    assert {record.spec.kind for record in history} == {"learn"}


def test_seeds_begin_with_that_of_the_bench() -> None:
    history = trained(asked(bench=Bench(seed=7), seeds=2), FakeLearner())
    assert {record.spec.seed for record in history} == {7, 8}


@pytest.mark.parametrize(("rule", "factor"), [("none", 1), ("linear", 4), ("sqrt", 2)])
def test_rates_follow_the_rule_from_the_reference(rule: str, factor: float) -> None:
    found = rates(trained(asked(rule=rule), FakeLearner()))
    assert found[32] == 0.32
    assert found[128] == pytest.approx(0.32 * factor)


def test_the_gain_rule_measures_the_noise_scale_behind_the_first_run_of_the_reference() -> None:
    history = trained(asked(rule="gain", reference_batch=64), FakeLearner(noise_scale=96.0))
    assert [(record.spec.kind, record.batch_size) for record in history[:4]] == [
        ("learn", 64), ("noise", 64), ("noise", 64), ("learn", 32),
    ]  # fmt: skip
    assert len({record.spec.seed for record in history[:3]}) == 3
    assert all((record.spec.noise_plan is not None) == (record.spec.kind == "noise") for record in history)
    assert "noise" not in {record.spec.kind for record in history[3:]}
    assert rates(history)[128] == pytest.approx(0.32 * (1 + 96 / 64) / (1 + 96 / 128))
    assert [record.batch_size for record in history if record.spec.kind == "learn"].count(64) == 3


def test_where_no_size_needs_another_rate_no_noise_is_measured() -> None:
    history = trained(asked(rule="gain", sizes=(32,)), FakeLearner())
    assert {record.spec.kind for record in history} == {"learn"}
    assert rates(history) == {32: 0.32}


def test_the_gain_rule_is_that_of_the_optimiser_that_readings_found() -> None:
    """A file of the user's own may bring Adam, whatever the workload says."""
    own = WorkloadSpec(model="job.py:make")
    found = rates(trained(asked(rule="gain", workload=own), FakeLearner(noise_scale=96.0, preconditioned=True)))
    assert found[128] == pytest.approx(0.32 * math.sqrt((1 + 96 / 32) / (1 + 96 / 128)))


def test_the_gain_rule_is_weaker_for_adam() -> None:
    adam = WorkloadSpec(model="mlp:64", data="digits:", optimizer="adam")
    found = rates(trained(asked(rule="gain", workload=adam, noise_scale=96.0), FakeLearner()))
    assert found[128] == pytest.approx(0.32 * math.sqrt((1 + 96 / 32) / (1 + 96 / 128)))


def test_a_given_noise_scale_is_not_measured() -> None:
    assert all(record.spec.kind == "learn" for record in trained(asked(rule="gain", noise_scale=96.0), FakeLearner()))


def test_without_a_noise_scale_the_gain_rule_ends_the_study() -> None:
    kinds = [record.spec.kind for record in trained(asked(rule="gain"), FakeLearner(noise_scale=None))]
    assert kinds == ["learn", "noise", "noise"]


def test_runs_of_equal_epochs_have_the_schedule_of_their_own_length() -> None:
    history = trained(asked(seeds=1), FakeLearner())
    assert {record.spec.recipe.epochs for record in history if record.spec.recipe} == {10.0}
    steps = [record.measurement.learning.planned_steps for record in history if record.measurement.learning]
    assert steps == [round(10 * EXAMPLES / size) for size in (32, 64, 128)]


def test_runs_of_equal_steps_have_as_many_steps_and_more_epochs() -> None:
    recipe = Recipe(learning_rate=0.32, epochs=8.0, warm_up_epochs=1.0)
    history = trained(asked(seeds=1, equal="steps", recipe=recipe), FakeLearner())
    assert [record.spec.recipe.epochs for record in history if record.spec.recipe] == [8.0, 16.0, 32.0]
    assert [record.spec.recipe.warm_up_epochs for record in history if record.spec.recipe] == [1.0, 2.0, 4.0]
    assert {record.measurement.learning.planned_steps for record in history if record.measurement.learning} == {250}


@pytest.mark.parametrize(("reference", "sizes"), [(40, (12, 40, 96)), (120, (12, 96, 120)), (80, (12, 20, 112))])
@pytest.mark.parametrize("rule", ["linear", "tune"])
def test_equal_steps_are_equal_to_the_step(rule: str, reference: int, sizes: tuple[int, ...]) -> None:
    """Rounded from epochs at each size they could differ by one: 1.5 epochs of 1000 are 37.5 batches of 40, or less."""
    for epochs in (1.0, 1.5, 3.0):
        recipe = Recipe(learning_rate=0.32, epochs=epochs)
        request = asked(equal="steps", recipe=recipe, reference_batch=reference, sizes=sizes, rule=rule, seeds=2)
        history = trained(request, FakeLearner())
        steps = {record.measurement.learning.planned_steps for record in history if record.measurement.learning}
        assert len(steps) == 1
        if reference in sizes:
            assert steps == {max(1, round(epochs * EXAMPLES / reference))}


def test_a_length_in_steps_is_that_of_the_reference() -> None:
    recipe = Recipe(learning_rate=0.32, steps=400)
    assert recipe_at(asked(recipe=recipe), 128, 0.1).steps == 100
    assert recipe_at(asked(recipe=recipe, equal="steps"), 128, 0.1).steps == 400


def test_tuning_finds_each_size_its_own_rate_whatever_it_begins_with() -> None:
    learner = FakeLearner(best_rate=lambda size: 0.002 * size)
    history = trained(asked(rule="tune"), learner)
    runs = plan_of(asked(rule="tune")).runs(history)
    for size in runs.sizes:
        assert size.learning_rate is not None
        assert abs(math.log2(size.learning_rate / (0.002 * size.batch_size))) <= 0.26, "within half of a factor of √2"
        assert not size.rate_at_edge


def test_seeds_that_found_the_rate_are_never_among_those_that_count() -> None:
    runs = plan_of(asked(rule="tune", seeds=4)).runs(trained(asked(rule="tune", seeds=4), FakeLearner()))
    for size in runs.sizes:
        counted = {record.spec.seed for record in size.counted}
        assert counted == {0, 1, 2, 3}
        assert not counted & {record.spec.seed for record in size.tuning}


def test_rates_that_diverge_are_the_worst_and_cost_one_run() -> None:
    request = asked(rule="tune", sizes=(32,), recipe=Recipe(learning_rate=16.0, epochs=1.0), tuning_seeds=3)
    history = trained(request, FakeLearner(best_rate=lambda size: 0.5))
    (size,) = plan_of(request).runs(history).sizes
    diverged = [record for record in size.tuning if record.measurement.learning.diverged]  # type: ignore[union-attr]
    assert len({record.spec.recipe.learning_rate for record in diverged}) == len(diverged)  # type: ignore[union-attr]
    assert size.learning_rate == pytest.approx(0.5)


def test_a_search_ends_and_says_so_where_the_best_rate_is_out_of_reach() -> None:
    request = asked(rule="tune", sizes=(32,))
    (size,) = plan_of(request).runs(trained(request, FakeLearner(best_rate=lambda _: 1e6))).sizes
    assert size.rate_at_edge
    assert size.learning_rate == pytest.approx(0.32 * 2 ** (FARTHEST / 2))


def test_rates_are_refined_only_where_runs_are_cheap() -> None:
    request = asked(rule="tune", sizes=(32,))
    cheap, dear = (trained(request, FakeLearner(seconds=seconds)) for seconds in (1.0, 600.0))
    assert len(cheap) > len(dear)
    grid = [math.log2(record.spec.recipe.learning_rate / 0.32) for record in dear if record.spec.recipe]
    assert all(place == pytest.approx(round(place)) for place in grid)


def test_equal_accuracies_are_told_apart_by_the_loss_and_not_by_the_order() -> None:
    learner = FakeLearner(top=1.5)
    (size,) = plan_of(asked(rule="tune", sizes=(32,))).runs(trained(asked(rule="tune", sizes=(32,)), learner)).sizes
    assert size.learning_rate == pytest.approx(0.32)


def test_a_size_that_does_not_fit_is_not_tried_again_and_others_go_on() -> None:
    full = {(128, 0): failure(Outcome.OUT_OF_DEVICE_MEMORY)}
    history = trained(asked(seeds=3), FakeLearner(failures=full))
    assert [record.batch_size for record in history].count(128) == 1
    assert [record.batch_size for record in history].count(64) == 3


def test_a_run_that_crashed_costs_its_seed_alone() -> None:
    history = trained(asked(seeds=3), FakeLearner(failures={(64, 1): failure(Outcome.CRASH)}))
    assert [record.batch_size for record in history].count(64) == 3


def test_outputs_that_are_no_classes_end_the_study_at_once() -> None:
    assert len(trained(asked(), FakeLearner(has_classes=False))) == 1
    assert len(trained(asked(rule="tune"), FakeLearner(has_classes=False))) == 1
    assert len(trained(asked(rule="gain"), FakeLearner(has_classes=False))) == 1


@pytest.mark.parametrize("rule", ["gain", "tune", "sqrt"])
def test_a_study_cut_anywhere_goes_on_as_if_it_never_stopped(rule: str) -> None:
    learner, request = FakeLearner(seed_spread=0.01), asked(rule=rule, seeds=2)
    whole = trained(request, learner)
    for cut in range(len(whole)):
        proposal = plan_of(request).ask(whole[:cut])
        assert proposal is not None
        assert proposal.spec == whole[cut].spec
    assert plan_of(request).ask(whole) is None


@pytest.mark.parametrize("rule", ["gain", "linear"])
def test_without_a_search_the_number_of_runs_is_known_from_the_start(rule: str) -> None:
    first = plan_of(asked(rule=rule, seeds=3)).ask([])
    assert first is not None
    assert first.expected_trials == len(trained(asked(rule=rule, seeds=3), FakeLearner()))
