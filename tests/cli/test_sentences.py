"""The line about one trial: what was tried, and figures that agree with each other."""

from typing import Any

import msgspec
import pytest

from traindyno.cli.sentences import describe_progress, describe_record, describe_spec
from traindyno.core.events import TrialProgress
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Arm, Measurement, Memory, Pair, Settings, TrialRecord, TrialSpec, WorkloadSpec

BASELINE = Settings(batch_size=8, device="cuda:0")


def spec(**changes: Any) -> TrialSpec:
    made = TrialSpec(kind="pair", workload=WorkloadSpec(model="torchvision:resnet50"), settings=BASELINE)
    return msgspec.structs.replace(made, **changes)


def measurement(step_seconds: float, ci95: tuple[float, float], pair: Pair | None = None) -> Measurement:
    return Measurement(
        batch_size=8, steps=10, step_seconds=step_seconds, ci95=ci95, steady=True, blocks=(), pair=pair,
        memory=Memory(peak_bytes=2**30), start_up_seconds=1.0, first_step_seconds=1.0, warm_up_seconds=1.0,
        warm_up_steps=3,
    )  # fmt: skip


def told(made: Measurement, **changes: Any) -> str:
    return describe_record(TrialRecord(spec=spec(**changes), outcome=Outcome.OK, seconds=1.0, measurement=made))


def pair(ratio: float, ci95: tuple[float, float], baseline: float, candidate: float) -> Pair:
    one, other = (
        Arm(
            step_seconds=seconds, ci95=(seconds, seconds), steady=True, memory=Memory(peak_bytes=2**30),
            start_up_seconds=1.0, first_step_seconds=1.0, warm_up_seconds=1.0, warm_up_steps=3,
        )
        for seconds in (baseline, candidate)
    )  # fmt: skip
    return Pair(baseline=one, candidate=other, turns=((baseline, candidate),), ratio=ratio, ci95=ci95)


def test_the_times_of_a_pair_have_the_ratio_that_is_told() -> None:
    taken = pair(1.25, (1.2, 1.3), 0.5, 0.49)
    assert told(measurement(0.49, (0.4, 0.6), taken)) == "1.250× as fast ± 4.0%, 400 ms/step against 500 ms"


@pytest.mark.parametrize(
    ("high", "words"), [(0.11, " ± 5.0%,"), (3.9, " ± over 100 %,"), (float("inf"), "80.0 examples/s,")]
)
def test_an_interval_wider_than_its_value_has_no_figure(high: float, words: str) -> None:
    assert words in told(measurement(0.1, (0.1, high)), kind="speed")


def test_a_very_wide_ratio_has_no_figure_either() -> None:
    assert "± over 100 %" in told(measurement(0.4, (0.4, 0.4), pair(1.2, (0.01, 20.0), 0.5, 0.4)))


def test_what_is_tried_on_top_of_something_says_on_what() -> None:
    held = msgspec.structs.replace(BASELINE, precision="bf16")
    both = msgspec.structs.replace(held, compile="default")
    assert describe_spec(spec(settings=both, against=held)) == "batch 8, compile=default on precision=bf16"
    assert describe_spec(spec(settings=held, against=BASELINE)) == "batch 8, precision=bf16"


@pytest.mark.parametrize(
    ("steps", "planned", "words"), [(0, None, "steps"), (1, None, "steps, 1 step"), (1, 9, "steps, 1 of 9 steps")]
)
def test_steps_are_counted_in_words(steps: int, planned: int | None, words: str) -> None:
    assert describe_progress(TrialProgress(phase="steps", steps=steps, seconds=1.0, planned_steps=planned)) == words
