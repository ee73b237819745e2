"""The round that follows: the same question again where checks failed, and else the next, with what was found."""

from collections.abc import Sequence

import msgspec
import pytest

from traindyno.analysis.rounds.next_round import Draft, free_name, next_round
from traindyno.analysis.rounds.points import ENOUGH_PER_DIMENSION
from traindyno.analysis.rounds.questions import decays, deeper_models
from traindyno.core.answers.rounds import AdoptAnswer, AdoptVerdict, BestFound, Check, RangeProposal, RoundAnswer
from traindyno.core.round_file import format_round, parse_round
from traindyno.core.round_lints import lint_round
from traindyno.core.round_space import incumbent_of
from traindyno.core.rounds import Configuration, Round

DEPTH = """
name = "depth"
campaign = "digits"
minimum_gain = 0.002
[goal]
kind = "helps"
question = "Does a deeper network help?"
[job]
model = "mlp:64"
data = "digits:"
optimizer = "sgd"
batch_size = 64
epochs = 10
schedule = "constant"
[budget]
trials = 16
[target.model]
values = ["mlp:64", "mlp:64x64"]
[nuisance.learning_rate]
low = 0.003
high = 1.0
scale = "log"
[nuisance.momentum]
low = 0.0
high = 0.95
[fixed.weight_decay]
value = 0.0001
[fixed.label_smoothing]
value = 0.0
[incumbent]
model = "mlp:64"
learning_rate = 0.1
"""
OPTIMISER = """
name = "optimiser"
campaign = "digits"
[goal]
kind = "helps"
[job]
model = "mlp:64x64"
data = "digits:"
batch_size = 64
epochs = 10
schedule = "constant"
[budget]
trials = 16
[target.optimizer]
values = ["sgd", "adamw"]
[nuisance.sgd_rate]
sets = "learning_rate"
under = { optimizer = "sgd" }
low = 0.003
high = 1.0
scale = "log"
[nuisance.adamw_rate]
sets = "learning_rate"
under = { optimizer = "adamw" }
low = 0.0003
high = 0.1
scale = "log"
[fixed.weight_decay]
value = 0.0
[fixed.label_smoothing]
value = 0.0
[incumbent]
optimizer = "sgd"
learning_rate = 0.1
momentum = 0.9
"""
OWN = """
name = "mine"
[goal]
kind = "maximise"
[job]
function = "train.py:run"
[metric]
name = "bleu"
higher_is_better = true
[budget]
trials = 16
[nuisance.rate]
low = 0.001
high = 1.0
scale = "log"
[incumbent]
rate = 0.1
"""
NARROW = RangeProposal(parameter="learning_rate", kind="narrow", reason="it lies there", low=0.02, high=0.5)
FIX = RangeProposal(parameter="momentum", kind="fix", reason="it explains no more than chance would, so", value=0.5)
WIDEN = RangeProposal(parameter="learning_rate", kind="widen", reason="at the high end", low=0.003, high=10.0)
MORE = RangeProposal(parameter="trials", kind="add_trials", reason="still rising", value=32)
FAILED = Check(name="search space", state="failed", text="Too narrow.", next_step="Set high = 10.")


def the_round(text: str) -> Round:
    return parse_round(text, "a.toml")


def answer_of(
    round_: Round, *proposals: RangeProposal, ready: bool = True, best: Configuration | None = None
) -> RoundAnswer:
    return RoundAnswer(
        round=round_.name,
        campaign=round_.campaign,
        goal=round_.goal.kind,
        question=None,
        metric="accuracy",
        higher_is_better=True,
        target=None,
        ready=ready,
        checks=() if ready else (FAILED,),
        arms=(),
        isolation=(),
        best_of_k=(),
        importance=(),
        proposals=proposals,
        incumbent=incumbent_of(round_),
        incumbent_scores=(),
        best=None if best is None else BestFound(arm="", score=0.9, configuration=best, index=0, branch=""),
    )


def decided(round_: Round, verdict: AdoptVerdict, **changes: str | float) -> AdoptAnswer:
    return AdoptAnswer(
        round=round_.name,
        campaign=round_.campaign,
        goal="helps",
        question=None,
        metric="accuracy",
        higher_is_better=True,
        verdict=verdict,
        winner=None,
        p_value=0.01,
        gain=0.01,
        ci95=None,
        seeds=6,
        needed_seeds=None,
        minimum_gain=0.0,
        level=0.05,
        spent=0.0,
        rows=(),
        configuration={**incumbent_of(round_), **changes},
    )


