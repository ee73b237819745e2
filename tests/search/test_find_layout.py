"""A model whose inputs and weights have no four dimensions: nothing to lay out, and so no layout to try."""

from collections.abc import Callable

import msgspec
import pytest

from search.simulated_find import COMPUTE_BOUND, answer_of, goal_of, search
from traindyno.core.records import Settings, TrialRecord

ON_CPU, ON_GPU = Settings(batch_size=256, device="cpu"), Settings(batch_size=256, device="simulated")


def told(has_images: bool | None, faster: str = "bf16") -> Callable[[TrialRecord], TrialRecord]:
    """A machine that says so, on which pairs show this precision half as fast again, and any other slower."""

    def tell(record: TrialRecord) -> TrialRecord:
        measurement, against = record.measurement, record.spec.against
        if measurement is None:
            return record
        measurement = msgspec.structs.replace(measurement, has_images=has_images)
        if measurement.pair is not None and against is not None and against.precision == "fp32":
            gains = {"fp32": 1.0, faster: 1.5}.get(record.spec.settings.precision, 0.8)
            ratio = 0.97 if gains == 1.0 else gains
            pair = msgspec.structs.replace(measurement.pair, ratio=ratio, ci95=(0.99 * ratio, 1.01 * ratio))
            measurement = msgspec.structs.replace(measurement, pair=pair)
        return msgspec.structs.replace(record, measurement=measurement)

    return tell


def layouts(history: list[TrialRecord]) -> set[str]:
    return {each.memory_format for record in history for each in (record.spec.settings, record.spec.against) if each}


@pytest.mark.parametrize("has_data", [True, False])
@pytest.mark.parametrize("settings", [ON_CPU, ON_GPU], ids=["CPU", "GPU"])
def test_without_images_no_layout_is_tried_and_precision_has_its_turn(settings: Settings, has_data: bool) -> None:
    goal = goal_of(settings, has_data=has_data, keep=("compile",))
    history = search(goal, COMPUTE_BOUND, tamper=told(False))
    assert layouts(history) == {"contiguous"}
    found = answer_of(goal, history)
    (said,) = [each for each in found.attempts if "memory_format" in each.change]
    assert (said.change, said.trials) == ("memory_format=channels_last", 0)
    assert said.outcome == "not tried: neither an input nor a weight has four dimensions"
    (alone,) = [each for each in found.attempts if each.change == "precision=bf16" and each.trials]
    assert alone.ratio is not None


@pytest.mark.parametrize("has_images", [True, None])
@pytest.mark.parametrize("settings", [ON_CPU, ON_GPU], ids=["CPU", "GPU"])
def test_where_there_are_images_or_nobody_told_a_layout_is_tried(settings: Settings, has_images: bool | None) -> None:
    history = search(goal_of(settings, keep=("compile",)), COMPUTE_BOUND, tamper=told(has_images))
    assert "channels_last" in layouts(history)


def test_without_images_the_older_precision_still_takes_the_place_of_one_that_gains_nothing() -> None:
    goal = goal_of(has_data=False, keep=("compile",))
    history = search(goal, tamper=told(False, faster="fp16"))
    tried = [each.spec.settings.precision for each in history if each.spec.kind == "pair" and not each.spec.repeat]
    assert (tried.count("bf16"), tried.index("bf16") < tried.index("fp16")) == (1, True)
    assert layouts(history) == {"contiguous"}
    first, *_ = [each for each in answer_of(goal, history).attempts if each.change == "precision=fp16"]
    assert (first.trials, first.ratio) == (1, pytest.approx(1.5))


def test_a_layout_of_the_users_own_is_not_taken_back_either_where_it_does_nothing() -> None:
    own = msgspec.structs.replace(ON_GPU, memory_format="channels_last")
    history = search(goal_of(own, keep=("compile",)), COMPUTE_BOUND, tamper=told(False))
    assert layouts(history) == {"channels_last"}
