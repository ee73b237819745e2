"""A new configuration takes the incumbent's place only on fresh seeds, and only if the gain is real and worth it."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy
import pytest

from analysis.rounds.adoptions import INCUMBENT, Scores, adoption, fresh_runs, run
from traindyno.analysis.rounds.adoption import conclude_adoption
from traindyno.core.answers.rounds import AdoptAnswer
from traindyno.core.errors import NothingMeasuredError
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord
from traindyno.core.rounds import Configuration

LOW = (0.940, 0.944, 0.938, 0.942, 0.946, 0.936)
HIGH = (0.960, 0.964, 0.958, 0.962, 0.966, 0.956)
SAME = (0.941, 0.943, 0.939, 0.945, 0.937, 0.942)


def decided(scores: Scores, **options: Any) -> AdoptAnswer:
    request = adoption(scores, **options)
    records = fresh_runs(scores, metric=options.get("metric", "accuracy"))
    return conclude_adoption(request, records, seconds=1.0, simulated=False)


@pytest.mark.parametrize(
    ("candidate", "minimum_gain", "verdict"),
    [
        (HIGH, 0.0, "adopt"),
        (HIGH, 0.01, "adopt"),
        (HIGH, 0.04, "equivalent"),
        ([score - 0.008 for score in LOW], 0.005, "keep"),
        (HIGH, 0.0201, "undecided"),
        (LOW[::-1], 0.0, "keep"),
        (SAME, 0.02, "equivalent"),
        (SAME, 0.003, "undecided"),
        ([score - 0.05 for score in LOW], 0.0, "keep"),
        ([score - 0.05 for score in LOW], 0.002, "keep"),
        (LOW, 0.0, "keep"),
    ],
)
def test_the_verdict_follows_from_the_gain_its_certainty_and_its_price(
    candidate: tuple[float, ...], minimum_gain: float, verdict: str
) -> None:
    answer = decided({"incumbent": LOW, "mlp:64x64": candidate}, minimum_gain=minimum_gain)
    assert answer.verdict == verdict
    took = verdict == "adopt"
    assert answer.configuration["model"] == ("mlp:64x64" if took else "mlp:64")


def test_an_adoption_tells_gain_interval_probability_and_seeds() -> None:
    answer = decided({"incumbent": LOW, "mlp:64x64": HIGH})
    assert answer.gain == pytest.approx(0.02)
    assert answer.ci95 is not None
    assert answer.ci95[0] < 0.02 < answer.ci95[1]
    assert answer.p_value == pytest.approx(1 / 924)
    assert (answer.seeds, answer.level, answer.spent, answer.needed_seeds) == (6, 0.025, 0.0, None)
    assert answer.verdicts[0].startswith("Adopt mlp:64x64: mlp:64x64 has accuracy 96.10 % and the incumbent 94.10 %")
    assert "a gain of 2.0 points (95 %: 1.5 to 2.5); p = 0.0011 by the exact permutation test" in answer.verdicts[0]


def test_a_lower_loss_is_a_gain() -> None:
    losses = {"incumbent": [0.3, 0.31, 0.29, 0.3, 0.32, 0.28], "mlp:64x64": [0.2, 0.21, 0.19, 0.2, 0.22, 0.18]}
    answer = decided(losses, metric="loss")
    assert answer.verdict == "adopt"
    assert answer.gain == pytest.approx(0.1)
    assert answer.rows[1].mean == pytest.approx(0.2)


def test_an_accuracy_that_a_job_counts_in_hundreds_is_told_as_it_is() -> None:
    hundreds = {"incumbent": [100 * score for score in LOW], "mlp:64x64": [100 * score for score in HIGH]}
    answer = decided(hundreds)
    assert answer.verdicts[0].startswith("Adopt mlp:64x64: mlp:64x64 has accuracy 96.1 and the incumbent 94.1 over")


def test_the_search_s_own_runs_never_count() -> None:
    scores = {"incumbent": LOW, "mlp:64x64": SAME}
    lucky = [run("mlp:64x64", index, 0.999, phase="search") for index in range(20)]
    with_them = conclude_adoption(adoption(scores), [*fresh_runs(scores), *lucky], seconds=1.0, simulated=False)
    assert with_them == decided(scores)


def test_the_smallest_probability_counts_once_for_every_candidate() -> None:
    answer = decided({"incumbent": LOW, "mlp:64x64": HIGH, "mlp:32": SAME, "mlp:16": LOW[::-1]})
    assert answer.winner == "mlp:64x64"
    assert answer.p_value == pytest.approx(3 / 924)
    assert [row.verdict for row in answer.rows] == [None, "adopt", "undecided", "keep"]


def test_of_several_to_adopt_the_best_by_its_mean_is_adopted() -> None:
    better = [score + 0.01 for score in HIGH]
    answer = decided({"incumbent": LOW, "mlp:64x64": HIGH, "mlp:64x64x64": better})
    assert (answer.verdict, answer.winner) == ("adopt", "mlp:64x64x64")


def test_a_second_look_asks_for_more_than_the_first() -> None:
    scores = {"incumbent": LOW, "mlp:64x64": (0.945, 0.949, 0.943, 0.947, 0.951, 0.943)}
    first, second = decided(scores), decided(scores, looks=(4, 6))
    assert second.p_value == first.p_value
    assert 0.0125 < (first.p_value or 0.0) < 0.025
    assert (first.verdict, second.verdict) == ("adopt", "undecided")
    assert (second.level, second.spent) == (0.0125, 0.025)
    assert any("look 2" in text for text in second.verdicts)


def test_what_is_undecided_says_how_many_more_seeds_would_decide() -> None:
    middling = (0.945, 0.949, 0.938, 0.947, 0.951, 0.937)
    answer = decided({"incumbent": LOW, "mlp:64x64": middling})
    assert answer.verdict == "undecided"
    assert answer.needed_seeds is not None
    assert answer.needed_seeds > 6
    assert f"It needs about {answer.needed_seeds - 6} more seeds of each" in answer.verdicts[1]
    assert f"--seeds {answer.needed_seeds}`" in answer.verdicts[1]


def test_no_reasonable_number_of_seeds_is_told_as_that() -> None:
    answer = decided({"incumbent": LOW, "mlp:64x64": [*LOW[:5], 0.9361]})
    assert (answer.verdict, answer.needed_seeds) == ("undecided", None)
    assert "No reasonable number of seeds" in answer.verdicts[1]


def test_nothing_is_tested_while_runs_are_missing() -> None:
    scores = {"incumbent": LOW, "mlp:64x64": HIGH[:5]}
    answer = decided(scores)
    assert (answer.verdict, answer.p_value, answer.gain) == ("undecided", None, None)
    assert answer.verdicts == ("1 of 12 runs is still to come; nothing is decided before all have ended.",)


def test_identical_scores_are_equivalent_and_the_incumbent_stays() -> None:
    answer = decided({"incumbent": [0.95] * 6, "mlp:64x64": [0.95] * 6})
    assert (answer.verdict, answer.configuration, answer.p_value) == ("equivalent", INCUMBENT, 1.0)


def test_scores_that_only_rounding_makes_equal_do_not_give_a_certain_gain() -> None:
    answer = decided({"incumbent": [342 / 360] * 6, "mlp:64x64": [343 / 360] * 6})
    assert answer.ci95 is not None
    assert answer.ci95[0] < answer.ci95[1]
    assert (answer.p_value or 0.0) >= 1 / 924


def test_a_job_whose_seed_changes_nothing_proves_nothing() -> None:
    answer = decided({"incumbent": [0.3] * 6, "mlp:64x64": [0.2] * 6}, metric="loss")
    assert (answer.verdict, answer.needed_seeds) == ("undecided", None)
    assert (answer.p_value, answer.ci95) == (0.5, None), "as if each had been run once"
    assert any("whatever their seed" in text for text in answer.verdicts)


def test_of_two_that_are_equal_the_one_without_a_regulariser_is_taken() -> None:
    scores = {"incumbent": LOW, "plain": SAME}
    plain = decided(scores, minimum_gain=0.02, changes={"plain": {"weight_decay": 0.0}})
    assert plain.verdict == "equivalent"
    assert plain.configuration["weight_decay"] == 0.0
    assert "the simpler is taken, plain" in plain.verdicts[0]


def test_a_run_that_diverged_counts_as_guessing_and_is_told() -> None:
    answer = decided({"incumbent": LOW, "mlp:64x64": [*HIGH[:5], None]})
    assert answer.verdict != "adopt"
    assert answer.rows[1].failed == 1
    assert answer.rows[1].scores[-1] == pytest.approx(0.1)
    told = "1 of 6 runs of mlp:64x64 diverged or failed; each counts as 10.00 %, what guessing scores."
    assert told in answer.verdicts


def test_a_gain_that_tuning_again_would_have_given_is_told_apart() -> None:
    scores = {"incumbent": LOW, "mlp:64x64": HIGH, "mlp:64": [score - 0.01 for score in HIGH]}
    answer = decided(scores, changes={"mlp:64": {"learning_rate": 0.3}})
    told = "About 50 % of that gain came from tuning again what the incumbent has already (mlp:64), and not from model."
    assert told in answer.verdicts


@pytest.mark.parametrize(
    ("further", "minimum_gain", "winner"), [(0.001, 0.0, "mlp:64"), (0.02, 0.0, "mlp:64x64"), (0.02, 0.021, "mlp:64")]
)
def test_another_model_must_beat_the_incumbent_tuned_again(further: float, minimum_gain: float, winner: str) -> None:
    retuned = [score + 0.01 for score in HIGH]
    scores = {"incumbent": LOW, "mlp:64x64": [score + further for score in retuned], "mlp:64": retuned}
    answer = decided(scores, changes={"mlp:64": {"learning_rate": 0.3}}, minimum_gain=minimum_gain)
    assert (answer.verdict, answer.winner) == ("adopt", winner)
    stays = any("mlp:64x64 passes too, but is not shown to be better than mlp:64" in text for text in answer.verdicts)
    assert stays is (winner == "mlp:64")


@pytest.mark.parametrize("failing", [[None] * 6, [*HIGH[:5], None]])
def test_what_fails_more_often_than_the_incumbent_is_neither_adopted_nor_its_equal(
    failing: list[float | None],
) -> None:
    losses = {
        "incumbent": [1 - score for score in LOW],
        "plain": [None if each is None else 1 - each for each in failing],
    }
    request = adoption(losses, metric="loss", minimum_gain=0.5, changes={"plain": {"weight_decay": 0.0}})
    records = [_of_unknown_classes(record) for record in fresh_runs(losses, metric="loss")]
    for price in (0.5, 0.0):
        priced = msgspec.structs.replace(request, round=msgspec.structs.replace(request.round, minimum_gain=price))
        answer = conclude_adoption(priced, records, seconds=1.0, simulated=False)
        assert (answer.verdict, answer.configuration, answer.ci95) == ("keep", INCUMBENT, None)
        assert f"{failing.count(None)} of 6 runs of plain failed, and 0 of its own" in answer.verdicts[0]


NEAR = (0.30, 0.31, 0.29, 0.305, 0.315, 0.285)


def own_job(incumbent: Sequence[float | None], candidate: Sequence[float | None], minimum_gain: float) -> AdoptAnswer:
    """A proof of a job of the user's own, which has a loss."""
    losses = {"incumbent": incumbent, "plain": candidate}
    records = [_of_unknown_classes(record) for record in fresh_runs(losses, metric="loss")]
    changes: dict[str, Configuration] = {"plain": {"weight_decay": 0.01}}
    request = adoption(losses, metric="loss", minimum_gain=minimum_gain, changes=changes)
    return conclude_adoption(request, records, seconds=1.0, simulated=False)


