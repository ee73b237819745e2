"""The sentences of a round: they answer its question, in the metric's own words, and claim nothing too early."""

import msgspec
import pytest

from analysis.rounds.conclude_cases import DEPTH, LOSS, RATE, a_round, a_run, scored, searched
from traindyno.analysis.rounds.conclude import conclude_trials
from traindyno.analysis.rounds.verdicts import round_verdicts
from traindyno.analysis.rounds.words import with_own_figures
from traindyno.core.answers.rounds import Check, RoundAnswer
from traindyno.core.rounds import Goal, Parameter, Round, RoundJob, RoundMetric, RoundTrial

PASSED = (Check(name="gate", state="passed", text="The incumbent learns."),)
FAILED = (Check(name="search space", state="failed", text="Scores still rise.", next_step="Set high = 3."),)
ASKED = Goal(kind="helps", question="Does a deeper network help?")
SHALLOW, DEEP = "mlp:64", "mlp:64x64"


def runs_of(arm: str, scores: list[float], rate: float | None = None) -> list[RoundTrial]:
    return [
        a_run(
            score,
            {"model": arm, "learning_rate": 0.01 * (index + 1)},
            arm=arm,
            index=index,
            examples_per_second=None if rate is None else rate * (1 + 0.01 * (-1) ** index),
        )
        for index, score in enumerate(scores)
    ]


def gate(*scores: float) -> list[RoundTrial]:
    values = {"model": SHALLOW, "learning_rate": 0.1}
    return [a_run(score, values, arm=SHALLOW, phase="gate", index=index) for index, score in enumerate(scores)]


def concluded(round_: Round, trials: list[RoundTrial], checks: tuple[Check, ...] = PASSED) -> RoundAnswer:
    answer = conclude_trials(round_, trials, checks)
    return msgspec.structs.replace(answer, verdicts=round_verdicts(round_, answer))


FLAT = [0.95, 0.951, 0.952, 0.95, 0.949, 0.951, 0.952, 0.95]
HIGHER = [score + 0.012 for score in FLAT]


def test_a_gain_is_told_with_its_interval_and_is_not_yet_evidence() -> None:
    round_ = a_round(DEPTH, RATE, goal=ASKED)
    trials = [*gate(0.94, 0.942, 0.941), *runs_of(SHALLOW, FLAT, 1000.0), *runs_of(DEEP, HIGHER, 700.0)]
    assert concluded(round_, trials).verdicts == (
        "Does a deeper network help? It looks so: mlp:64x64 is expected to gain 1.2 points (0.9 to 1.5) over mlp:64 "
        "at 8 draws each; not yet evidence: `traindyno round adopt depth`.",
        "Of the 2.3 points by which the search's best run is better than the incumbent, 1.1 points came from tuning "
        "the nuisances of mlp:64 again, and 1.2 points with mlp:64x64.",
        "Examples a second, as a multiple of those of mlp:64: mlp:64x64 0.7 (95 %: 0.692 to 0.708).",
        "More draws from the same ranges would add little: the search is saturated.",
        "Whether learning_rate matters, so few runs do not tell.",
        "16 of 35 planned runs are still to come: all this may change.",
    )


def test_speeds_that_chance_may_have_made_are_not_told() -> None:
    round_ = a_round(DEPTH, RATE, goal=ASKED)
    rates = [805.0, 6519.0, 3000.0, 1200.0, 5100.0, 900.0, 4000.0, 2200.0]
    slower = [
        msgspec.structs.replace(each, examples_per_second=0.7 * rate)
        for each, rate in zip(runs_of(DEEP, HIGHER), rates, strict=True)
    ]
    usual = [
        msgspec.structs.replace(each, examples_per_second=rate)
        for each, rate in zip(runs_of(SHALLOW, FLAT), reversed(rates), strict=True)
    ]
    answer = concluded(round_, [*gate(0.94, 0.942, 0.941), *usual, *slower])
    assert not any("Examples a second" in text for text in answer.verdicts)


def test_nothing_is_claimed_before_the_checks_allow_it() -> None:
    round_ = a_round(DEPTH, RATE, goal=ASKED)
    answer = concluded(round_, [*runs_of(SHALLOW, FLAT), *runs_of(DEEP, HIGHER)], FAILED)
    assert not answer.ready
    assert answer.verdicts == ("Nothing is concluded yet, for a check failed: Scores still rise.",)


