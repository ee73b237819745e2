"""From a round's file to a request, and what may change in a round that has runs."""

import hashlib
from pathlib import Path

import msgspec
import pytest

from traindyno.app.rounds.agreement import agreed_round
from traindyno.app.rounds.requests import corners, request_of
from traindyno.core.errors import UsageError
from traindyno.core.requests import Bench, RoundRequest
from traindyno.core.round_file import parse_round

RECIPE = """
name = "it"
[goal]
kind = "maximise"
[job]
model = "mlp:64"
data = "digits:"
batch_size = 32
precision = "bf16"
optimizer = "adam"
epochs = 7
image_size = 8
[budget]
trials = 4
[nuisance.learning_rate]
low = 0.001
high = 0.1
scale = "log"
[fixed.label_smoothing]
value = 0.1
{more}
[incumbent]
learning_rate = 0.01
"""
OWN = """
name = "it"
[goal]
kind = "maximise"
[job]
function = "{function}"
rounds = 3
[metric]
name = "score"
higher_is_better = true
[budget]
trials = 4
[nuisance.rate]
low = 0.1
high = 1.0
[incumbent]
rate = 0.5
"""
DECAY_SEARCHED = '[nuisance.weight_decay]\nlow = 1e-6\nhigh = 1e-2\nscale = "log"'
DECAY_FIXED = "[fixed.weight_decay]\nvalue = 1e-4"


def recipe_round(more: str = "", **bench: object) -> RoundRequest:
    return request_of(parse_round(RECIPE.format(more=more), "it.toml"), Bench(**bench))  # type: ignore[arg-type]


def test_the_values_of_the_job_go_where_they_belong() -> None:
    request = recipe_round()
    assert (request.workload.model, request.workload.data) == ("mlp:64", "digits:")
    assert (request.workload.optimizer, request.workload.image_size) == ("adam", 8)
    assert (request.settings.batch_size, request.settings.precision, request.bench.precision) == (32, "bf16", "bf16")
    assert request.recipe is not None
    assert (request.recipe.epochs, request.recipe.label_smoothing) == (7, 0.1)


def test_what_every_run_sets_has_the_incumbents_value_before() -> None:
    request = recipe_round()
    assert request.recipe is not None
    assert request.recipe.learning_rate == 0.01


def test_the_corners_are_the_incumbent_and_both_ends() -> None:
    rates = [configuration["learning_rate"] for _, configuration in corners(recipe_round().round)]
    assert rates == [0.01, 0.001, 0.1]


def test_what_cannot_be_trained_is_refused_with_its_place_and_no_option() -> None:
    with pytest.raises(UsageError, match=r"^the incumbent: there is nothing to learn from synthetic:") as refused:
        request_of(parse_round(RECIPE.replace('"digits:"', '"synthetic:"').format(more=""), "it.toml"), Bench())
    assert refused.value.hint == "change it in the round's file"


def test_a_job_of_the_users_own_is_known_by_its_content(tmp_path: Path) -> None:
    file = tmp_path / "job.py"
    file.write_text("def run(rate, rounds): return rate")
    function = f"{file}:run"
    request = request_of(parse_round(OWN.format(function=function), "it.toml"), Bench())
    content = hashlib.sha256(file.read_bytes()).hexdigest()
    assert (request.workload.model, request.workload.source_sha256) == (function, content)
    assert request.round.job.function_sha256 == content
    assert request.recipe is None
    file.write_text("def run(rate, rounds): return 2 * rate")
    changed = request_of(parse_round(OWN.format(function=function), "it.toml"), Bench())
    with pytest.raises(UsageError, match="has changed since the round 'it' was begun"):
        agreed_round(request, changed)


def test_code_that_the_job_does_not_name_is_refused(tmp_path: Path) -> None:
    text = RECIPE.replace('kind = "maximise"', 'kind = "helps"').replace("image_size = 8\n", "")
    text = text.format(more='[target.model]\nvalues = ["mlp:64", "net.py:deep"]')
    with pytest.raises(UsageError, match=r"net\.py:deep is not in the file of the job's model, mlp:64"):
        request_of(parse_round(text, "it.toml"), Bench())


def test_a_nuisance_may_be_fixed_but_what_was_fixed_stays_so() -> None:
    searched, fixed = recipe_round(DECAY_SEARCHED), recipe_round(DECAY_FIXED)
    assert agreed_round(searched, fixed) == fixed
    with pytest.raises(UsageError, match=r"weight_decay fixed at 0\.0001; here it is nuisance"):
        agreed_round(fixed, searched)


def test_the_gate_may_have_more_runs_but_not_fewer() -> None:
    few, more = recipe_round("[seeds]\ngate = 1"), recipe_round("[seeds]\ngate = 3")
    assert agreed_round(few, more) == more
    with pytest.raises(UsageError, match="so many runs of the gate: 3; here it is 1"):
        agreed_round(more, few)


def test_the_same_round_with_another_time_budget_stays_what_it_was() -> None:
    before = recipe_round()
    assert agreed_round(before, recipe_round(time_budget_seconds=60.0)) == before


@pytest.mark.parametrize(("field", "value", "named"), [("seed", 7, "the seed 0"), ("device", "cuda:1", "runs on cpu")])
def test_runs_that_would_not_be_alike_are_not_mixed(field: str, value: object, named: str) -> None:
    before = recipe_round()
    bench = msgspec.structs.replace(before.bench, **{field: value})
    with pytest.raises(UsageError, match=named):
        agreed_round(before, msgspec.structs.replace(before, bench=bench))