def test_what_always_works_takes_the_place_of_an_incumbent_that_never_does_whatever_the_price() -> None:
    answer = own_job([None] * 6, NEAR, minimum_gain=0.5)
    assert (answer.verdict, answer.winner, answer.configuration["weight_decay"]) == ("adopt", "plain", 0.01)
    assert (answer.rows[0].mean, answer.rows[0].sd, answer.rows[0].failed) == (None, None, 6)
    assert (
        "the incumbent none, as every run failed, over 6 fresh seeds of each, a gain of at least"
        in (answer.verdicts[0])
    )
    assert not any("below the" in text for text in answer.verdicts)
    told = "6 of 6 runs of incumbent diverged or failed; each counts as 0.315, the worst score that any run had."
    assert told in answer.verdicts


@pytest.mark.parametrize(
    ("incumbent", "candidate"),
    [
        ([*NEAR[:5], None], NEAR),
        ([*NEAR[:5], None], [*NEAR[:5], None]),
        ([None] * 6, [0.3] * 6),
        ([*[0.3] * 5, None], [0.3] * 6),
    ],
)
@pytest.mark.parametrize("minimum_gain", [0.0, 0.5])
def test_where_runs_failed_nothing_is_equal(
    incumbent: Sequence[float | None], candidate: Sequence[float | None], minimum_gain: float
) -> None:
    answer = own_job(incumbent, candidate, minimum_gain)
    assert (answer.verdict, answer.configuration) == ("undecided", INCUMBENT)


