"""What learning curves say: overfitting, runs too short or too long, and ends that are luck."""

import math
from collections.abc import Callable, Sequence
from functools import partial

import msgspec
import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.rounds.conclude_cases import DEPTH, LOSS, RATE, a_round, a_run
from traindyno.analysis.rounds.curve_shapes import noise_of, shape_of
from traindyno.analysis.rounds.curves import curve_checks
from traindyno.core.answers.rounds import Check
from traindyno.core.rounds import CurvePlace, Ending, RoundJob, RoundTrial

SHARES = [place / 20 for place in range(1, 21)]


def settled(share: float) -> float:
    """It learns fast at first, and is done long before its end but not in its first half."""
    return 0.9 * (1 - math.exp(-6 * share))


def a_curve(
    value: Callable[[float], float] = settled,
    loss: Callable[[float], float] = lambda share: 2 * math.exp(-4 * share),
    training: Callable[[float], float] = lambda share: 2 * math.exp(-4 * share),
    noise: float = 0.0,
    shares: Sequence[float] = SHARES,
) -> tuple[CurvePlace, ...]:
    random = numpy.random.default_rng(1)
    return tuple(
        CurvePlace(
            share=share,
            value=value(share) + float(random.normal(0, noise)),
            loss=loss(share),
            training_loss=training(share),
        )
        for share in shares
    )


def with_curves(*curves: Sequence[CurvePlace], arm: str = "mlp:64", ending: Ending = "ok") -> list[RoundTrial]:
    return [
        msgspec.structs.replace(
            a_run(curve[-1].value, {"model": arm, "learning_rate": 0.1}, index=index, arm=arm),
            curve=tuple(curve),
            ending=ending,
        )
        for index, curve in enumerate(curves)
    ]


def checked(name: str, runs: Sequence[RoundTrial]) -> Check:
    return next(check for check in curve_checks(a_round(DEPTH, RATE), runs) if check.name == name)


def test_a_plain_curve_has_nothing_to_warn_of() -> None:
    checks = curve_checks(a_round(DEPTH, RATE), with_curves(*[a_curve()] * 3))
    assert {check.state for check in checks} == {"passed"}


def test_a_loss_that_rises_again_while_the_training_loss_falls_is_overfitting() -> None:
    curve = a_curve(loss=lambda share: 1 + (share - 0.4) ** 2)
    check = checked("overfitting", with_curves(curve, curve, curve))
    assert check.state == "warning"
    assert "40 %" in check.text
    assert "weight_decay" in (check.next_step or "")


def test_a_loss_that_rises_together_with_the_training_loss_is_none() -> None:
    curve = a_curve(loss=lambda share: 1 + (share - 0.4) ** 2, training=lambda share: 1 + (share - 0.4) ** 2)
    assert checked("overfitting", with_curves(curve)).state == "passed"


def test_a_loss_that_only_swings_is_none() -> None:
    def swinging(share: float) -> float:
        """Up and down by as much each time, and a little further down in the middle of the run."""
        return 1 + math.exp(-20 * share) + (0.02 if round(20 * share) % 2 else -0.02) - 0.005 * (share == 0.5)

    assert checked("overfitting", with_curves(a_curve(loss=swinging))).state == "passed"


def test_what_one_of_three_runs_shows_is_not_said_of_the_arm() -> None:
    overfit = a_curve(loss=lambda share: 1 + (share - 0.4) ** 2)
    assert checked("overfitting", with_curves(overfit, a_curve(), a_curve())).state == "passed"
    assert checked("overfitting", with_curves(overfit, overfit, a_curve())).state == "warning"


def test_runs_that_still_improve_are_to_be_longer() -> None:
    check = checked("run length", with_curves(a_curve(lambda share: 0.9 * share)))
    assert check.state == "warning"
    assert "still improve" in check.text
    assert "epochs = 15" in (check.next_step or "")


def slope(way: float, share: float) -> float:
    return 2 + way * share


def test_a_loss_still_improves_when_it_falls() -> None:
    round_ = a_round(DEPTH, RATE, metric=LOSS)
    falling, rising = (with_curves(a_curve(partial(slope, way))) for way in (-1, 1))
    states = [next(c.state for c in curve_checks(round_, runs) if c.name == "run length") for runs in (falling, rising)]
    assert states == ["warning", "passed"]