def reads_back(draft: Draft) -> Round:
    """What the drafted file says, which must be the drafted round."""
    comments = dict(draft.reasons)
    found = parse_round(format_round(draft.round, comments), "next.toml")
    assert found == draft.round
    return found


def told(draft: Draft) -> str:
    return "\n".join(f"{subject}: {text}" for subject, text in draft.reasons)


def test_a_round_at_its_boundary_is_asked_again_with_wider_ranges() -> None:
    round_ = the_round(DEPTH)
    draft = next_round(round_, answer_of(round_, WIDEN, ready=False), None, ["model"], ["depth"])
    found = reads_back(draft)
    assert (found.name, found.goal, found.target) == ("depth-2", round_.goal, round_.target)
    rate = found.parameter("learning_rate").range
    assert rate is not None
    assert (rate.low, rate.high) == (0.003, 10.0)
    assert found.budget.trials == 16
    assert "Too narrow. Set high = 10." in told(draft)
    assert "keep its runs" in told(draft)


def test_a_round_with_too_few_runs_is_asked_again_with_more() -> None:
    round_ = the_round(DEPTH)
    draft = next_round(round_, answer_of(round_, MORE, ready=False), None, ["model"], [])
    assert reads_back(draft).budget.trials == 32


def test_after_the_model_comes_the_optimiser_with_parameters_of_its_own() -> None:
    round_ = the_round(DEPTH)
    adoption = decided(round_, "adopt", model="mlp:64x64", learning_rate=0.2, momentum=0.8)
    draft = next_round(round_, answer_of(round_, NARROW, FIX), adoption, ["model"], ["depth"])
    found = reads_back(draft)
    assert found.name == "optimiser"
    assert found.campaign == "digits"
    assert found.job.model == "mlp:64x64"
    assert found.target is not None
    assert (found.target.field, found.target.values) == ("optimizer", ("sgd", "adamw"))
    rates = [each.under for each in found.searched if each.field == "learning_rate"]
    assert rates == [("optimizer", "sgd"), ("optimizer", "adamw")]
    assert incumbent_of(found) | {"optimizer": "sgd", "learning_rate": 0.2, "momentum": 0.8} == incumbent_of(found)
    assert not [lint for lint in lint_round(found) if "tied" in lint]


def test_what_was_fixed_for_the_old_model_is_a_nuisance_again() -> None:
    round_ = the_round(DEPTH)
    adoption = decided(round_, "adopt", model="mlp:64x64")
    asked = ["model", "optimizer", "weight_decay"]
    draft = next_round(round_, answer_of(round_), adoption, asked, ["depth"])
    assert "weight_decay" in [each.field for each in reads_back(draft).searched]
    assert "weight_decay: A nuisance again, for model has changed" in told(draft)
    kept = next_round(round_, answer_of(round_), decided(round_, "keep"), asked, ["depth"])
    assert "weight_decay" not in [each.field for each in reads_back(kept).searched]


def test_when_all_is_asked_the_best_is_wanted_with_what_was_learnt() -> None:
    round_ = the_round(DEPTH)
    asked = ["model", "optimizer", "weight_decay"]
    draft = next_round(round_, answer_of(round_, NARROW, FIX), decided(round_, "keep"), asked, ["depth"])
    found = reads_back(draft)
    assert (found.name, found.goal.kind, found.target) == ("maximise", "maximise", None)
    rate = found.parameter("learning_rate").range
    assert rate is not None
    assert (rate.low, rate.high) == (0.02, 0.5)
    momentum = found.parameter("momentum")
    assert (momentum.role, momentum.value) == ("fixed", 0.9)
    assert momentum.caveat == "the answer holds at a momentum of 0.9"
    assert (found.then, found.then_trials) == ("gp", 8)
    assert "Narrower: it lies there." in told(draft)
    assert "Fixed: it explains no more than chance would." in told(draft)


def test_a_narrower_range_leaves_room_for_the_incumbent() -> None:
    round_ = the_round(DEPTH)
    adoption = decided(round_, "adopt", learning_rate=0.9)
    asked = ["model", "optimizer", "weight_decay"]
    found = reads_back(next_round(round_, answer_of(round_, NARROW), adoption, asked, []))
    rate = found.parameter("learning_rate").range
    assert rate is not None
    assert rate.high == 0.9