def _of_unknown_classes(record: TrialRecord) -> TrialRecord:
    """As of a job of the user's own, of which nobody knows what guessing would score."""
    assert record.measurement is not None
    assert record.measurement.learning is not None
    learning = msgspec.structs.replace(record.measurement.learning, classes=0)
    return msgspec.structs.replace(record, measurement=msgspec.structs.replace(record.measurement, learning=learning))


@pytest.mark.parametrize(
    "outcome", [Outcome.KILLED, Outcome.INFRASTRUCTURE, Outcome.DATA_ERROR, Outcome.TIMEOUT, Outcome.HANG]
)
def test_a_run_that_was_lost_decides_nothing(outcome: Outcome) -> None:
    scores = {"incumbent": LOW, "mlp:64x64": HIGH}
    records = [run("incumbent", 0, None, outcome=outcome), *fresh_runs(scores)[1:]]
    answer = conclude_adoption(adoption(scores), records, seconds=1.0, simulated=False)
    assert (answer.verdict, answer.p_value) == ("undecided", None)
    assert answer.verdicts[0].startswith("1 of 12 runs is still to come")
    assert answer.verdicts[1].startswith("1 run was lost")


def test_what_was_decided_stands_while_a_further_look_is_on_its_way() -> None:
    scores = {"incumbent": LOW, "mlp:64x64": HIGH}
    further = [*fresh_runs(scores), run("incumbent", 6, 0.99)]
    answer = conclude_adoption(adoption(scores, looks=(6, 40)), further, seconds=1.0, simulated=False)
    before = decided(scores)
    assert (answer.verdict, answer.p_value, answer.seeds) == ("adopt", before.p_value, 6)
    assert answer.verdicts == (
        *before.verdicts, "67 of 80 runs of look 2 are still to come; what was decided stands until then."
    )  # fmt: skip