def test_runs_that_are_done_early_may_be_shorter() -> None:
    check = checked("run length", with_curves(a_curve(lambda share: min(0.9, 4 * share))))
    assert check.state == "passed"
    assert "25 %" in check.text
    assert "Shorter" in (check.next_step or "")
    later = checked("run length", with_curves(a_curve(lambda share: min(0.9, 1.5 * share))))
    assert (later.state, later.next_step) == ("passed", None)


def test_runs_that_were_better_before_their_end_are_told_with_when() -> None:
    check = checked("best step", with_curves(a_curve(lambda share: 0.9 - (share - 0.3) ** 2)))
    assert check.state == "warning"
    assert "30 %" in check.text


def test_swings_larger_than_what_arms_differ_by_are_told() -> None:
    rough = [a_curve(noise=0.03)] * 3
    close = [*with_curves(*rough), *with_curves(a_curve(lambda share: settled(share) - 0.01), arm="mlp:64x64")]
    apart = [*with_curves(*rough), *with_curves(a_curve(lambda share: settled(share) / 2), arm="mlp:64x64")]
    assert checked("late swings", close).state == "warning"
    assert checked("late swings", apart).state == "passed"


def test_a_job_of_the_users_own_is_not_told_to_set_a_schedule_it_does_not_have() -> None:
    falling = a_curve(lambda share: 0.9 - (share - 0.3) ** 2, noise=0.03)
    runs = [*with_curves(*[falling] * 3), *with_curves(*[falling] * 3, arm="mlp:64x64")]
    round_ = a_round(DEPTH, RATE)
    own = msgspec.structs.replace(round_, job=RoundJob(function="train.py:run"))
    for job, has_schedule in ((round_, True), (own, False)):
        steps = [
            check.next_step or "" for check in curve_checks(job, runs) if check.name in ("best step", "late swings")
        ]
        assert [("cosine" in step, "decay" in step) for step in steps] == [(has_schedule, True)] * 2


def test_runs_that_were_ended_early_say_nothing_of_ends() -> None:
    rising = a_curve(lambda share: 0.9 * share)
    checks = curve_checks(a_round(DEPTH, RATE), with_curves(rising, ending="pruned"))
    assert [(check.name, check.state) for check in checks] == [("curves", "unknown")]


def test_few_evaluations_say_nothing() -> None:
    runs = with_curves(a_curve(shares=(0.5, 1.0)))
    assert [check.state for check in curve_checks(a_round(DEPTH, RATE), runs)] == ["unknown"]


def test_noise_is_not_taken_for_a_trend() -> None:
    random = numpy.random.default_rng(3)
    found = 0
    for _ in range(200):
        curve = [CurvePlace(share=share, value=settled(share) + float(random.normal(0, 0.03))) for share in SHARES]
        shape = shape_of(curve, 1.0)
        found += shape is not None and shape.improving is not None
    assert found <= 20


@given(values=st.lists(st.floats(-1, 1), min_size=6, max_size=30), constant=st.floats(-10, 10))
def test_a_shape_does_not_depend_on_where_zero_is_or_which_way_is_better(
    values: Sequence[float], constant: float
) -> None:
    values = [round(value, 3) for value in values]
    curve = [CurvePlace(share=(place + 1) / len(values), value=value) for place, value in enumerate(values)]
    turned = [msgspec.structs.replace(place, value=-place.value) for place in curve]
    assert shape_of(curve, 1.0) == shape_of(turned, -1.0)
    moved = [msgspec.structs.replace(place, value=place.value + constant) for place in curve]
    plain, other = shape_of(curve, 1.0), shape_of(moved, 1.0)
    assert plain is not None
    assert other is not None
    assert other.swing == pytest.approx(plain.swing, abs=1e-9)


def test_the_noise_of_a_curve_is_that_around_it() -> None:
    random = numpy.random.default_rng(0)
    assert noise_of([settled(place / 400) + float(random.normal(0, 0.02)) for place in range(400)]) == pytest.approx(
        0.02, rel=0.15
    )
