"""A round is proposed from a few wishes, and builds on what the campaign adopted last."""

from pathlib import Path
from typing import Any

import pytest

from traindyno.analysis.rounds.points import ENOUGH_PER_DIMENSION
from traindyno.app.rounds.files import read_round
from traindyno.app.rounds.first import first_round
from traindyno.app.rounds.new import draft, propose
from traindyno.app.rounds.wishes import GAIN_IN_ACCURACY, Wishes
from traindyno.core.errors import UsageError
from traindyno.core.rounds import Parameter, Range, Round

DEPTH = "model=mlp:64,mlp:64x64"


def proposed(current: dict[str, Any] | None = None, **wishes: Any) -> Round:
    return propose(Wishes(**wishes), "it.toml", current or {})


def parameter(round_: Round, field: str) -> Parameter:
    (found,) = [each for each in round_.parameters if each.field == field]
    return found


def test_nothing_but_a_target_is_needed() -> None:
    round_ = proposed(targets=(DEPTH,))
    assert (round_.name, round_.goal.kind, round_.target) == ("it", "helps", parameter(round_, "model"))
    assert round_.goal.question == "Does another model help: mlp:64x64 instead of mlp:64?"
    assert (round_.job.model, round_.job.data) == ("mlp:64", "digits:")


def test_without_a_target_the_best_is_looked_for() -> None:
    assert proposed().goal.kind == "maximise"


def test_every_nuisance_is_spelt_out_in_the_file() -> None:
    round_ = proposed(targets=(DEPTH,))
    assert all(each.said for each in round_.searched)
    assert [each.name for each in round_.searched] == ["learning_rate", "momentum", "weight_decay", "label_smoothing"]


def test_what_was_said_of_roles_holds() -> None:
    round_ = proposed(targets=(DEPTH,), nuisances=("learning_rate=0.01..0.5",), fixed=("weight_decay=0",))
    assert parameter(round_, "learning_rate").range == Range(low=0.01, high=0.5, scale="log")
    assert (parameter(round_, "weight_decay").role, parameter(round_, "weight_decay").value) == ("fixed", 0.0)


def test_the_first_value_of_the_target_is_what_there_is_unless_it_is_said() -> None:
    assert proposed(targets=("conv1_stride=2,1",), job={"model": "ir:18"}).job.values["conv1_stride"] == 2
    assert proposed(targets=("model=mlp:9,mlp:8",), job={"model": "mlp:8"}).job.model == "mlp:8"


def test_what_is_searched_of_the_users_own_model_begins_in_the_middle_unless_it_is_said() -> None:
    own: dict[str, Any] = {"nuisances": ("model.width=1..3", "model.dropout")}
    middle = proposed(**own, job={"model": "m.py:f"}).incumbent
    assert (middle["model.width"], middle["model.dropout"]) == (2, 0.25)
    assert proposed(**own, job={"model": "m.py:f", "model.width": 3}).incumbent["model.width"] == 3
    assert proposed(**own, job={"model": "m.py:f"}, incumbent=("model.width=1",)).incumbent["model.width"] == 1


def test_what_the_job_says_of_something_searched_is_what_there_is_to_beat() -> None:
    sizes: dict[str, Any] = {"nuisances": ("batch_size=16..64",), "job": {"batch_size": 32}}
    assert proposed(**sizes).incumbent["batch_size"] == 32
    assert proposed({"batch_size": 64}, **sizes).incumbent["batch_size"] == 32, "what was adopted is older news"
    own: dict[str, Any] = {"function": "train.py:run", "nuisances": ("width=16..64",), "job": {"width": 32}}
    assert proposed(**own).incumbent["width"] == 32


def test_a_name_alone_that_no_rule_has_a_range_for_is_refused_with_what_to_write() -> None:
    with pytest.raises(UsageError, match="batch_size has no usual range") as refused:
        proposed(nuisances=("batch_size",))
    assert "batch_size=LOW..HIGH" in str(refused.value.hint)


def test_trials_grow_with_what_is_searched() -> None:
    few, many = proposed(), proposed(nuisances=("clip_norm", "warm_up_epochs=0..2"))
    assert few.budget.trials == 4 * ENOUGH_PER_DIMENSION
    assert many.budget.trials == 6 * ENOUGH_PER_DIMENSION
    assert proposed(hours=2.0).budget.hours == 2.0


def test_a_beginning_has_a_constant_rate_and_the_rate_alone_to_tune() -> None:
    round_ = proposed(goal="initial", job={"epochs": 3.0})
    assert round_.job.values["schedule"] == "constant"
    assert [each.name for each in round_.searched] == ["learning_rate"]


def test_a_round_goes_on_from_what_was_adopted() -> None:
    adopted = {
        "model": "mlp:32", "data": "digits:", "optimizer": "sgd", "schedule": "constant", "batch_size": 16,
        "epochs": 4.0, "learning_rate": 0.3, "momentum": 0.5, "weight_decay": 0.001, "clip_norm": 2.0,
    }  # fmt: skip
    round_ = proposed(adopted, targets=("optimizer=sgd,adam",))
    assert (round_.job.model, round_.job.values["batch_size"], round_.job.values["clip_norm"]) == ("mlp:32", 16, 2.0)
    assert round_.incumbent == {"learning_rate": 0.3, "momentum": 0.5, "weight_decay": 0.001}