def test_that_no_gain_was_seen_is_not_told_as_a_proof() -> None:
    answer = decided({"incumbent": LOW, "mlp:64x64": LOW[::-1]})
    assert "none of the others shows a gain, which proves not that none has" in answer.verdicts[0]


def test_a_score_of_the_search_that_does_not_come_back_is_told() -> None:
    answer = decided({"incumbent": LOW, "mlp:64x64": SAME}, search_score=0.97)
    assert any("The search had seen 97.00 %" in text for text in answer.verdicts)


def test_too_few_seeds_for_any_proof_are_told() -> None:
    answer = decided({"incumbent": LOW[:3], "mlp:64x64": HIGH[:3]})
    assert answer.verdict == "undecided"
    assert "With 3 seeds of each not even the clearest gain could pass; 4 can." in answer.verdicts


def test_without_any_whole_run_there_is_nothing_to_decide() -> None:
    with pytest.raises(NothingMeasuredError, match="no fresh run gave a score: 8 diverged") as caught:
        decided({"incumbent": [None] * 4, "mlp:64x64": [None] * 4})
    assert caught.value.hint == "look at the runs: traindyno show depth.adopt"


def test_more_time_is_advised_where_a_limit_ended_runs() -> None:
    scores = {"incumbent": LOW, "mlp:64x64": HIGH}
    records = [run(label, index, None, outcome=Outcome.TIMEOUT) for label in scores for index in range(6)]
    with pytest.raises(NothingMeasuredError, match="12 ran out of time") as caught:
        conclude_adoption(adoption(scores), records, seconds=1.0, simulated=False)
    assert "more time" in str(caught.value.hint)


