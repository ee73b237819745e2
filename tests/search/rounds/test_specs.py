"""Values find their places in the recipe, the workload and the settings."""

import msgspec
import pytest

from search.rounds.fake_round import a_round, request_for, template_for
from traindyno.core.errors import UsageError
from traindyno.core.records import TrialSpec, WorkloadSpec
from traindyno.core.rounds import Configuration, Draw, Floor, RoundJob
from traindyno.search.rounds.specs import spec_of

DRAW = Draw(phase="search", arm="mlp:64", index=3, values={"learning_rate": 0.2})


def spec_with(configuration: Configuration, floors: tuple[Floor, ...] = ()) -> TrialSpec:
    request = request_for(a_round())
    return spec_of(request, template_for(request), configuration, DRAW, seed=11, floors=floors)


def test_each_value_is_set_where_it_belongs() -> None:
    spec = spec_with({"learning_rate": 0.2, "epochs": 3, "optimizer": "adam", "batch_size": 32, "model": "mlp:8"})
    assert spec.kind == "learn"
    assert spec.recipe is not None
    assert (spec.recipe.learning_rate, spec.recipe.epochs, spec.recipe.momentum) == (0.2, 3.0, 0.9)
    assert (spec.workload.model, spec.workload.optimizer, spec.workload.data) == ("mlp:8", "adam", "digits:")
    assert (spec.settings.batch_size, spec.seed, spec.draw) == (32, 11, DRAW)


def test_device_and_precision_are_the_benchs_unless_the_round_sets_a_precision() -> None:
    spec = spec_with({"learning_rate": 0.2})
    assert (spec.settings.device, spec.settings.precision) == ("cuda", "bf16")
    assert spec_with({"learning_rate": 0.2, "precision": "fp32"}).settings.precision == "fp32"


def test_an_argument_of_the_models_function_is_handed_to_it() -> None:
    assert spec_with({"learning_rate": 0.2, "model.width": 8}).workload.arguments == {"width": 8}


def test_floors_go_with_the_trial() -> None:
    floors = (Floor(examples=100, metric="accuracy", value=0.4),)
    assert spec_with({"learning_rate": 0.2}, floors).floors == floors


def test_a_field_that_nothing_has_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="'learning_rat' is nothing that the recipe") as error:
        spec_with({"learning_rat": 0.2})
    assert "learning_rate" in str(error.value.hint)
    for field in ("device", "arguments", "target"):
        with pytest.raises(UsageError, match="is nothing that the recipe"):
            spec_with({field: "x"})


@pytest.mark.parametrize("bad", [{"schedule": "sometimes"}, {"batch_size": "many"}, {"optimizer": 3}])
def test_a_value_that_cannot_be_is_refused(bad: Configuration) -> None:
    with pytest.raises(UsageError, match="cannot be"):
        spec_with({"learning_rate": 0.2, **bad})


def test_a_recipe_without_any_rate_is_refused() -> None:
    request = msgspec.structs.replace(request_for(a_round()), recipe=None)
    with pytest.raises(UsageError, match="learning_rate"):
        spec_of(request, template_for(request), {"epochs": 2}, DRAW, seed=0)


def test_the_jobs_own_model_and_data_stay_where_the_template_found_them() -> None:
    request = request_for(a_round())
    found = WorkloadSpec(model="mlp:64", data="folder:/elsewhere")
    template = msgspec.structs.replace(template_for(request), workload=found)
    own: Configuration = {"learning_rate": 0.2, "model": "mlp:64", "data": "digits:"}
    assert spec_of(request, template, own, DRAW, seed=0).workload.data == "folder:/elsewhere"
    other: Configuration = {**own, "data": "synthetic:"}
    assert spec_of(request, template, other, DRAW, seed=0).workload.data == "synthetic:"


def test_the_content_of_a_file_is_not_claimed_of_another() -> None:
    request = request_for(a_round(job=RoundJob(model="nets.py:small")))
    workload = WorkloadSpec(model="nets.py:small", source_sha256="abc")
    template = msgspec.structs.replace(template_for(request), workload=workload)
    for model, content in (("nets.py:large", "abc"), ("others.py:small", None), ("mlp:64", None)):
        spec = spec_of(request, template, {"learning_rate": 0.2, "model": model}, DRAW, seed=0)
        assert (spec.workload.model, spec.workload.source_sha256) == (model, content)


def test_a_job_of_the_users_own_gets_all_values_as_arguments() -> None:
    request = request_for(a_round(job=RoundJob(function="train.py:run")))
    spec = spec_of(request, template_for(request), {"anything": 3, "model.x": "a"}, DRAW, seed=5)
    assert (spec.kind, spec.workload.model, spec.recipe) == ("job", "train.py:run", None)
    assert spec.workload.arguments == {"anything": 3, "model.x": "a"}
    assert (spec.seed, spec.settings.device) == (5, "cuda")
