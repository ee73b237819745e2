"""A round that can run is warned of what would spoil its answer."""

from core.round_examples import DEPTH, OPTIMIZERS, OWN, changed
from traindyno.core.round_file import parse_round
from traindyno.core.round_lints import lint_round

RATE = '[nuisance.learning_rate]\nlow = 0.003\nhigh = 1.0\nscale = "log"\n'
MODEL = '[target.model]\nvalues = ["mlp:64", "mlp:64x64", "mlp:64x64x64"]\n'


def lints(text: str) -> str:
    return "\n".join(lint_round(parse_round(text, "it.toml")))


def test_a_good_round_is_warned_of_nothing() -> None:
    assert lints(DEPTH) == ""


def test_a_fixed_rate_spoils_a_question_about_the_model() -> None:
    assert "learning_rate is fixed at 0.1 but tied to model" in lints(
        changed(DEPTH, RATE, "[fixed.learning_rate]\nvalue = 0.1\n")
    )


def test_so_does_one_that_the_job_fixes() -> None:
    text = changed(DEPTH, RATE, "").replace("epochs = 10", "epochs = 10\nlearning_rate = 0.1")
    assert "learning_rate is fixed at 0.1 but tied to model" in lints(text)


def test_a_regulariser_that_is_left_away_spoils_nothing_and_one_that_is_there_does() -> None:
    assert "tied" not in lints(DEPTH)
    assert "weight_decay is fixed at 0.01 but tied to model" in lints(changed(DEPTH, "value = 0.0", "value = 0.01"))


def test_batch_and_optimiser_are_not_tuned_along() -> None:
    batch = lints(DEPTH + "[nuisance.batch_size]\nvalues = [32, 64]\n")
    assert "batch_size is a nuisance, but usually fixed or target" in batch
    optimizer = lints(changed(DEPTH, 'optimizer = "sgd"\n', "") + "[nuisance.optimizer]\nvalues = ['sgd', 'adam']\n")
    assert "optimizer is a nuisance, but usually target or fixed" in optimizer


def test_a_rate_is_no_good_question() -> None:
    text = changed(changed(DEPTH, RATE, ""), MODEL, "[target.learning_rate]\nvalues = [0.1, 0.2]\n")
    assert "learning_rate is a target, but usually nuisance" in lints(text)


def test_seeds_that_can_never_show_a_gain_are_told_with_a_number_that_can() -> None:
    told = lints(changed(DEPTH, "adopt = 6", "adopt = 4"))
    assert "4 fresh seeds of each can never show a gain among 3 candidates" in told
    assert "p = 0.043, and 0.025 is the most" in told
    assert "adopt = 5 or more" in told
    assert lints(changed(DEPTH, "adopt = 6", "adopt = 5")) == ""


def test_one_run_shows_no_spread() -> None:
    assert "how far seeds differ" in lints(changed(DEPTH, "gate = 3", "gate = 1"))


def test_too_few_trials_for_the_nuisances_are_told_with_enough() -> None:
    told = lints(changed(DEPTH, "trials = 16", "trials = 8"))
    assert "8 trials of each arm are few for 3 nuisances: give 9 or more" in told
    assert lints(changed(DEPTH, "trials = 16", "trials = 9")) == ""


def test_branches_share_the_trials() -> None:
    text = changed(DEPTH, 'optimizer = "sgd"\n', "") + "[nuisance.optimizer]\nvalues = ['sgd', 'adam']\n"
    assert "shared by 2 branches" in lints(text)


def test_more_than_a_handful_of_nuisances_are_too_many_whatever_the_time() -> None:
    many = "".join(f"[nuisance.a{each}]\nlow = 0.0\nhigh = 1.0\n" for each in range(9))
    own = "".join(f"a{each} = 0.5\n" for each in range(9))
    text = changed(OWN, "trials = 20", "hours = 9.0").replace("[incumbent]", f"{many}[incumbent]") + own
    assert "10 nuisances are searched at once" in lints(text)


def test_arms_of_unequal_spaces_are_told() -> None:
    assert "arms differ in how many nuisances they have (sgd 4, adam 3)" in lints(OPTIMIZERS)


def test_a_range_of_many_decades_wastes_trials() -> None:
    assert "spans 6 decades" in lints(changed(DEPTH, "low = 0.003", "low = 0.000001"))
    assert "decades" not in lints(changed(DEPTH, "low = 0.003", "low = 0.00001"))


def test_a_rate_on_a_linear_scale_is_told() -> None:
    assert 'write scale = "log"' in lints(changed(DEPTH, '"log"', '"linear"'))


def test_one_range_for_unlike_optimisers_is_told() -> None:
    told = lints(OPTIMIZERS + RATE)
    assert "learning_rate has one range for sgd and adam" in told
    assert 'under = { optimizer = "sgd" }' in told


def test_an_incumbent_outside_what_is_searched_is_told() -> None:
    assert "learning_rate of 3.0 lies outside" in lints(changed(DEPTH, "learning_rate = 0.1", "learning_rate = 3.0"))
    assert "model of mlp:9 lies outside the round: no arm" in lints(
        changed(DEPTH, '[incumbent]\nmodel = "mlp:64"', '[incumbent]\nmodel = "mlp:9"')
    )
    assert "weight_decay of 0.1 lies outside the round: weight_decay is fixed at 0.0" in lints(
        DEPTH + "weight_decay = 0.1\n"
    )


def test_an_incumbent_without_a_regulariser_is_as_good_as_inside() -> None:
    text = changed(DEPTH, '[fixed.weight_decay]\nvalue = 0.0\ncaveat = "nobody decays weights here"\n', "")
    assert lints(text + "weight_decay = 0.0\n") == ""


def test_a_beginning_is_simple() -> None:
    first = changed(DEPTH, MODEL, "").replace('"helps"', '"initial"')
    assert lints(first) == ""
    told = lints(changed(first, '"constant"', '"cosine"').replace("value = 0.0", "value = 0.1"))
    assert "a constant rate is simplest" in told
    assert "leave weight_decay away" in told


def test_the_best_moment_is_partly_luck() -> None:
    assert "partly luck" in lints(changed(DEPTH, 'name = "accuracy"', 'name = "accuracy"\nat = "best"'))