def test_nothing_better_is_adopted_at_most_one_time_in_twenty() -> None:
    generator = numpy.random.default_rng(7)
    adopted = 0
    for _ in range(150):
        scores = {name: 0.9 + 0.01 * generator.normal(size=6) for name in ("incumbent", "a", "b")}
        adopted += decided({name: tuple(map(float, several)) for name, several in scores.items()}).verdict == "adopt"
    assert adopted / 150 <= 0.05


def test_a_gain_of_three_spreads_is_nearly_always_adopted() -> None:
    generator = numpy.random.default_rng(8)
    shift = {"incumbent": 0.9, "mlp:64x64": 0.93}
    adopted = 0
    for _ in range(60):
        scores = {name: tuple(map(float, mean + 0.01 * generator.normal(size=6))) for name, mean in shift.items()}
        adopted += decided(scores).verdict == "adopt"
    assert adopted / 60 >= 0.9


def test_of_two_that_pass_and_are_not_told_apart_the_simpler_is_taken() -> None:
    scores = {
        "incumbent": LOW,
        "decayed": tuple(score + 0.0205 for score in LOW),
        "plain": tuple(score + 0.02 for score in LOW),
    }
    changes: dict[str, Configuration] = {"decayed": {"learning_rate": 0.3}, "plain": {"weight_decay": 0.0}}
    answer = decided(scores, changes=changes)
    assert (answer.verdict, answer.winner) == ("adopt", "plain")
    assert any("plain is not told apart from decayed, which passes too" in text for text in answer.verdicts)
    clearly = {**scores, "decayed": tuple(score + 0.06 for score in LOW)}
    assert decided(clearly, changes=changes).winner == "decayed"
    assert not any("not told apart" in text for text in decided(clearly, changes=changes).verdicts)


def test_of_two_models_that_pass_the_better_mean_is_taken_and_told_as_perhaps_lucky() -> None:
    scores = {"incumbent": LOW, "a": tuple(score + 0.02 for score in LOW), "b": tuple(score + 0.0205 for score in LOW)}
    answer = decided(scores)
    assert answer.winner == "b"
    assert any("b is not told apart from a, which passes too: luck may have chosen" in text for text in answer.verdicts)


def test_what_the_target_does_by_itself_is_told_against_its_own_value_tuned_again() -> None:
    scores = {"incumbent": LOW, "mlp:64x64": LOW, "mlp:64": HIGH}
    answer = decided(scores, changes={"mlp:64": {"learning_rate": 0.3}})
    (effect,) = answer.effects
    assert (effect.label, effect.against) == ("mlp:64x64", "mlp:64")
    assert effect.gain == pytest.approx(-answer.rows[2].gain)
    assert effect.ci95 == pytest.approx(tuple(-end for end in reversed(answer.rows[2].ci95)))
    assert any(text.startswith("mlp:64x64 against mlp:64, both tuned: a loss of") for text in answer.verdicts)


