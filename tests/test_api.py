"""The Python API gives the answers of the command line."""

import inspect
from pathlib import Path
from typing import Any

import pytest

import traindyno
from traindyno.core.answers import FindAnswer, MaxBatchAnswer, PlanAnswer, ThroughputAnswer
from traindyno.core.errors import UsageError
from traindyno.core.events import Event, TrialFinished


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "studies.db")


def test_max_batch_returns_the_answer(store: str) -> None:
    answer = traindyno.max_batch("torchvision:resnet50", runner="simulated:limit=300", store=store, exact=True)
    assert isinstance(answer, MaxBatchAnswer)
    assert answer.max_batch == 300
    assert answer.simulated


def test_several_models_return_several_answers(store: str) -> None:
    answers = traindyno.max_batch(["torchvision:resnet18", "torchvision:resnet50"], runner="simulated", store=store)
    assert isinstance(answers, tuple)
    assert [answer.model for answer in answers] == ["torchvision:resnet18", "torchvision:resnet50"]


def test_throughput_and_plan_work_together(store: str) -> None:
    events: list[Event] = []
    curve = traindyno.throughput(
        "torchvision:resnet50", batch_size=[64, 128], runner="simulated", store=store, name="c", on_event=events.append
    )
    assert isinstance(curve, ThroughputAnswer)
    assert [point.batch_size for point in curve.curve] == [64, 128]
    assert sum(isinstance(event, TrialFinished) for event in events) == 6
    plan = traindyno.plan(from_study="c", examples=1000, epochs=1, store=store)
    assert isinstance(plan, PlanAnswer)
    assert plan.fastest in (64, 128)


def test_compare_sets_two_studies_side_by_side(store: str) -> None:
    for name, size in (("a", 224), ("b", 112)):
        traindyno.throughput(
            "torchvision:resnet50", batch_size="64", image_size=size, runner="simulated", store=store, name=name
        )
    answer = traindyno.compare("a", "b", store=store)
    assert any("image size" in difference for difference in answer.unlike)


def test_a_model_object_is_refused_with_the_way_out(store: str) -> None:
    with pytest.raises(traindyno.TraindynoError, match="cannot be rebuilt") as caught:
        traindyno.throughput(object(), store=store)  # type: ignore[arg-type]
    assert "file.py:function" in (caught.value.hint or "")


def test_a_dataset_object_is_refused_with_the_way_out(store: str) -> None:
    with pytest.raises(traindyno.TraindynoError, match="data of type dict cannot be rebuilt") as caught:
        traindyno.find("mlp:16", {"a": 1}, store=store)  # type: ignore[arg-type]
    assert "traindyno.Workload" in (caught.value.hint or "")


def test_an_unknown_option_is_refused_by_name(store: str) -> None:
    with pytest.raises(traindyno.TraindynoError, match="there is no option batch_sizes") as refused:
        traindyno.accuracy("mlp:64", data="digits:", learning_rate=0.1, batch_sizes="16,32", runner="simulated")
    assert refused.value.hint == "did you mean batch_size?"
    with pytest.raises(traindyno.TraindynoError, match="there is no option bach"):
        traindyno.throughput("torchvision:resnet50", bach=3, store=store)


def test_importing_the_package_imports_nothing_heavy() -> None:
    import subprocess
    import sys

    code = "import sys, traindyno; traindyno.Workload; assert not {'torch', 'numpy', 'rich'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_expected_length_of_a_study_counts_the_models_before(store: str) -> None:
    events: list[Event] = []
    models = ["torchvision:resnet18", "torchvision:resnet50"]
    traindyno.max_batch(models, runner="simulated", store=store, on_event=events.append)
    finished = [event for event in events if isinstance(event, TrialFinished)]
    first_of_second = next(event for event in finished if event.record.spec.workload.model == models[1])
    assert first_of_second.expected_trials > first_of_second.ordinal


