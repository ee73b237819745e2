"""Every mistake in a round's file is one sentence that names it, and one that names the fix."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.round_examples import DEPTH, OPTIMIZERS, OWN, changed
from traindyno.core.errors import UsageError
from traindyno.core.round_file import parse_round

TARGET = '[target.model]\nvalues = ["mlp:64", "mlp:64x64", "mlp:64x64x64"]\n'
RATE = 'low = 0.003\nhigh = 1.0\nscale = "log"\n'
UNDER = 'under = { optimizer = "sgd" }\n'


def mistake(text: str) -> str:
    """What is said of the text, message and hint."""
    with pytest.raises(UsageError) as caught:
        parse_round(text, "it.toml")
    assert caught.value.hint
    assert caught.value.message.startswith("it.toml")
    return f"{caught.value.message} | {caught.value.hint}"


@pytest.mark.parametrize(
    ("before", "after", "named", "fix"),
    [
        ('kind = "helps"', "kind = helps", "not valid TOML", "texts in quotes"),
        ("[budget]", "[budget]\ntrials = 16\n[budget]", "twice", "all lines of [budget] under one heading"),
        ("[budget]", "[nuisance.learning_rate]\nlow = 1\n[budget]", "twice", "two parameters need two names"),
        ("[budget]", "[budget]\ntrials = 16", "overwrite", "a name stands twice"),
        ("[budget]", "[bugdet]", "[bugdet]", "budget"),
        ('campaign = "digits"', 'campain = "digits"', "campain", "campaign"),
        ("minimum_gain = 0.002", "trials = 4", "'trials'", "under [budget]"),
        ("minimum_gain = 0.002", "minimum_gain = -1.0", "-1.0", "0 or more"),
        ('name = "depth"', 'name = "../depth"', "../depth", "letters"),
        ('name = "depth"', f'name = "{"a" * 59}"', "name of a round", "58"),
        ('campaign = "digits"', 'campaign = "a b"', "name of a campaign", "64"),
        ('kind = "helps"', "", "no kind", "helps"),
        ('kind = "helps"', 'kind = "help"', "help", 'kind = "helps"'),
        ('kind = "helps"', 'kind = "maximise"', "about no target", "nuisance"),
        (TARGET, "", "there is none", "[target.NAME]"),
        (TARGET, f"{TARGET}[target.schedule]\nvalues = ['constant', 'step']\n", "two questions", "next round"),
        ('["mlp:64", "mlp:64x64", "mlp:64x64x64"]', '["mlp:64"]', "1 value to choose", "[fixed.model]"),
        ('["mlp:64", "mlp:64x64", "mlp:64x64x64"]', "[]", "no values to choose", "two or more"),
        ('["mlp:64", "mlp:64x64", "mlp:64x64x64"]', '["mlp:64", "mlp:64"]', "twice", "once"),
        ('values = ["mlp:64", "mlp:64x64", "mlp:64x64x64"]', "low = 1\nhigh = 2", "an arm for each", "values ="),
        (TARGET, "[target.model]\n", "no values", "values ="),
        (TARGET, f"{TARGET}{UNDER}", "exists in every run", "under away"),
        ("[nuisance.learning_rate]", "[nuisance.learning_rat]", "learning_rat", "learning_rate"),
        ("[nuisance.learning_rate]", "[nuisance.steps]", "length of a run", "[job]"),
        ("[nuisance.learning_rate]", "[nuisance.epochs]", "length of a run", "[job]"),
        ("[nuisance.learning_rate]", "[nuisance.device]", "device", "--device"),
        ("[nuisance.learning_rate]", "[nuisance.data]", "different data", "[job]"),
        (RATE, 'low = 0.0\nhigh = 1.0\nscale = "log"\n', "log scale has no 0", "above 0"),
        (RATE, "low = 1.0\nhigh = 0.1\n", "not below", "exchange"),
        (RATE, "low = 1.0\nhigh = 1.0\n", "not below", "exchange"),
        (RATE, "low = 1.0\n", "no high end", "add high"),
        (RATE, "high = 1.0\n", "no low end", "add low"),
        (RATE, "low = 0.1\nhigh = inf\n", "inf", "number"),
        (RATE, "low = 0.1\nhigh = 0.2\nvalues = [0.1, 0.2]\n", "values and a range", "leave one"),
        (RATE, "values = [0.1]\n", "1 value to choose", "[fixed.learning_rate]"),
        (RATE, "low = 0.5\nhigh = 3.0\ninteger = true\n", "whole numbers", "low and high"),
        (RATE, 'low = 0.1\nhigh = 1.0\nscale = "lin"\n', "lin", 'scale = "linear"'),
        (RATE, "low = 0.1\nhigh = 1.0\nlog = true\n", "'log'", "low"),
        (RATE, f"{RATE}[nuisance.momentum]\nlow = 0.1\nhigh = 1.5\n", "momentum cannot be 1.5", "below 1"),
        (RATE, f"{RATE}[nuisance.learning_rate]\n{RATE}", "twice", "two names"),
        (RATE, f"{RATE}[fixed.learning_rate]\nvalue = 0.1\n", "nuisance and fixed at once", "leave one"),
        (RATE, f"{RATE}[nuisance.other]\nsets = 'learning_rate'\n{RATE}", "both set learning_rate", "one parent"),
        (RATE, f"{RATE}{UNDER}", "optimizer is fixed by the job", "under away"),
        (RATE, f"{RATE}under = 'sgd'\n", 'under cannot be "sgd"', 'under = { NAME = VALUE }, such as { optimizer ='),
        (RATE, "values = 0.1\n", "values cannot be 0.1", "values = [VALUE, VALUE]"),
        (RATE, f"{RATE}under = {{ optimiser = 'sgd' }}\n", "no 'optimiser'", "model"),
        (RATE, f"{RATE}under = {{ model = 'mlp:65' }}\n", "never mlp:65", "mlp:64x64"),
        (RATE, f"{RATE}under = {{ weight_decay = 0.0 }}\n", "weight_decay is fixed", "under away"),
        (RATE, f"{RATE}under = {{ model = 'mlp:64', weight_decay = 0.0 }}\n", "one parent", "under ="),
        ("value = 0.0", "", "not said at what", "value ="),
        ("value = 0.0", "value = [0.0, 0.1]", "one value", "nuisance"),
        ("value = 0.0", "low = 0.0", "one value", "value ="),
        ("value = 0.0", "value = -0.1", "cannot be -0.1", "from 0"),
        ("value = 0.0", 'value = "none"', "weight_decay cannot be", "a number"),
        ("[fixed.weight_decay]\n", "[fixed]\ndecay = 0\n[fixed.momentum]\n", "no single value", "[fixed.decay]"),
        ("trials = 16", "", "no budget", "hours"),
        ("trials = 16", "trials = 16\nhours = 1", "two budgets", "trials"),
        ("trials = 16", "trials = 0", "0 trials", "1 or more"),
        ("trials = 16", "hours = 0.0", "0.0 hours", "above 0"),
        ("gate = 3", "gate = 0", "gate cannot be 0", "gate = 1"),
        ("adopt = 6", "adopt = 1", "adopt cannot be 1", "adopt = 2"),
        ('name = "accuracy"', 'name = "f1"', "'f1'", "loss"),
        ('name = "accuracy"', 'name = "loss"\nhigher_is_better = true', "higher_is_better", "leave it away"),
        ("minimum_gain = 0.002", 'then = "gp"', "how long", "then_trials"),
        ("minimum_gain = 0.002", "then_trials = 4", "does not say how", "gp"),
        ("minimum_gain = 0.002", 'then = "halton"\nthen_trials = 4', "halton", "tpe"),
        ("epochs = 10", "epochs = 10\nsteps = 5", "one length", "leave one"),
        ("epochs = 10", "epoch = 10", "'epoch'", "epochs"),
        ("epochs = 10", 'epochs = 10\n"model.width" = 3', "no argument 'width'", "file.py:function"),
        ("epochs = 10", 'function = "train.py:run"', "not both", "leave"),
        ("epochs = 10", "weight_decay = 0.1", "0.1 in [job], and fixed at 0.0", "alone"),
        ("batch_size = 64", "", "no batch_size", "batch_size = 64"),
        ('optimizer = "sgd"', 'optimizer = "sdg"', "sdg", "sgd"),
        ("learning_rate = 0.1", "learning_rat = 0.1", "learning_rat", "learning_rate"),
        ("learning_rate = 0.1", "learning_rate = 0.1\nepochs = 3", "same epochs", "leave epochs"),
        ("learning_rate = 0.1", 'learning_rate = "fast"', "fast", "a number"),
        ("[seeds]", "[seeds]\nmany = 4", "'many'", "gate"),
    ],
)  # fmt: skip
def test_a_mistake_is_answered_with_the_fix(before: str, after: str, named: str, fix: str) -> None:
    message, _, hint = mistake(changed(DEPTH, before, after)).partition(" | ")
    assert named in message
    assert fix in hint


@pytest.mark.parametrize(
    ("before", "after", "named", "fix"),
    [
        ('function = "train.py:run"', 'function = "train:run"', "names no function", "train.py:run"),
        ('name = "score"\n', "", "missing", "name ="),
        ("higher_is_better = true", "", "more of score is better", "higher_is_better"),
        ("integer = true\n", "", "whole numbers alone, or all between", "integer = true"),
        ("[nuisance.layers]", "[nuisance.max_steps]", "length of a run", "[job]"),
        ("[nuisance.layers]", "[nuisance.a.b]", "dot needs quotes", '[nuisance."a.b"]'),
        ("layers = 2", "", "which layers there is to beat", "[incumbent]"),
        ("layers = 2", "layer = 2\nlayers = 2", "no 'layer'", "layers"),
        ("[nuisance.layers]", "[fixed.colour]\nvalue = 'red'\n[nuisance.layers]", "no rule says", "caveat ="),
        ('name = "own"', 'name = "own"\nprune = true', "not ended half-way", "prune away"),
    ],
)
def test_so_is_one_about_a_job_of_the_users_own(before: str, after: str, named: str, fix: str) -> None:
    message, _, hint = mistake(changed(OWN, before, after)).partition(" | ")
    assert named in message
    assert fix in hint


def test_a_job_without_a_model_is_refused_unless_the_incumbent_has_one() -> None:
    text = changed(DEPTH, 'model = "mlp:64"\ndata', "data")
    assert parse_round(text, "it.toml").job.model is None
    assert "which model there is to beat" in mistake(changed(text, '[incumbent]\nmodel = "mlp:64"', "[incumbent]"))
    assert "no model" in mistake(changed(text, TARGET, "[target.fine_tuning]\nvalues = ['all', 'head']\n"))


def test_a_round_that_varies_nothing_is_refused() -> None:
    alone = changed(OWN, 'kind = "helps"', 'kind = "maximise"').partition("[target.width]")[0]
    message, _, hint = mistake(alone).partition(" | ")
    assert "nothing is searched" in message
    assert "[nuisance.NAME]" in hint
    assert parse_round(f"{alone}[nuisance.width]\nvalues = [1, 2]\n[incumbent]\nwidth = 1\n", "it.toml").searched
    everything = "".join(f"[fixed.{name}]\nvalue = 0.1\n" for name in ("learning_rate", "momentum", "label_smoothing"))
    text = changed(DEPTH, TARGET, "").partition("[nuisance")[0] + "[fixed.weight_decay]\nvalue = 0.0\n" + everything
    assert "nothing is searched" in mistake(changed(text, 'kind = "helps"', 'kind = "maximise"'))
    assert parse_round(text + TARGET, "it.toml").target is not None


def test_a_table_is_no_single_value() -> None:
    assert "seeds is a table" in mistake(changed(OPTIMIZERS, 'name = "optimiser"', "seeds = 3"))


def test_nothing_stands_under_a_range() -> None:
    text = DEPTH + "[nuisance.clip_norm]\nlow = 0.5\nhigh = 2.0\nunder = { learning_rate = 0.1 }\n"
    assert "learning_rate is a range" in mistake(text)


def test_nothing_stands_under_itself() -> None:
    first = "[nuisance.a]\nvalues = [1, 2]\nunder = { b = 1 }\n"
    second = "[nuisance.b]\nvalues = [1, 2]\nunder = { a = 1 }\n"
    assert "never begins to exist" in mistake(changed(OWN, "[incumbent]", f"{first}{second}[incumbent]"))
    alone = "[nuisance.a]\nvalues = [1, 2]\nunder = { a = 1 }\n"
    assert "never begins to exist" in mistake(changed(OWN, "[incumbent]", f"{alone}[incumbent]"))


def test_equal_fields_may_stand_under_different_values_but_not_together() -> None:
    def rate(name: str, optimizer: str) -> str:
        return f'[nuisance.{name}]\nsets = "learning_rate"\nunder = {{ optimizer = "{optimizer}" }}\n{RATE}'

    assert parse_round(OPTIMIZERS + rate("a", "sgd") + rate("b", "adam"), "it.toml")
    assert "a and b both set learning_rate" in mistake(OPTIMIZERS + rate("a", "sgd") + rate("b", "sgd"))


def test_the_incumbent_goes_by_what_is_set() -> None:
    rate = f'[nuisance.fast]\nsets = "learning_rate"\n{RATE}[incumbent]\nfast = 0.1\n'
    assert "learning_rate" in mistake(changed(OPTIMIZERS, "[target.opt", f"{rate}[target.opt")).partition(" | ")[2]


@pytest.mark.parametrize("schedule", ["cosine", "step"])
def test_a_falling_rate_is_not_pruned(schedule: str) -> None:
    text = changed(DEPTH, 'name = "depth"', 'name = "depth"\nprune = true')
    assert parse_round(text, "it.toml").prune
    assert schedule in mistake(changed(text, '"constant"', f'"{schedule}"'))


def test_nor_one_that_falls_because_nobody_says_otherwise() -> None:
    assert "cosine" in mistake(changed(OPTIMIZERS, 'name = "optimiser"', "prune = true"))


def test_nor_one_that_falls_in_some_arm() -> None:
    text = changed(DEPTH, 'name = "depth"', 'name = "depth"\nprune = true')
    assert "step" in mistake(changed(text, TARGET, '[target.schedule]\nvalues = ["constant", "step"]\n'))


def test_momentum_is_refused_where_no_run_has_any() -> None:
    text = changed(DEPTH, '"sgd"', '"adam"') + "[nuisance.momentum]\nlow = 0.0\nhigh = 0.9\n"
    assert "momentum only matters with optimizer = 'sgd'" in mistake(text)


def test_a_target_that_the_recipe_has_no_value_of_must_be_said_of_the_incumbent() -> None:
    text = changed(DEPTH, TARGET, "[target.conv1_stride]\nvalues = [1, 2]\n").replace('model = "mlp:64"\nl', "l")
    assert "which conv1_stride there is to beat" in mistake(text)
    assert parse_round(changed(text, "[incumbent]", "[incumbent]\nconv1_stride = 2"), "it.toml")


@given(st.text())
def test_no_text_at_all_is_a_bug(text: str) -> None:
    mistake(text)


@given(st.data())
def test_a_file_with_a_line_missing_is_a_round_or_a_mistake(data: st.DataObject) -> None:
    lines = data.draw(st.sampled_from([DEPTH, OPTIMIZERS, OWN])).splitlines()
    missing = data.draw(st.integers(0, len(lines) - 1))
    try:
        parse_round("\n".join(lines[:missing] + lines[missing + 1 :]), "it.toml")
    except UsageError as error:
        told = error.hint
    else:
        told = "a round"
    assert told
