"""When runs are ended early: by the middle of their arm at half of the way, and never harder than that."""

from collections.abc import Sequence
from typing import Any

from search.rounds.fake_round import RATE, a_round, ran, request_for, template_for
from traindyno.core.records import TrialRecord
from traindyno.core.rounds import Draw, RoundJob, RoundMetric
from traindyno.search.rounds.floors import floors_for
from traindyno.search.rounds.specs import spec_of

PRUNED = a_round(RATE, prune=True)


def runs(ends: Sequence[float], arm: str = "", phase: Any = "search", **learnt: Any) -> list[TrialRecord]:
    request = request_for(PRUNED)
    draws = [Draw(phase=phase, arm=arm, index=index, values={}) for index in range(len(ends))]
    specs = [spec_of(request, template_for(request), {"learning_rate": 0.1}, draw, 0) for draw in draws]
    return [ran(spec, lambda _, end=end: end, **learnt) for spec, end in zip(specs, ends, strict=True)]


def test_the_floor_is_the_middle_of_the_arms_runs_half_way() -> None:
    (floor,) = floors_for(PRUNED, "", runs([0.9, 0.1, 0.5, 0.8, 0.7]))
    assert floor.examples == 1280
    assert floor.metric == "accuracy"
    assert floor.value == 0.7 / 2, "half of its end, as the curve rises evenly"


def test_of_an_even_number_the_lower_middle_counts() -> None:
    (floor,) = floors_for(PRUNED, "", runs([0.9, 0.1, 0.5, 0.8, 0.7, 0.6]))
    assert floor.value == 0.6 / 2


def test_a_loss_has_its_floor_above() -> None:
    by_loss = a_round(RATE, prune=True, metric=RoundMetric(name="loss", higher_is_better=False))
    (floor,) = floors_for(by_loss, "", runs([0.5] * 5))
    assert (floor.metric, floor.value) == ("loss", 1.5)


def test_other_arms_the_gate_and_runs_that_diverged_do_not_count() -> None:
    four = runs([0.5] * 4)
    for others in (runs([0.9] * 5, arm="other"), runs([0.9] * 5, phase="gate"), runs([0.9] * 5, diverged=True)):
        assert floors_for(PRUNED, "", [*four, *others]) == ()


def test_runs_that_were_ended_early_keep_the_floor_from_rising() -> None:
    whole = runs([0.8, 0.8, 0.9, 0.9, 0.9])
    ended = runs([0.2] * 4, pruned=True)
    (alone,), (together,) = floors_for(PRUNED, "", whole), floors_for(PRUNED, "", [*whole, *ended])
    assert together.value < alone.value
    assert floors_for(PRUNED, "", ended * 3) == (), "five must have come to their end"


def test_no_floor_where_none_is_asked_for_or_none_can_be_told() -> None:
    five = runs([0.5] * 5)
    assert floors_for(a_round(RATE), "", five) == ()
    assert floors_for(a_round(RATE, prune=True, job=RoundJob(function="t.py:f")), "", five) == ()