@pytest.mark.parametrize(
    ("deep", "words"),
    [
        (FLAT, "The search cannot tell: mlp:64x64 is expected to gain 0 points"),
        (
            [score - 0.02 for score in FLAT],
            "It does not look so: mlp:64x64 is expected to lose 2.0 points (1.7 to 2.3)",
        ),
    ],
)
def test_what_is_not_shown_is_not_claimed(deep: list[float], words: str) -> None:
    answer = concluded(
        a_round(DEPTH, RATE, goal=ASKED), [*gate(0.94, 0.942, 0.941), *runs_of(SHALLOW, FLAT), *runs_of(DEEP, deep)]
    )
    assert words in answer.verdicts[0]


def test_a_gain_below_its_price_does_not_help() -> None:
    round_ = a_round(DEPTH, RATE, goal=ASKED, minimum_gain=0.05)
    verdict = concluded(round_, [*gate(0.94, 0.942, 0.941), *runs_of(SHALLOW, FLAT), *runs_of(DEEP, FLAT)]).verdicts[0]
    assert "below the 5.0 points that a change must be worth" in verdict


def test_a_loss_is_lowered_and_an_own_metric_raised() -> None:
    lower = concluded(
        a_round(DEPTH, RATE, metric=LOSS), [*runs_of(SHALLOW, FLAT), *runs_of(DEEP, [s - 0.02 for s in FLAT])]
    )
    assert "mlp:64x64 is expected to lower loss by 0.02 (0.0" in lower.verdicts[0]
    own = RoundMetric(name="bleu", higher_is_better=True)
    higher = concluded(
        a_round(DEPTH, RATE, metric=own), [*runs_of(SHALLOW, FLAT), *runs_of(DEEP, [s + 2 for s in FLAT])]
    )
    assert "raise bleu by 2 (" in higher.verdicts[0]
    assert "point" not in " ".join(higher.verdicts)


def test_an_effect_is_told_of_every_arm() -> None:
    stride = Parameter(name="conv1_stride", role="target", values=(1, 2, 4))
    round_ = a_round(stride, goal=Goal(kind="effect"), incumbent={"conv1_stride": 2, "learning_rate": 0.1})
    trials = [
        a_run(score + lift, {"conv1_stride": value}, arm=str(value), index=index)
        for value, lift in ((1, 0.02), (2, 0.0), (4, -0.02))
        for index, score in enumerate(FLAT)
    ]
    first, second, third, *_ = concluded(round_, trials).verdicts
    assert first.startswith("conv1_stride = 1 is expected to gain 2.0 points")
    assert second.startswith("conv1_stride = 4 is expected to lose 2.0 points")
    assert third.startswith("The best is conv1_stride = 1; not yet evidence")


def test_of_several_effects_the_best_comes_first() -> None:
    stride = Parameter(name="conv1_stride", role="target", values=(1, 2, 4))
    round_ = a_round(stride, goal=Goal(kind="effect"), incumbent={"conv1_stride": 2, "learning_rate": 0.1})
    trials = [
        a_run(score + lift, {"conv1_stride": value}, arm=str(value), index=index)
        for value, lift in ((1, -0.02), (2, 0.0), (4, 0.02))
        for index, score in enumerate(FLAT)
    ]
    assert concluded(round_, trials).verdicts[0].startswith("conv1_stride = 4 is expected to gain 2.0 points")


def test_the_best_of_many_runs_is_told_as_what_it_is() -> None:
    round_ = a_round(RATE, goal=Goal(kind="maximise"))
    trials = [a_run(score, {"learning_rate": 0.01}, index=index) for index, score in enumerate(FLAT)]
    values = {"learning_rate": 0.1}
    before = [a_run(score, values, phase="gate", index=index) for index, score in enumerate((0.94, 0.942))]
    verdicts = concluded(round_, [*before, *trials]).verdicts
    assert verdicts[0] == (
        "The best of 8 runs has accuracy 95.20 % with learning_rate = 0.01, the incumbent 94.10 % over 2 seeds. The "
        "best of many flatters itself, and is not yet evidence: `traindyno round adopt depth`."
    )
    assert verdicts[1] == (
        "The 1.1 points by which the search's best run is better than the incumbent came from tuning alone."
    )


def test_a_first_round_is_something_to_begin_with() -> None:
    round_ = a_round(RATE, goal=Goal(kind="initial"), incumbent={})
    trials = [a_run(score, {"learning_rate": 0.01}, index=index) for index, score in enumerate(FLAT)]
    assert "something to begin with: `traindyno round next depth`" in concluded(round_, trials).verdicts[0]


