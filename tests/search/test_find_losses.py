"""What losses that differ leave of a search: what goes, what is asked again, and how much time they may take."""

import msgspec
import pytest

from search.simulated_find import COMPUTE_BOUND, answer_of, goal_of, search
from search.test_find import spoiled
from traindyno.core.records import Settings, TrialRecord

ON_CPU = Settings(batch_size=256, device="cpu")
ON_GPU = Settings(batch_size=256, device="simulated")


def bf16_gains(record: TrialRecord) -> TrialRecord:
    """Half as fast again with bf16, and then losses that are worse."""
    told, against = record.measurement, record.spec.against
    if told is None or told.pair is None or against is None:
        return spoiled(record)
    if (record.spec.settings.precision, against.precision) != ("bf16", "fp32"):
        return record
    candidate = msgspec.structs.replace(told.pair.candidate, step_seconds=told.pair.baseline.step_seconds / 1.5)
    pair = msgspec.structs.replace(told.pair, candidate=candidate, ratio=1.5, ci95=(1.45, 1.55))
    return msgspec.structs.replace(record, measurement=msgspec.structs.replace(told, pair=pair))


@pytest.mark.parametrize("settings", [ON_CPU, ON_GPU], ids=["before precision", "beside it"])
def test_a_layout_is_tried_in_full_precision_once(settings: Settings) -> None:
    """On a CPU that is before lower precision was held. Where both came in together, it must pay without it."""
    history = search(goal_of(settings), COMPUTE_BOUND, tamper=bf16_gains)
    assert any(each.spec.kind == "losses" and each.spec.settings.precision == "bf16" for each in history)
    pairs = [each.spec for each in history if each.spec.against is not None]
    in_full = [each for each in pairs if {each.settings.precision, each.against.precision} == {"fp32"}]
    assert len([each for each in in_full if each.settings.memory_format != each.against.memory_format]) == 1


def test_what_was_measured_before_losses_differed_keeps_its_number() -> None:
    goal = goal_of(ON_CPU, budget_seconds=60.0)
    attempts = answer_of(goal, search(goal, COMPUTE_BOUND, tamper=bf16_gains)).attempts
    (told,) = [each for each in attempts if each.change == "memory_format=channels_last"]
    assert (told.trials, told.outcome) == (1, "not faster")
