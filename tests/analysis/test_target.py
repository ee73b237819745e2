"""Who reaches a target first, from made-up runs: what counts, what never does, and what is said of it."""

import math
import random

import msgspec
import pytest

from analysis.target_races import (
    EVERY,
    MISS,
    TEMPLATE,
    concluded,
    failed,
    never_finite,
    race,
    request_of,
    run_of,
    without_accuracy,
)
from traindyno.analysis.target_settling import run_specs
from traindyno.analysis.target_standing import BEHIND, FIRST, Crossings, standing_of
from traindyno.core.answers import TargetAnswer
from traindyno.core.errors import NothingMeasuredError
from traindyno.core.learning import Target
from traindyno.core.outcomes import Outcome
from traindyno.core.records import WorkloadSpec

EARLY, LATE = [500, 500, 600, 600, 700, 700], [1500, 1500, 1600, 1600, 1700, 1700]


def told(answer: TargetAnswer) -> str:
    return "\n".join(answer.verdicts)


def test_the_one_that_all_others_can_be_told_from_wins() -> None:
    answer = race(request_of(10, 20), {"batch 10": EARLY, "batch 20": LATE})
    assert answer.winner == answer.least_examples == "batch 10"
    first, second = answer.rows
    assert (first.median_seconds, first.examples, first.steps) == (6.0, 600, 60)
    assert first.ci95 == (5.0, 7.0)
    assert second.ci95 == (15.0, 17.0)
    assert "batch 10 reaches accuracy 0.9 first, in 6.00 s of training; batch 20 takes 2.67 times as long." in told(
        answer
    )


def test_time_and_examples_may_have_different_winners() -> None:
    speeds = {"batch 10": 0.05, "batch 20": 0.01}
    answer = race(request_of(10, 20), {"batch 10": EARLY, "batch 20": LATE}, speeds)
    assert (answer.winner, answer.least_examples) == ("batch 20", "batch 10")


def test_time_counts_to_the_target_and_not_to_the_best() -> None:
    request = request_of(10, 20)
    specs = run_specs(request, TEMPLATE, [])
    records = [run_of(spec, at, best=0.91) for spec, at in zip(specs["batch 10"], EARLY, strict=True)]
    records += [run_of(spec, at, best=0.999) for spec, at in zip(specs["batch 20"], LATE, strict=True)]
    answer = concluded(request, records)
    assert answer.winner == "batch 10"
    assert [row.best_metric for row in answer.rows] == [0.91, 0.999]


def test_evaluations_take_no_time_of_the_race() -> None:
    answer = race(request_of(10), {"batch 10": EARLY})
    assert answer.rows[0].median_seconds == pytest.approx(answer.rows[0].examples * 0.01)


def test_whoever_misses_often_does_not_win_by_its_few_fast_runs() -> None:
    lucky = [200, 200, MISS, MISS, MISS, MISS]
    answer = race(request_of(10, 20), {"batch 10": lucky, "batch 20": LATE})
    row = answer.rows[0]
    assert (row.reached, row.seeds) == (2, 6)
    assert math.isinf(row.median_seconds)
    assert math.isinf(row.examples)
    assert answer.winner != "batch 10"
    assert "batch 10 missed the target in 4 of 6 runs, which count as infinite" in told(answer)


def test_the_shortest_median_does_not_win_if_others_are_sooner_on_the_whole() -> None:
    request = request_of(10, 20, seeds=9)
    gambler = [500, 500, 500, 500, 500, MISS, MISS, MISS, MISS]
    answer = race(request, {"batch 10": gambler, "batch 20": [900] * 9})
    assert answer.winner is None


def test_runs_that_overlap_cannot_be_told_apart_and_a_number_of_seeds_is_named() -> None:
    mixed = [400, 600, 600, 700, 800, 900]
    answer = race(request_of(10, 20), {"batch 10": EARLY, "batch 20": mixed})
    assert answer.winner is None
    assert answer.needed_seeds is not None
    assert f"cannot be told apart in time with 6 seeds; about {answer.needed_seeds} would do." in answer.verdicts[0]


def test_a_difference_of_one_evaluation_is_none() -> None:
    """Crossings right before and right after an evaluation look as far apart as two evaluations are."""
    answer = race(request_of(10, 20), {"batch 10": [1000] * 6, "batch 20": [1100] * 6})
    assert answer.winner is None
    assert answer.least_examples is None
    assert "differ by less than lies between two evaluations; give --eval-examples 25." in answer.verdicts[0]


