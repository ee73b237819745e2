"""What turns of a group say: the stall of a slow rank is its own, and only what is left is communication."""

import pytest

from traindyno.core.scaling import Turn
from traindyno.worker.ranks.summary import difference_interval
from traindyno.worker.ranks.turns import TurnReading, judged, turn_of


def reading(together: float, alone: float) -> TurnReading:
    return TurnReading(10, Turn(together=together, alone=alone, mean=alone), (alone, alone), (0.0, 0.0))


def test_a_slow_rank_makes_the_step_without_communication_as_long_as_its_own():
    turn = turn_of([0.050, 0.052], [[0.010, 0.010], [0.048, 0.050]])
    assert turn.together == 0.052
    assert turn.alone == pytest.approx(0.049)
    assert turn.mean == pytest.approx(0.0295)


def test_ranks_that_stall_in_turn_cost_each_others_time_and_not_communication():
    turn = turn_of([0.030, 0.030], [[0.010, 0.030], [0.030, 0.010]])
    assert turn.alone == pytest.approx(0.030)
    assert turn.mean == pytest.approx(0.020)


def test_batches_that_were_loaded_while_a_rank_waited_are_not_waited_for_again():
    """Two ranks whose two workers deliver by twos, at other times: lockstep costs them hardly more than alone."""
    work, burst = 0.001, 0.1
    early = [burst * (1 + step // 2) for step in range(20)]
    late = [burst * ((1 + step) // 2) for step in range(20)]
    alone = [
        [after - before for before, after in zip([0.0, *ends], ends, strict=False)]
        for ends in map(_ends, (early, late))
    ]
    turn = turn_of([0.05, 0.05], alone, [early, late])
    assert turn.alone == pytest.approx((early[-1] + 2 * work) / 20, rel=0.01)
    assert turn_of([0.05, 0.05], alone).alone > 1.8 * turn.alone


def test_a_rank_that_computes_slowly_is_charged_with_it_whenever_its_batches_came():
    alone, at_once = [[0.010] * 4, [0.050] * 4], [[0.0] * 4, [0.0] * 4]
    assert turn_of([0.06, 0.06], alone, at_once).alone == pytest.approx(0.050)


def _ends(arrivals: list[float], work: float = 0.001) -> list[float]:
    ends, done = [], 0.0
    for arrived in arrivals:
        done = max(done, arrived) + work
        ends.append(done)
    return ends


def test_as_many_turns_of_either_order_count():
    taken = judged([reading(0.02, 0.01) for _ in range(9)])
    assert taken.steady_from == 0
    assert len(taken.counted) == 8


def test_a_group_that_is_never_steady_is_told_by_its_later_turns():
    taken = judged([reading(0.01 * 2**number, 0.01) for number in range(8)])
    assert taken.steady_from is None
    assert [each.turn.together for each in taken.counted] == [0.01 * 2**number for number in range(4, 8)]


def test_turns_are_precise_only_when_communication_is_known_too():
    known = judged([reading(0.02, 0.01) for _ in range(10)])
    assert known.precise(0.01)
    unknown = judged([reading(0.02, 0.01 if number % 2 else 0.0101) for number in range(10)])
    wide = judged([reading(0.02, 0.01 if number % 3 else 0.013) for number in range(12)])
    assert unknown.precise(0.01)
    assert not wide.precise(0.001)


def test_what_communication_adds_may_come_out_below_nothing():
    low, high = difference_interval([-0.001, 0.0, 0.001])
    assert low < 0 < high
    assert difference_interval([-0.002, -0.001, 0.0, 0.0, 0.001, 0.002]) == (-0.002, 0.002)
