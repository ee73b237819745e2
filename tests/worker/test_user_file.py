"""From `file.py:function` to a workload, and the mistakes on the way."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from torch import nn

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.records import WorkloadSpec
from traindyno.worker.job import build_job
from traindyno.worker.models import unknown_family
from traindyno.worker.tracebacks import own_traceback
from traindyno.worker.user_file import build_model, kind_of, load_workload
from traindyno.worker.workload import Workload

SOURCE = """
import torch
from torch import nn
from traindyno import Workload

def plain():
    return nn.Linear(3, 2)

def workload():
    return Workload(plain, example_input=torch.zeros(3))

def number():
    return 42

def needs(model_size, depth=2):
    return nn.Linear(model_size, depth)

def broken():
    raise KeyError("my own bug")

def sized(width=4, depth=1):
    return nn.Sequential(*[nn.Linear(width, width) for _ in range(depth)])

def takes_all(**sizes):
    return nn.Linear(sizes["width"], 1)

def without_names(width, /):
    return nn.Linear(width, 1)

finished = nn.Linear(1, 1)

class Net(nn.Linear):
    def __init__(self):
        super().__init__(3, 4)
"""


@pytest.fixture(autouse=True)
def _own_imports(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Importing a user's file changes the search path and the table of modules, as in a trial of its own."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my_job.py"
    path.write_text(SOURCE)
    return path


def test_a_function_that_returns_a_model_makes_a_workload(file: Path) -> None:
    workload = load_workload(f"{file}:plain")
    assert isinstance(build_model(workload), nn.Linear)
    assert workload.example_input is None


def test_a_function_that_returns_a_workload_is_taken_as_it_is(file: Path) -> None:
    workload = load_workload(f"{file}:workload")
    assert workload.example_input.shape == (3,)
    assert isinstance(build_model(workload), nn.Linear)


def test_a_class_of_models_serves_as_function(file: Path) -> None:
    assert type(load_workload(f"{file}:Net").model).__name__ == "Net"


def test_a_path_is_relative_to_the_current_folder(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    assert isinstance(load_workload("my_job.py:plain"), Workload)


def test_a_file_imports_its_neighbours(file: Path) -> None:
    (file.parent / "neighbour_of_my_job.py").write_text("WIDTH = 5")
    file.write_text("from neighbour_of_my_job import WIDTH\nfrom torch import nn\ndef f(): return nn.Linear(WIDTH, 1)")
    model = build_model(load_workload(f"{file}:f"))
    assert isinstance(model, nn.Linear)
    assert model.in_features == 5


def test_a_file_named_like_a_loaded_module_does_not_replace_it(tmp_path: Path) -> None:
    path = tmp_path / "json.py"
    path.write_text(SOURCE)
    json = sys.modules["json"]
    assert isinstance(load_workload(f"{path}:plain"), Workload)
    assert sys.modules["json"] is json


def test_dataclasses_with_text_annotations_work_in_the_file(file: Path) -> None:
    file.write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom torch import nn\n"
        "@dataclass\nclass C:\n    width: int = 2\ndef f(): return nn.Linear(C().width, 1)\n"
    )
    assert isinstance(load_workload(f"{file}:f"), Workload)


def test_what_the_function_raises_passes_through(file: Path) -> None:
    with pytest.raises(KeyError, match="my own bug"):
        load_workload(f"{file}:broken")


def test_what_importing_the_file_raises_passes_through(file: Path) -> None:
    file.write_text("1 / 0")
    with pytest.raises(ZeroDivisionError):
        load_workload(f"{file}:plain")


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        load_workload(f"{tmp_path}/nowhere.py:plain")


def test_a_file_without_function_shows_the_form(file: Path) -> None:
    with pytest.raises(UsageError, match="no function in it") as raised:
        load_workload(str(file))
    assert str(raised.value.hint).endswith("my_job.py:FUNCTION")


def test_a_name_that_cannot_be_one_is_a_usage_error(file: Path) -> None:
    with pytest.raises(UsageError, match="not the name of a function"):
        load_workload(f"{file}:plain()")


def test_a_missing_function_lists_those_that_the_file_defines_before_what_it_imports(file: Path) -> None:
    with pytest.raises(UsageError) as refusal:
        load_workload(f"{file}:xxxxxxxx")
    assert str(refusal.value.hint).startswith("it has plain, workload, number")


def test_a_missing_function_lists_the_nearest(file: Path) -> None:
    with pytest.raises(UsageError, match="no function 'workloat'") as raised:
        load_workload(f"{file}:workloat")
    assert "workload" in str(raised.value.hint)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("number", "returned an int"),
        ("needs", "requires arguments .model_size"),
        ("finished", "not a function"),
    ],
)
def test_what_is_no_workload_is_an_error_with_a_hint(file: Path, name: str, message: str) -> None:
    with pytest.raises(TraindynoError, match=message) as raised:
        load_workload(f"{file}:{name}")
    assert raised.value.hint


@pytest.mark.parametrize("model", [3, lambda: 3])
def test_a_workload_whose_model_is_none_is_an_error(model: object) -> None:
    with pytest.raises(TraindynoError, match="the workload's model is an int"):
        build_model(Workload(model))  # type: ignore[arg-type]


def test_a_file_that_changed_since_the_study_began_is_not_run(tmp_path: Path) -> None:
    path = tmp_path / "job.py"
    path.write_text("raise AssertionError('it ran')\n")
    with pytest.raises(TraindynoError, match="has changed since the study began"):
        load_workload(f"{path}:build", source_sha256="0" * 64)


def test_arguments_reach_the_function_by_their_names(file: Path) -> None:
    model = build_model(load_workload(f"{file}:sized", arguments={"depth": 3}))
    assert len(list(model.children())) == 3
    assert build_model(load_workload(f"{file}:needs", arguments={"model_size": 7})).in_features == 7
    assert build_model(load_workload(f"{file}:takes_all", arguments={"width": 5})).in_features == 5


def test_an_argument_that_the_function_does_not_take_names_the_nearest_that_it_does(file: Path) -> None:
    with pytest.raises(UsageError, match="sized takes no argument 'dept'") as raised:
        load_workload(f"{file}:sized", arguments={"dept": 3})
    assert raised.value.hint == "did you mean depth? It takes width, depth"


@pytest.mark.parametrize("name", ["plain", "without_names"])
def test_arguments_are_refused_by_what_takes_none_by_name(file: Path, name: str) -> None:
    with pytest.raises(UsageError, match="takes no argument 'width'") as raised:
        load_workload(f"{file}:{name}", arguments={"width": 3})
    assert raised.value.hint == "It takes none"


def test_arguments_that_are_still_missing_are_named_beside_those_given(file: Path) -> None:
    with pytest.raises(TraindynoError, match="requires arguments") as raised:
        load_workload(f"{file}:needs", arguments={"depth": 3})
    assert "(model_size)" in raised.value.message
    assert "called with depth alone" in str(raised.value.hint)


def test_a_trial_builds_the_model_that_its_arguments_describe(file: Path) -> None:
    job = build_job(WorkloadSpec(model=f"{file}:sized", arguments={"depth": 2, "width": 3}))
    assert [layer.weight.shape for layer in job.model.children()] == [(3, 3), (3, 3)]


def test_a_module_in_place_of_its_file_is_guessed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text("")
    monkeypatch.chdir(tmp_path)
    assert str(unknown_family("mine:job").hint).startswith("did you mean mine.py:job?")


def test_what_was_returned_instead_is_named_with_its_article() -> None:
    assert [kind_of(value) for value in (None, 3, [], object())] == ["None", "an int", "a list", "an object"]


def test_a_file_that_is_no_python_is_shown_without_the_frames_of_the_import(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def f(:\n")
    with pytest.raises(SyntaxError) as raised:
        load_workload(f"{tmp_path}/broken.py:f")
    error = raised.value
    assert error.__traceback__ is not None
    told, place = own_traceback(error.with_traceback(error.__traceback__.tb_next))
    assert place == f"{tmp_path}/broken.py:1"
    assert "def f(:" in told
    assert "importlib" not in told