def test_a_gain_that_came_from_tuning_again_is_not_the_targets() -> None:
    trials = [*gate(0.90, 0.90), *runs_of(SHALLOW, FLAT), *runs_of(DEEP, [s - 0.01 for s in FLAT])]
    origin = concluded(a_round(DEPTH, RATE), trials).origin
    assert origin is not None
    assert (origin.incumbent, origin.retuned, origin.best) == (0.9, 0.952, 0.952)
    assert origin.text == (
        "The 5.2 points by which the search's best run is better than the incumbent came from tuning the nuisances of "
        "mlp:64 again, none from model."
    )


def test_a_search_that_beats_nothing_says_that_the_rest_came_from_before() -> None:
    origin = concluded(a_round(DEPTH, RATE), [*gate(0.99, 0.99), *runs_of(SHALLOW, FLAT)]).origin
    assert origin is not None
    assert "came from earlier rounds" in origin.text


def test_fixed_parameters_leave_their_caveats_behind() -> None:
    fixed = Parameter(name="weight_decay", role="fixed", value=0.0, caveat="the answer holds without weight decay")
    answer = concluded(a_round(DEPTH, RATE, fixed), [*runs_of(SHALLOW, FLAT), *runs_of(DEEP, HIGHER)])
    assert "Left open by what is fixed: the answer holds without weight decay." in answer.verdicts


def test_what_fresh_seeds_said_since_comes_last() -> None:
    answer = conclude_trials(a_round(RATE, goal=Goal(kind="maximise")), scored(FLAT), PASSED)
    decided = msgspec.structs.replace(answer, adopted="keep")
    last = round_verdicts(a_round(RATE, goal=Goal(kind="maximise")), decided)[-1]
    assert last == "Fresh seeds have kept the incumbent since: that is the evidence."


def test_a_round_without_a_score_is_not_ready() -> None:
    answer = conclude_trials(a_round(RATE, goal=Goal(kind="maximise")), scored([None, None]), PASSED)
    assert not answer.ready
    assert answer.best is None
    assert answer.proposals == ()


def test_before_anything_was_searched_there_is_an_answer_without_figures() -> None:
    answer = concluded(a_round(DEPTH, RATE), gate(0.9, 0.91))
    assert not answer.ready
    assert answer.incumbent_scores == (0.9, 0.91)
    assert [row.expected_best for row in answer.isolation] == [None, None]
    assert answer.verdicts == ("Nothing is concluded yet, for no run of the search has a score.",)


def test_a_gain_that_seeds_alone_can_make_is_not_explained() -> None:
    origin = concluded(a_round(DEPTH, RATE), [*gate(0.94, 0.96, 0.95), *runs_of(SHALLOW, FLAT)]).origin
    assert origin is not None
    assert "which seeds alone can do" in origin.text


def test_the_best_is_one_of_what_the_round_searches_now() -> None:
    values = {"learning_rate": 0.1, "momentum": 0.5}
    old = [a_run(0.99, values, index=0), a_run(0.90, {**values, "momentum": 0.9}, index=1)]
    new = [a_run(0.91, {"learning_rate": 0.2}, index=2)]
    fixed = Parameter(name="momentum", role="fixed", value=0.9)
    answer = conclude_trials(a_round(RATE, fixed, goal=Goal(kind="maximise"), trials=4), [*old, *new], PASSED)
    assert answer.best is not None
    assert (answer.best.score, answer.best.configuration["momentum"]) == (0.91, 0.9)
    assert answer.arms[0].trials == 2
    assert answer.planned_trials == 3 + 4 + 1, "the gate, the budget, and the run of before that counts no more"


def test_of_one_nuisance_alone_only_whether_it_matters_is_told() -> None:
    round_ = a_round(RATE, goal=Goal(kind="maximise"))
    told = concluded(round_, searched(round_, 16, lambda at: 0.9 - (at["learning_rate"] - 0.5) ** 2)).verdicts
    assert "Scores depend on learning_rate: tune again with every change." in told


@pytest.mark.parametrize(("factor", "told"), [(100.0, "has accuracy 93.1 with"), (1.0, "has accuracy 93.10 % with")])
def test_an_accuracy_of_the_users_own_job_is_a_share_only_if_all_scores_are(factor: float, told: str) -> None:
    own = msgspec.structs.replace(a_round(RATE, goal=Goal(kind="maximise")), job=RoundJob(function="train.py:run"))
    trials = scored([factor * score for score in (0.8, 0.931, 0.9, 0.92, 0.91, 0.93, 0.92, 0.9)])
    answer = concluded(with_own_figures(own, trials), trials)
    assert any(told in verdict for verdict in answer.verdicts)
    assert all(row.ci95 is None or row.ci95[0] < (row.expected_best or 0) < row.ci95[1] for row in answer.isolation)
    assert not any("9310" in verdict or "points" in verdict for verdict in answer.verdicts) or factor == 1
