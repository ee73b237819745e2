"""`switches` from request to answer, on a simulated machine whose effects are known."""

from pathlib import Path
from typing import Any

import pytest

import traindyno
from traindyno.app.context import Context
from traindyno.app.resume import resume
from traindyno.app.study import stops_study
from traindyno.app.switches import switch_names
from traindyno.core.answers import SwitchesAnswer
from traindyno.core.errors import UsageError
from traindyno.core.events import Event, TrialFinished
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure, Settings, TrialRecord, TrialSpec, WorkloadSpec

MODEL = "torchvision:resnet50"


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "studies.db")


def switches(store: str, profile: str = "", **options: Any) -> SwitchesAnswer:
    return traindyno.switches(MODEL, runner=f"simulated:{profile}", store=store, **options)


def test_the_planted_combination_is_found_although_its_parts_gain_nothing_alone(store: str) -> None:
    answer = switches(store, batch_size=256)
    assert {"precision": "bf16", "memory_format": "channels_last", "compile": "default"}.items() <= (
        answer.recommended.items()
    )
    assert answer.speedup > 2.1
    assert answer.simulated


def test_at_a_small_batch_it_is_the_launching_that_pays(store: str) -> None:
    answer = switches(store, batch_size=16)
    assert answer.recommended["compile"] == "reduce-overhead"
    assert answer.speedup > 3


def test_fp16_is_the_fastest_there_and_spoils_the_loss(store: str) -> None:
    answer = switches(store, batch_size=256, only=["precision", "memory_format"])
    spoilt = next(effect for effect in answer.effects if effect.value == "fp16")
    assert spoilt.loss_agrees is False
    assert answer.recommended["precision"] == "bf16"


def test_compiling_is_slow_the_first_time_and_then_on_disk(store: str) -> None:
    answer = switches(store, batch_size=256, only=["compile"], combine=False)
    compiled = next(effect for effect in answer.effects if effect.value == "default")
    assert compiled.warm_up_seconds == pytest.approx(30, rel=0.05)
    assert compiled.warm_up_seconds_again == pytest.approx(3, rel=0.05)
    assert compiled.pays_back_after_steps is not None
    assert compiled.pays_back_after_steps > 1000


def test_what_does_not_fit_in_pairs_is_measured_all_the_same(store: str) -> None:
    answer = switches(store, "limit=300", batch_size=256, only=["compile", "activation_checkpointing"])
    assert answer.recommended == {"compile": "default"}
    assert answer.speedup == pytest.approx(1 / 0.85, rel=0.02)


def test_a_baseline_that_is_not_the_default_is_what_is_compared_with(store: str) -> None:
    answer = switches(store, batch_size=256, precision="bf16", memory_format="channels_last", only=["precision"])
    assert answer.baseline["precision"] == "bf16"
    assert answer.recommended == {}
    assert next(effect for effect in answer.effects if effect.value == "fp32").ratio == pytest.approx(0.51, abs=0.02)


def test_a_study_that_was_stopped_is_resumed_and_ends_as_if_it_had_not_been(store: str) -> None:
    options = {"batch_size": 256, "only": ["precision", "memory_format"]}
    events: list[Event] = []
    whole = switches(store, name="whole", on_event=events.append, **options)
    trials = finished(events)
    seen: list[Event] = []

    def stop(event: Event) -> None:
        seen.append(event)
        if finished(seen) == 9:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        switches(store, name="cut", on_event=stop, **options)
    again: list[Event] = []
    answer = resume("cut", Context(store=store, emit=again.append)).answer
    assert finished(again) == trials - 9
    assert answer.recommended == whole.recommended
    assert answer.speedup == whole.speedup


def finished(events: list[Event]) -> int:
    return sum(isinstance(event, TrialFinished) for event in events)


def test_an_unknown_switch_is_refused_before_anything_is_written(store: str) -> None:
    with pytest.raises(traindyno.TraindynoError, match="no switch 'precison'"):
        switches(store, skip=["precison"])
    assert not Path(store).exists()


def test_switches_named_that_do_not_apply_are_refused_with_their_reasons(store: str) -> None:
    with pytest.raises(UsageError) as caught:
        switches(store, mode="infer", only=["threads", "accumulation_steps", "precision"])
    assert "threads does not apply here: " in caught.value.message
    assert "accumulation_steps does not apply here: inference" in caught.value.message
    assert "precision" in (caught.value.hint or "")
    assert "threads" not in (caught.value.hint or "")


def test_a_switch_may_be_named_by_a_text_alone(store: str) -> None:
    answer = switches(store, only="memory-format", repeats=1, combine=False, check_losses=False)
    assert {effect.switch for effect in answer.effects} == {"memory_format"}


@pytest.mark.parametrize("nothing", ["", " , "])
def test_to_try_only_nothing_is_refused(nothing: str) -> None:
    with pytest.raises(UsageError, match="no switch is named"):
        switch_names([nothing])
    assert switch_names([]) == ()


def test_max_autotune_has_an_option_of_its_own(store: str) -> None:
    with pytest.raises(UsageError, match="max_autotune is a way to compile") as caught:
        switches(store, only=["max-autotune"])
    assert "`max_autotune`" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "at least one example"),
        ({"batch_size": 8, "accumulation_steps": 3}, "3 equal parts"),
        ({"mode": "infer", "read_metrics": True}, "read_metrics only matters in training"),
    ],
)
def test_a_baseline_without_sense_is_refused_before_anything_is_written(
    store: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        switches(store, **options)
    assert not Path(store).exists()


def test_a_baseline_that_does_not_run_is_the_study_s_error(store: str) -> None:
    with pytest.raises(traindyno.TraindynoError, match="baseline itself does not run"):
        switches(store, "limit=100", batch_size=256, only=["precision"])


@pytest.mark.parametrize(("arm", "stops"), [("candidate", False), ("baseline", True)])
def test_code_that_breaks_with_the_candidate_s_settings_alone_does_not_end_the_study(arm: str, stops: bool) -> None:
    why = Failure(outcome=Outcome.USER_ERROR, message="view size is not compatible", remedy="", details={"arm": arm})
    settings = Settings(batch_size=8)
    spec = TrialSpec(kind="pair", workload=WorkloadSpec(model=MODEL), settings=settings, against=settings)
    assert stops_study(TrialRecord(spec=spec, outcome=Outcome.USER_ERROR, seconds=1.0, failure=why)) is stops