def test_a_loss_is_told_with_an_interval_that_counts_losses_too() -> None:
    scores = {"incumbent": HIGH, "mlp:64x64": LOW, "mlp:64": HIGH}
    answer = decided(scores, changes={"mlp:64": {"learning_rate": 0.3}})
    told = [text for text in answer.verdicts if "mlp:64x64 against" in text]
    assert [text.partition(": a ")[2].partition(")")[0] for text in told] == [
        "loss of 2.0 points (95 %: 1.5 to 2.5",
        "loss of 2.0 points (95 %: 1.5 to 2.5",
    ]


EVEN, DOUBLE = (1.0, 1.02, 0.98, 1.01, 0.99, 1.0), (2.0, 2.05, 1.95, 2.01, 1.99, 2.0)


def told_times(times: dict[str, Sequence[float]], **conditions: Any) -> AdoptAnswer:
    """The deeper network against the other, tuned again, with times of training by candidate."""
    scores = {"incumbent": LOW, "mlp:64x64": LOW, "mlp:64": HIGH}
    records = [
        timed(run(label, index, score), times.get(label, EVEN)[index], **conditions)
        for label, several in scores.items()
        for index, score in enumerate(several)
    ]
    request = adoption(scores, changes={"mlp:64": {"learning_rate": 0.3}})
    return conclude_adoption(request, records, seconds=1.0, simulated=False)


def timed(record: TrialRecord, seconds: float, **conditions: Any) -> TrialRecord:
    measurement = record.measurement
    assert measurement is not None
    assert measurement.learning is not None
    learning = msgspec.structs.replace(measurement.learning, seconds=seconds)
    around = msgspec.structs.replace(record.conditions, **conditions)
    measured = msgspec.structs.replace(measurement, learning=learning)
    return msgspec.structs.replace(record, measurement=measured, conditions=around)


def test_what_the_target_costs_in_time_is_told_with_its_interval() -> None:
    answer = told_times({"mlp:64x64": DOUBLE})
    (effect,) = answer.effects
    assert effect.time_ratio == pytest.approx(2.0, rel=0.01)
    low, high = effect.time_ratio_ci95 or (0.0, 0.0)
    assert 1.9 < low < 2.0 < high < 2.1
    assert any(f"in 2 times the time per run (95 %: {low:.3g} to {high:.3g})." in text for text in answer.verdicts)


@pytest.mark.parametrize(
    ("times", "conditions"),
    [
        ((0.6, 3.0, 0.9, 2.5, 0.7, 1.4), {}),
        (DOUBLE, {"runs_beside": 1}),
    ],
)
def test_times_that_chance_or_other_runs_may_have_made_are_not_told(
    times: Sequence[float], conditions: dict[str, int]
) -> None:
    answer = told_times({"mlp:64x64": times}, **conditions)
    (effect,) = answer.effects
    assert (effect.time_ratio, effect.time_ratio_ci95) == (None, None)
    assert not any("times the time" in text for text in answer.verdicts)


def test_times_of_machines_of_several_kinds_are_not_compared() -> None:
    scores = {"incumbent": LOW, "mlp:64x64": LOW, "mlp:64": HIGH}
    records = [
        timed(run(label, index, score), 2.0 + 0.01 * index, machine_kind="one" if label == "mlp:64" else "other")
        for label, several in scores.items()
        for index, score in enumerate(several)
    ]
    request = adoption(scores, changes={"mlp:64": {"learning_rate": 0.3}})
    answer = conclude_adoption(request, records, seconds=1.0, simulated=False)
    assert [effect.time_ratio for effect in answer.effects] == [None]


def test_without_the_incumbent_tuned_again_its_own_row_tells_the_effect() -> None:
    assert decided({"incumbent": LOW, "mlp:64x64": HIGH}).effects == ()


def test_no_effect_is_told_before_all_runs_are_there() -> None:
    scores = {"incumbent": LOW, "mlp:64x64": HIGH[:3], "mlp:64": HIGH}
    assert decided(scores, changes={"mlp:64": {"learning_rate": 0.3}}).effects == ()