@pytest.mark.parametrize(
    "options",
    [
        {"time_budget_seconds": "10s"},
        {"repeats": "3"},
        {"image_size": "32"},
        {"precision": "fp8"},
        {"choose": "bigest"},
    ],
)
def test_a_value_of_the_wrong_type_is_refused_before_anything_is_measured(
    store: str, options: dict[str, object]
) -> None:
    with pytest.raises(traindyno.TraindynoError, match="wrong value"):
        traindyno.throughput("torchvision:resnet50", batch_size=4, runner="simulated", store=store, **options)
    assert not Path(store).exists()


RESNET = "torchvision:resnet50"


def refused(store: str, function: str, *names: str, **options: Any) -> tuple[str, str]:
    """The message and the hint of a function that has written nothing."""
    with pytest.raises(UsageError) as caught:
        getattr(traindyno, function)(*names, store=store, **{"runner": "simulated", **options})
    assert not Path(store).exists()
    return caught.value.message, caught.value.hint or ""


@pytest.mark.parametrize(
    ("function", "options", "hint"),
    [
        ("anatomy", {"mode": "foo"}, "mode is one of 'infer', 'train'; see help(traindyno.anatomy)"),
        ("max_batch", {"mode": "foo"}, "mode is one of 'infer', 'train'; see help(traindyno.max_batch)"),
        ("find", {"precision": "fp8"}, "precision is one of 'bf16', 'fp16', 'fp32'; see help(traindyno.find)"),
        ("switches", {"memory_format": "x"}, "memory_format is one of 'channels_last', 'contiguous'"),
        ("soak", {"seed": "3"}, "see help(traindyno.soak)"),
    ],
)
def test_a_wrong_value_is_told_with_its_name_what_is_allowed_and_who_was_asked(
    store: str, function: str, options: dict[str, Any], hint: str
) -> None:
    (name,) = options
    message, told = refused(store, function, RESNET, **options)
    assert message.startswith(f"{name} has a wrong value: ")
    assert hint in told


@pytest.mark.parametrize("function", ["throughput", "anatomy", "switches", "find"])
def test_no_repeats_are_refused(store: str, function: str) -> None:
    message, hint = refused(store, function, RESNET, repeats=0)
    assert message == "repeats of 0 cannot be meant"
    assert hint == f"repeats is a whole number from 1 on; see help(traindyno.{function})"


def test_the_curve_of_a_plan_is_checked_in_the_name_of_the_plan(store: str) -> None:
    message, hint = refused(store, "plan", RESNET, examples=9, epochs=1, repeats=0)
    assert message == "repeats of 0 cannot be meant"
    assert hint.endswith("see help(traindyno.plan)")


@pytest.mark.parametrize("repeats", [0, 1])
def test_a_verification_needs_two_rounds(store: str, tmp_path: Path, repeats: int) -> None:
    file = tmp_path / "best.toml"
    quick_find(str(tmp_path / "other.db"), settings_file=file)
    message, hint = refused(store, "verify", str(file), repeats=repeats)
    assert message == f"repeats of {repeats} cannot be meant"
    assert "from 2 on; see help(traindyno.verify)" in hint


@pytest.mark.parametrize(
    "options",
    [
        {"memory_limit_bytes": -3},
        {"step_timeout_seconds": -3},
        {"trial_timeout_seconds": 0},
        {"memory_limit_bytes": 0},
        {"memory_limit_bytes": 2**63},
        {"time_budget_seconds": -3},
        {"time_budget_seconds": 0},
        {"time_budget_seconds": float("nan")},
        {"seed": -1},
        {"seed": 2**63},
        {"limit": 0},
        {"tolerance": -1},
        {"classes": 1},
        {"conv1_stride": 3},
    ],
)
def test_numbers_that_the_command_line_refuses_are_refused_by_name(store: str, options: dict[str, Any]) -> None:
    ((name, value),) = options.items()
    message, hint = refused(store, "max_batch", RESNET, **options)
    assert message == f"{name} of {value} cannot be meant"
    assert hint.startswith(f"{name} is ")


