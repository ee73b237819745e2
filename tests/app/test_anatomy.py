"""`anatomy` from request to answer, on simulated machines whose costs are known."""

from pathlib import Path
from typing import Any

import pytest

import traindyno
from traindyno.app.library import study_document
from traindyno.core.answers import AnatomyAnswer
from traindyno.core.errors import UsageError
from traindyno.core.events import Event, TrialFinished

DATA, MODEL = "folder:/data/train", "torchvision:resnet50"


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "studies.db")


def anatomy(store: str, profile: str = "", **options: Any) -> AnatomyAnswer:
    return traindyno.anatomy(MODEL, runner=f"simulated:{profile}", store=store, **options)


def test_the_phases_of_a_step_are_found_and_add_up_to_it(store: str) -> None:
    answer = anatomy(store)
    assert {"load", "transfer", "forward", "backward", "optimizer", "other"} == set(answer.phases)
    assert answer.phases["backward"].share > answer.phases["forward"].share > answer.phases["optimizer"].share
    assert answer.coverage > 0.97
    assert answer.bound == "compute-bound"
    assert answer.simulated


def test_inference_is_a_forward_pass(store: str) -> None:
    answer = anatomy(store, mode="infer")
    assert "backward" not in answer.phases
    assert answer.phases["forward"].share > 0.8


def test_small_batches_are_launch_bound_and_large_ones_are_not(store: str) -> None:
    answer = anatomy(store, batch_size="1..256")
    bounds = {size.batch_size: size.bound for size in answer.sizes}
    assert list(bounds) == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    assert (bounds[1], bounds[256]) == ("launch-bound", "compute-bound")
    assert answer.batch_size == 256
    assert answer.sizes[0].idle_share is not None
    assert answer.sizes[0].idle_share > 0.5


def test_a_loader_that_cannot_keep_up_makes_it_data_bound(store: str) -> None:
    slow, fast = (anatomy(store, data=DATA, num_workers=workers, batch_size=64) for workers in (1, 8))
    assert slow.bound == "data-bound"
    assert slow.stall_seconds > fast.stall_seconds
    assert slow.stall_seconds / slow.step_seconds == pytest.approx(slow.phases["load"].share)


def test_named_data_is_loaded_unless_finished_batches_are_asked_for(store: str) -> None:
    events: list[Event] = []
    anatomy(store, data=DATA, repeats=1, on_event=events.append)
    anatomy(store, data=DATA, repeats=1, from_loader=False, on_event=events.append)
    anatomy(store, repeats=1, on_event=events.append)
    fed = [event.record.spec.feed.supply for event in events if isinstance(event, TrialFinished)]
    assert fed == ["loader", "cached", "cached"]


def test_slow_copies_make_it_transfer_bound_until_they_are_pinned(store: str) -> None:
    profile = "transfer_seconds=0.0002"
    assert anatomy(store, profile).bound == "transfer-bound"
    assert anatomy(store, profile, pin_memory=True).bound != "transfer-bound"


def test_a_size_that_does_not_fit_is_left_out_and_named(store: str) -> None:
    answer = anatomy(store, "limit=100", batch_size=[8, 64, 128])
    assert [size.batch_size for size in answer.sizes] == [8, 64]
    assert answer.batch_size == 64
    assert any("Batch 128 is left out: it does not fit in memory" in verdict for verdict in answer.verdicts)


def test_settings_of_every_kind_reach_the_trials(store: str) -> None:
    events: list[Event] = []
    anatomy(
        store, repeats=1, memory_format="channels_last", compile="default", precision="bf16", num_workers=2,
        on_event=events.append,
    )  # fmt: skip
    (finished,) = [event for event in events if isinstance(event, TrialFinished)]
    settings = finished.record.spec.settings
    assert (settings.memory_format, settings.compile, settings.precision, settings.num_workers) == (
        "channels_last", "default", "bf16", 2,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"from_loader": True}, "there is nothing to load"),
        ({"trace": "steps.json"}, "simulated steps leave no trace"),
        ({"batch_size": "16..max"}, "sizes that are named"),
        ({"batch_size": 0}, "a batch size of 0"),
        ({"compile": "fast"}, "compile"),
        ({"batch_size": [8, 12], "accumulation_steps": 8}, "a batch of 12 cannot be computed in 8 equal parts"),
        ({"mode": "infer", "activation_checkpointing": True}, "only matters in training"),
        ({"memory_fromat": "channels_last"}, "there is no option memory_fromat"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(store: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(traindyno.TraindynoError, match=message) as caught:
        anatomy(store, **options)
    assert caught.value.hint
    assert not Path(store).exists()


def test_a_trace_that_cannot_be_written_is_refused_before_anything_runs(tmp_path: Path, store: str) -> None:
    with pytest.raises(traindyno.TraindynoError, match="is a directory") as caught:
        traindyno.anatomy(MODEL, store=store, trace=str(tmp_path), device="cpu")
    assert "trace.json" in (caught.value.hint or "")


def test_a_trace_is_called_json(tmp_path: Path, store: str) -> None:
    with pytest.raises(UsageError, match=r"trace\.txt is no name of a trace") as caught:
        traindyno.anatomy(MODEL, store=store, trace=str(tmp_path / "trace.txt"), device="cpu")
    assert ".json.gz" in (caught.value.hint or "")


def test_workers_without_a_loader_are_warned_of(store: str) -> None:
    anatomy(store, repeats=1, num_workers=1, name="alone")
    anatomy(store, repeats=1, num_workers=1, data=DATA, name="loaded")
    alone, loaded = (study_document(name, store).warnings for name in ("alone", "loaded"))
    assert "--workers: 1 worker changes nothing here, for no loader feeds the steps." in alone
    assert not any("--workers" in warning for warning in loaded)