def test_a_batch_that_overshoots_the_evaluation_is_not_later_for_that() -> None:
    """After 1000 examples a batch of 30 has seen 1020: its evaluation before is no later than that of a batch of 10."""
    speeds = {"batch 10": 1 / 128, "batch 30": 1 / 128}
    answer = race(request_of(10, 30), {"batch 10": [1000] * 6, "batch 30": [1100] * 6}, speeds)
    assert answer.winner is None
    assert answer.least_examples is None


def test_a_contender_that_does_not_fit_has_no_time_and_does_not_hinder_a_winner() -> None:
    request = request_of(10, 20, 40)
    specs = run_specs(request, TEMPLATE, [])
    records = [run_of(spec, at) for spec, at in zip(specs["batch 10"], EARLY, strict=True)]
    records += [run_of(spec, at) for spec, at in zip(specs["batch 20"], LATE, strict=True)]
    answer = concluded(request, [*records, failed(specs["batch 40"][0])])
    assert answer.winner == "batch 10"
    assert (answer.rows[2].missing, answer.rows[2].reached) == (6, 0)
    assert "6 could not be run: it is full" in told(answer)


def test_a_single_run_that_crashed_counts_as_a_miss() -> None:
    request = request_of(10, 20)
    specs = run_specs(request, TEMPLATE, [])
    records = [failed(specs["batch 10"][0], Outcome.CRASH)]
    records += [run_of(spec, at) for spec, at in zip(specs["batch 10"][1:], EARLY[1:], strict=True)]
    records += [run_of(spec, at) for spec, at in zip(specs["batch 20"], LATE, strict=True)]
    row = concluded(request, records).rows[0]
    assert (row.seeds, row.reached, row.missing) == (6, 5, 1)
    assert row.ci95 == (5.0, math.inf)


def test_a_cut_study_counts_the_seeds_that_all_have_run() -> None:
    request = request_of(10, 20)
    answer = race(request, {"batch 10": EARLY, "batch 20": LATE[:4]})
    assert [row.seeds for row in answer.rows] == [4, 4]
    assert answer.rows[0].ci95 is None
    assert "With fewer than 6 seeds a median has no 95 % interval" in told(answer)


def test_without_a_seed_that_all_have_run_there_is_no_answer() -> None:
    with pytest.raises(NothingMeasuredError, match="no seed was run by all contenders"):
        race(request_of(10, 20), {"batch 10": EARLY, "batch 20": []})


def test_a_target_that_nobody_reaches_is_told_with_the_best_that_was_seen() -> None:
    answer = race(request_of(10, 20), {"batch 10": [MISS] * 6, "batch 20": [MISS] * 6})
    assert answer.winner is None
    assert answer.verdicts[0].startswith("No run reached accuracy 0.9; the best seen was 0.8, with batch 10.")


def test_a_target_that_is_met_at_once_is_too_easy() -> None:
    answer = race(request_of(10, 20), {"batch 10": [EVERY] * 6, "batch 20": LATE})
    assert "The target is too easy for batch 10: met at the first evaluation" in told(answer)


def test_diverging_is_a_miss_with_a_reason() -> None:
    request = request_of(10)
    records = [run_of(spec, MISS, diverged=True) for spec in run_specs(request, TEMPLATE, [])["batch 10"]]
    answer = concluded(request, records)
    assert answer.rows[0].diverged == 6
    assert "6 diverged, so its learning rate is too high" in told(answer)


def test_a_loss_that_never_was_a_number_is_a_miss_that_no_rate_or_length_mends() -> None:
    request = request_of(10)
    records = [run_of(spec, MISS, diverged=True) for spec in run_specs(request, TEMPLATE, [])["batch 10"]]
    answer = concluded(request, [never_finite(record) for record in records])
    assert answer.verdicts[0] == "No run reached accuracy 0.9."
    assert "in 6 the loss was no number from the first step on: look for NaN in the data" in told(answer)
    assert "learning rate" not in told(answer)
    answer = concluded(request, [*records[1:], never_finite(records[0])])
    assert "5 diverged, so its learning rate is too high; in 1 the loss was no number" in told(answer)
    assert "Ask for less" in answer.verdicts[0]


def test_the_best_loss_is_the_lowest() -> None:
    request = request_of(10, target=Target(metric="loss", value=0.2))
    assert race(request, {"batch 10": EARLY}).rows[0].best_metric == 0.1