def test_the_incumbent_is_as_long_as_the_round_even_if_it_was_adopted_at_another_length() -> None:
    adopted = {"model": "mlp:32", "data": "digits:", "batch_size": 16, "steps": 100, "learning_rate": 0.3}
    assert proposed(adopted).job.values["steps"] == 100
    longer = proposed(adopted, job={"epochs": 20.0})
    assert longer.job.values["epochs"] == 20.0
    assert "steps" not in {**longer.job.values, **longer.incumbent}
    shorter = proposed({**adopted, "epochs": 5.0}, job={"steps": 7})
    assert (shorter.job.values["steps"], "epochs" in shorter.job.values) == (7, False)


def test_another_batch_than_the_adopted_one_is_still_to_beat_the_adopted_one() -> None:
    adopted = {"model": "mlp:32", "data": "digits:", "batch_size": 16, "learning_rate": 0.3}
    round_ = proposed(adopted, job={"batch_size": 64})
    assert (round_.job.values["batch_size"], round_.incumbent["batch_size"]) == (64, 16)


def test_what_is_fixed_now_is_fixed_whatever_was_adopted() -> None:
    adopted = {"model": "mlp:32", "data": "digits:", "batch_size": 16, "learning_rate": 0.3, "weight_decay": 0.1}
    round_ = proposed(adopted, fixed=("weight_decay=0.2",))
    assert parameter(round_, "weight_decay").value == 0.2
    assert "weight_decay" not in round_.incumbent


def test_a_job_of_ones_own_begins_in_the_middle_where_nobody_says_otherwise() -> None:
    wishes: dict[str, Any] = {"function": "train.py:run", "metric": "score", "higher_is_better": True}
    wishes |= {"targets": ("width=16,32",), "nuisances": ("layers=1..5", "rate=0.01..1.0:log")}
    assert proposed(**wishes).incumbent == {"width": 16, "layers": 3, "rate": 0.1}
    assert proposed({"layers": 4, "colour": "red"}, **wishes).incumbent["layers"] == 4
    assert proposed({"layers": 4, "colour": "red"}, **wishes).job.values == {"colour": "red"}


def test_mistakes_are_those_of_the_file() -> None:
    with pytest.raises(UsageError, match="two questions"):
        proposed(targets=(DEPTH, "schedule=constant,step"))
    with pytest.raises(UsageError, match="learning_rate is given twice"):
        proposed(nuisances=("lr=0.1..1", "learning_rate=0.1..2"))
    with pytest.raises(UsageError, match="length of a run"):
        proposed(nuisances=("epochs=1..9",))
    with pytest.raises(UsageError, match="1 value to choose"):
        proposed(targets=("model=mlp:64",))


def test_the_file_is_the_round_that_was_proposed(tmp_path: Path) -> None:
    wishes = Wishes(targets=("optimizer=sgd,adam",), fixed=("label_smoothing=0.1",), trials=3)
    answer = draft(wishes, tmp_path / "o.toml", {})
    assert read_round(tmp_path / "o.toml") == propose(wishes, tmp_path / "o.toml", {})
    assert answer.text == (tmp_path / "o.toml").read_text()


def test_reasons_and_warnings_come_with_it(tmp_path: Path) -> None:
    answer = draft(Wishes(targets=(DEPTH,), fixed=("lr=0.1",), trials=3), tmp_path / "d.toml", {})
    assert "target: model, 2 arms (mlp:64, mlp:64x64)" in answer.reasons
    assert any(each.startswith("fixed: learning_rate, 0.1; the answer holds at") for each in answer.reasons)
    assert any("learning_rate is fixed at 0.1 but tied to model" in each for each in answer.lints)


def test_the_middle_of_a_range_is_on_the_scale_that_its_rule_gives_it() -> None:
    own: dict[str, Any] = {"function": "train.py:run", "metric": "score", "higher_is_better": True}
    round_ = proposed(**own, nuisances=("lr=0.001..1.0",))
    assert round_.searched[0].range == Range(low=0.001, high=1.0, scale="log")
    assert round_.incumbent == {"lr": 0.032}


def test_a_model_that_brings_its_data_has_no_source_of_data_to_tell_of(tmp_path: Path) -> None:
    answer = draft(Wishes(job={"model": "mine.py:model"}), tmp_path / "o.toml", {})
    assert "synthetic" not in "".join((answer.text, *answer.reasons))
    assert read_round(tmp_path / "o.toml") == propose(Wishes(job={"model": "mine.py:model"}), tmp_path / "o.toml", {})
    assert "digits:" in draft(Wishes(job={"model": "mine.py:model", "data": "digits:"}), tmp_path / "d.toml", {}).text


def test_data_of_no_known_kind_is_refused() -> None:
    with pytest.raises(UsageError, match="'banana', which is no source of data"):
        proposed(job={"data": "banana"})


def test_what_rests_on_simulated_runs_is_told_in_the_file_and_as_a_warning(tmp_path: Path) -> None:
    answer = draft(Wishes(), tmp_path / "s.toml", {"model": "mlp:9"}, simulated=("first", "depth"))
    assert "was simulated (first, depth), which is no evidence" in answer.lints[0]
    assert "# Note: what this round builds on was simulated (first, depth)" in answer.text
    assert not any("simulated" in each for each in draft(Wishes(), tmp_path / "r.toml", {"model": "mlp:9"}).lints)


def test_a_campaign_begins_with_a_price_of_complexity() -> None:
    begun = first_round("mlp:64", "digits:", {"batch_size": 64})
    assert begun.minimum_gain == proposed().minimum_gain == GAIN_IN_ACCURACY