def test_a_round_and_its_proof_refuse_such_numbers_too(store: str) -> None:
    for function in ("run_round", "adopt_round"):
        message, hint = refused(store, function, "depth", time_budget_seconds=-3)
        assert message == "time_budget_seconds of -3 cannot be meant"
        assert hint.endswith(f"see help(traindyno.{function})")


def test_the_page_about_the_api_has_every_name_and_every_argument_of_find() -> None:
    page = Path(__file__).parents[1].joinpath("docs", "python-api.md").read_text()
    assert not [name for name in traindyno.__all__ if f"`traindyno.{name}" not in page]
    table = page.partition("| argument of `find` |")[2].partition("\n\n")[0]
    common = {"store", "name", "on_event", "options"}
    assert not [
        name for name in inspect.signature(traindyno.find).parameters if name not in common and f"`{name}`" not in table
    ]


def test_a_margin_above_one_is_refused(store: str) -> None:
    with pytest.raises(traindyno.TraindynoError, match="no share of memory"):
        traindyno.max_batch("torchvision:resnet50", margin=5, runner="simulated", store=store)


@pytest.mark.parametrize("price", [float("nan"), float("inf"), -1.0])
def test_what_nothing_can_cost_is_refused_as_a_price_before_anything_is_measured(store: str, price: float) -> None:
    model, job = "torchvision:resnet50", {"examples": 1000, "epochs": 1}
    with pytest.raises(traindyno.TraindynoError, match="is not a price"):
        traindyno.plan(model, price_per_hour=price, runner="simulated", store=store, **job)
    for name in ("price_per_hour", "price_per_kwh"):
        with pytest.raises(traindyno.TraindynoError, match="is not a price"):
            traindyno.soak(model, runner="simulated", store=store, **{name: price})
    assert not Path(store).exists()


@pytest.mark.parametrize("amount", [float("nan"), float("inf"), -1.0, 0])
def test_trials_of_no_length_are_refused_before_anything_is_measured(store: str, amount: float) -> None:
    for ask in (traindyno.throughput, traindyno.find):
        with pytest.raises(traindyno.TraindynoError, match=f"trial_seconds of {amount} cannot be meant"):
            ask("torchvision:resnet50", batch_size=4, trial_seconds=amount, runner="simulated", store=store)
    with pytest.raises(traindyno.TraindynoError, match=f"trial_seconds of {amount} cannot be meant"):
        traindyno.plan(
            "torchvision:resnet50", examples=9, epochs=1, trial_seconds=amount, runner="simulated", store=store
        )
    assert not Path(store).exists()


def quick_find(store: str, **options: Any) -> FindAnswer:
    known = {"data": "folder:somewhere", "time_budget_seconds": 60.0, "repeats": 1, "runner": "simulated"}
    return traindyno.find("torchvision:resnet50", store=store, **{**known, **options})


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"num_workers": -1}, "less than none"),
        ({"prefetch_factor": 0}, "prefetch factor of 0"),
        ({"epoch_examples": 0}, "epoch_examples of 0"),
        ({"settings_file": "/no/such/folder/best.toml"}, "the directory of"),
    ],
)
def test_find_refuses_what_cannot_be_meant_before_anything_is_measured(
    store: str, option: dict[str, Any], message: str
) -> None:
    with pytest.raises(traindyno.TraindynoError, match=message):
        quick_find(store, **option)
    assert not Path(store).exists()


def test_another_source_may_be_named_alone(store: str) -> None:
    alone, listed = (quick_find(store, also=also) for also in ("memory:", ["memory:"]))
    assert alone.recommended == listed.recommended


def test_an_answer_is_not_lost_with_the_file_that_it_could_not_be_written_to(store: str, tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()

    def remove(event: Event) -> None:
        if folder.exists():
            folder.rmdir()

    with pytest.warns(UserWarning, match=r"best\.toml could not be written.*traindyno report") as warned:
        answer = quick_find(store, settings_file=folder / "best.toml", on_event=remove)
    assert isinstance(answer, FindAnswer)
    assert warned[0].filename == __file__