def test_after_the_optimiser_only_the_parameters_of_the_chosen_one_stay() -> None:
    round_ = the_round(OPTIMISER)
    narrow = RangeProposal(parameter="adamw_rate", kind="narrow", reason="there", low=0.001, high=0.01)
    adoption = decided(round_, "adopt", optimizer="adamw", learning_rate=0.004)
    draft = next_round(round_, answer_of(round_, narrow), adoption, ["model", "optimizer"], ["optimiser"])
    found = reads_back(draft)
    assert found.target is not None
    assert (found.target.field, found.target.values) == ("weight_decay", (0.0, 0.01, 0.1))
    assert found.job.values["optimizer"] == "adamw"
    assert [each.name for each in found.searched if each.field == "learning_rate"] == ["learning_rate"]
    rate = found.parameter("learning_rate").range
    assert rate is not None
    assert (rate.low, rate.high) == (0.001, 0.01)
    assert found.incumbent["learning_rate"] == 0.004
    assert "momentum" not in [each.field for each in found.searched]


def test_a_regulariser_that_was_adopted_is_tuned_where_the_best_is_wanted() -> None:
    text = DEPTH.replace(
        '[target.model]\nvalues = ["mlp:64", "mlp:64x64"]', "[target.weight_decay]\nvalues = [0.0, 0.001]"
    )
    round_ = the_round(text.replace("[fixed.weight_decay]\nvalue = 0.0001\n", ""))
    asked = ["model", "optimizer", "weight_decay"]
    adopted = reads_back(next_round(round_, answer_of(round_), decided(round_, "adopt", weight_decay=0.001), asked, []))
    assert adopted.parameter("weight_decay").role == "nuisance"
    assert adopted.incumbent["weight_decay"] == 0.001
    kept = reads_back(next_round(round_, answer_of(round_), decided(round_, "keep", weight_decay=0.0), asked, []))
    assert (kept.parameter("weight_decay").role, kept.job.values["weight_decay"]) == ("fixed", 0.0)


SMOOTHING = DEPTH.replace(
    '[target.model]\nvalues = ["mlp:64", "mlp:64x64"]', "[target.label_smoothing]\nvalues = [0.0, 0.1, 0.3]"
).replace("[fixed.label_smoothing]\nvalue = 0.0\n", "")


@pytest.mark.parametrize(
    ("asked", "target", "strength", "high"),
    [([], "model", 0.1, 0.2), (["model"], "optimizer", 0.1, None), (["model", "optimizer"], "weight_decay", 0.3, 0.3)],
)
def test_a_draft_tunes_the_old_target_where_it_would_be_warned_of_fixing_it(
    asked: Sequence[str], target: str, strength: float, high: float | None
) -> None:
    round_ = the_round(SMOOTHING)
    adoption = decided(round_, "adopt", label_smoothing=strength)
    draft = next_round(round_, answer_of(round_), adoption, asked, [])
    found = reads_back(draft)
    assert found.target is not None
    assert found.target.field == target
    assert not [lint for lint in lint_round(found) if "tied" in lint or "outside" in lint]
    searched = found.parameter("label_smoothing").range
    assert (None if searched is None else searched.high) == high
    assert incumbent_of(found)["label_smoothing"] == strength
    assert (f"label_smoothing: A nuisance now, for each value of {target}" in told(draft)) == (high is not None)


def test_a_draft_tunes_what_the_job_fixed_where_the_new_question_is_tied_to_it() -> None:
    round_ = the_round(
        DEPTH.replace("epochs = 10", "epochs = 10\nmomentum = 0.9").replace(
            "[nuisance.momentum]\nlow = 0.0\nhigh = 0.95\n", ""
        )
    )
    found = reads_back(next_round(round_, answer_of(round_), decided(round_, "keep"), ["model"], []))
    assert [each.name for each in found.searched if each.field == "momentum"] == ["sgd_momentum"]
    assert not [lint for lint in lint_round(found) if "tied" in lint]


def test_what_is_undecided_stays_for_now() -> None:
    round_ = the_round(DEPTH)
    draft = next_round(round_, answer_of(round_), decided(round_, "undecided"), ["model"], [])
    assert "stay for now: fresh seeds have not decided in depth." in told(draft)