def test_cost_is_the_time_at_its_price() -> None:
    answer = race(request_of(10, 20, price_per_hour=3600.0), {"batch 10": EARLY, "batch 20": [MISS] * 6})
    assert answer.rows[0].cost == pytest.approx(6.0)
    assert answer.rows[1].cost == math.inf
    assert answer.least_cost == "batch 10"


def test_every_comparison_is_of_the_leader_with_one_other_and_corrected() -> None:
    answer = race(request_of(10, 20, 40), {"batch 10": EARLY, "batch 20": LATE, "batch 40": LATE})
    assert [(each.first, each.second) for each in answer.comparisons] == [
        ("batch 10", "batch 20"),
        ("batch 10", "batch 40"),
    ]
    assert all(each.p_value == pytest.approx(2 * 2 / 924) for each in answer.comparisons)


def test_where_nobody_wins_single_differences_are_corrected_for_all_pairs() -> None:
    """The leader was chosen by the data: being later than it is being later than the luckiest of several."""
    close = [500, 500, 600, 600, 700, 800]
    answer = race(request_of(10, 20, 40), {"batch 10": EARLY, "batch 20": close, "batch 40": LATE})
    assert answer.winner is None
    assert [each.verdict for each in answer.comparisons] == ["not told apart", "sooner"]
    assert answer.comparisons[1].p_value == pytest.approx(3 * 2 / 924)


def test_equal_ways_to_train_are_seldom_told_apart() -> None:
    chance, told_apart = random.Random(7), 0
    for _ in range(300):
        times = {str(way): tuple(chance.random() for _ in range(6)) for way in range(5)}
        found = standing_of({way: Crossings(seen=each, not_before=each) for way, each in times.items()})
        told_apart += any(each.verdict in (FIRST, BEHIND) for each in found.comparisons)
    assert told_apart / 300 <= 0.05


def test_an_accuracy_of_outputs_that_are_no_classes_cannot_be_a_target() -> None:
    request = request_of(10, 20)
    with pytest.raises(NothingMeasuredError, match="this workload has no accuracy") as raised:
        concluded(request, [without_accuracy(run_of(run_specs(request, TEMPLATE, [])["batch 10"][0], MISS))])
    assert "--metric loss" in str(raised.value.hint)


def test_a_given_noise_scale_leaves_the_optimiser_of_a_file_to_be_assumed() -> None:
    own = WorkloadSpec(model="job.py:make")
    request = request_of(10, 20, workload=own, rule="gain", noise_scale=50.0)
    answer = race(request, {"batch 10": EARLY, "batch 20": LATE})
    assert "The gain rule assumed that job.py:make trains with sgd" in told(answer)
    plain = msgspec.structs.replace(request, workload=TEMPLATE.workload)
    assert "assumed" not in told(race(plain, {"batch 10": EARLY, "batch 20": LATE}))


def test_every_schedule_ends_with_its_own_run() -> None:
    """A horizon taken over from another batch, or cut at the target, would give another rate at the same share."""
    specs = run_specs(request_of(10, 40), TEMPLATE, [])
    recipes = [spec.recipe for runs in specs.values() for spec in runs]
    assert all(recipe is not None and (recipe.steps, recipe.epochs) == (None, 4.0) for recipe in recipes)


def test_runs_differ_from_seed_to_seed_and_in_nothing_else() -> None:
    specs = run_specs(request_of(10), TEMPLATE, [])["batch 10"]
    assert [spec.seed for spec in specs] == list(range(6))
    assert len({msgspec.structs.replace(spec, seed=0).key for spec in specs}) == 1


def test_the_only_one_that_could_be_run_is_named_with_its_time() -> None:
    request = request_of(10, 20)
    specs = run_specs(request, TEMPLATE, [])
    records = [run_of(spec, at) for spec, at in zip(specs["batch 10"], EARLY, strict=True)]
    answer = concluded(request, [*records, failed(specs["batch 20"][0])])
    assert answer.winner is None
    assert answer.verdicts[0] == "batch 10 reaches accuracy 0.9 in 6.00 s of training; nothing else could be run."


def test_where_the_first_step_is_much_of_the_time_it_is_told() -> None:
    request = request_of(10)
    records = [run_of(spec, 500) for spec in run_specs(request, TEMPLATE, [])["batch 10"]]
    assert "The first step" not in told(concluded(request, records))
    slow = [
        msgspec.structs.replace(record, measurement=msgspec.structs.replace(record.measurement, first_step_seconds=2.0))
        for record in records
        if record.measurement is not None
    ]
    assert "The first step, which allocates and compiles, is 40 % of batch 10's time" in told(concluded(request, slow))