def test_without_fresh_seeds_the_incumbent_stays_and_is_told_so() -> None:
    round_ = the_round(DEPTH)
    draft = next_round(round_, answer_of(round_), None, ["model"], [])
    assert incumbent_of(reads_back(draft))["model"] == "mlp:64"
    assert "`traindyno round adopt depth` has not run" in told(draft)


def test_after_a_first_round_its_best_is_what_there_is_to_beat() -> None:
    text = DEPTH.replace('kind = "helps"', 'kind = "initial"').replace(
        '[target.model]\nvalues = ["mlp:64", "mlp:64x64"]', ""
    )
    round_ = the_round(text)
    best = {**incumbent_of(round_), "learning_rate": 0.33}
    draft = next_round(round_, answer_of(round_, best=best), None, ["initial"], ["depth"])
    found = reads_back(draft)
    assert (found.name, found.incumbent["learning_rate"]) == ("depth-2", 0.33)
    assert found.target is not None
    assert found.target.values == ("mlp:64", "mlp:64x64", "mlp:64x64x64")


def test_of_a_job_of_the_users_own_no_rule_knows_another_question() -> None:
    round_ = the_round(OWN)
    narrow = RangeProposal(parameter="rate", kind="narrow", reason="there", low=0.05, high=0.5)
    found = reads_back(next_round(round_, answer_of(round_, narrow), None, ["maximise"], ["mine", "maximise"]))
    assert (found.name, found.goal.kind) == ("maximise-2", "maximise")
    assert (
        found.parameter("rate").range
        == the_round(OWN.replace("0.001", "0.05").replace("1.0", "0.5")).parameter("rate").range
    )


@pytest.mark.parametrize(
    ("name", "taken", "free"),
    [
        ("a", [], "a"),
        ("a", ["a"], "a-2"),
        ("a-2", ["a", "a-2"], "a-3"),
        ("a", ["a", "a-2"], "a-3"),
        ("7", ["7"], "7-2"),
    ],
)
def test_a_name_that_is_taken_gets_a_number(name: str, taken: Sequence[str], free: str) -> None:
    assert free_name(name, taken) == free


def test_only_models_whose_family_is_known_have_deeper_ones() -> None:
    assert deeper_models("mlp:64x32") == ("mlp:64x32x32", "mlp:64x32x32x32")
    assert deeper_models("torchvision:resnet18") == ("torchvision:resnet34",)
    assert deeper_models("net.py:make") == ()


def test_weight_decays_to_compare_include_none_and_the_incumbents() -> None:
    assert decays("sgd", 0.0) == (0.0, 0.0001, 0.001)
    assert decays("adamw", 0.05) == (0.0, 0.01, 0.05, 0.1)


def test_a_round_that_follows_has_as_many_trials_and_seeds_as_it_needs() -> None:
    round_ = the_round(DEPTH.replace("trials = 16", "trials = 3\n[seeds]\nadopt = 3"))
    adoption = msgspec.structs.replace(decided(round_, "adopt", model="mlp:64x64"), seeds=12)
    draft = next_round(round_, answer_of(round_), adoption, ["model"])
    found = reads_back(draft)
    assert found.budget.trials == 3 * ENOUGH_PER_DIMENSION  # the rate, the momentum and the decay of sgd
    assert found.seeds.adopt == 12
    assert not any("few for" in lint or "seeds of each" in lint for lint in lint_round(found))
    assert "seeds: adopt = 12, as many as were used last." in told(draft)


def test_asking_again_is_not_asking_with_too_few_again() -> None:
    round_ = the_round(DEPTH.replace("trials = 16", "trials = 3\n[seeds]\nadopt = 2"))
    found = reads_back(next_round(round_, answer_of(round_, ready=False), None, ["model"]))
    assert found.budget.trials == 2 * ENOUGH_PER_DIMENSION
    assert not any("few for" in lint or "seeds of each" in lint for lint in lint_round(found))


def test_what_is_enough_already_stays() -> None:
    round_ = the_round(DEPTH.replace("trials = 16", "trials = 99\n[seeds]\nadopt = 20"))
    found = next_round(round_, answer_of(round_), decided(round_, "keep"), ["model"]).round
    assert (found.budget.trials, found.seeds.adopt) == (99, 20)
