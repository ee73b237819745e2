"""What turns of a group say: the stall of a slow rank is its own, and only what is left is communication."""

import pytest

from traindyno.core.scaling import Turn
from traindyno.worker.devices import CpuDevice
from traindyno.worker.ranks.figures import difference_of, figure_of
from traindyno.worker.ranks.step_times import Arrival, waited
from traindyno.worker.ranks.summary import rank_reading
from traindyno.worker.ranks.turns import TurnReading, enough, judged, turn_of


def reading(together: float, alone: float, waits: tuple[float, float] = (0.0, 0.0)) -> TurnReading:
    """Two ranks alike; `waits` are those without communication and with it."""
    without, beside = waits
    turn = Turn(together=together, alone=alone, mean=alone)
    return TurnReading(10, turn, (alone, alone), (without, without), (beside, beside))


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


def test_turns_that_look_precise_once_are_not_enough():
    turns = [reading(0.0203, 0.01), *(reading(0.02, 0.01) for _ in range(9))]
    assert judged(turns[:9]).precise(0.01), "the first no longer counts"
    assert not enough(judged(turns[:9]), 0.01)
    assert enough(judged([reading(0.02, 0.01) for _ in range(9)]), 0.01)


def test_what_communication_adds_may_come_out_below_nothing():
    _, (low, high) = difference_of([-0.001, 0.0, 0.001], fed=False)
    assert low < 0 < high
    assert difference_of([-0.002, -0.001, 0.0, 0.0, 0.001, 0.002], fed=False) == (0.0, (-0.002, 0.002))
    fed, (low, high) = difference_of([-0.003, -0.002, -0.001], fed=True)
    assert fed - low == pytest.approx(high - fed)
    assert low < fed == pytest.approx(-0.002)


def test_a_late_batch_in_one_block_of_five_counts_where_loaders_feed_the_ranks():
    """The median says 10 ms, and an epoch takes 10.8 ms for each of its steps."""
    blocks = [0.010, 0.010, 0.010, 0.010, 0.01415] * 4
    fed, (low, high) = figure_of(blocks, fed=True)
    assert fed == pytest.approx(0.01083)
    assert low < fed < high
    assert figure_of(blocks, fed=False)[0] == 0.010


def test_a_fed_group_is_not_called_precise_for_its_middle_block():
    turns = [reading(0.02 if number % 5 else 0.03, 0.01) for number in range(20)]
    assert judged(turns, fed=False).precise(0.01)
    assert not judged(turns, fed=True).precise(0.01)


def test_of_a_fed_group_all_turns_but_the_first_fifth_count_however_slow():
    turns = [reading(0.02 if number < 6 else 0.03, 0.01) for number in range(10)]
    assert len(judged(turns, fed=True).counted) == 8
    assert figure_of([each.turn.together for each in judged(turns, fed=True).counted], fed=True)[0] == pytest.approx(
        0.025
    )


def test_a_rank_tells_what_it_waits_for_its_batches_with_communication_apart_from_without():
    taken = judged([reading(0.1, 0.1, waits=(0.04, 0.0))] * 9 + [reading(0.1, 0.1, waits=(0.04, 0.008))], fed=True)
    told = rank_reading(taken, 0, "here", CpuDevice(), CpuDevice().memory())
    assert told.load_seconds == pytest.approx(0.04)
    assert told.together_load_seconds == pytest.approx(0.001)
    resident = rank_reading(judged(taken.readings), 0, "here", CpuDevice(), CpuDevice().memory())
    assert (resident.load_seconds, resident.together_load_seconds) == (None, None)


def arrivals(*times: float, waited: float = 1.0) -> list[Arrival]:
    return [Arrival(at, waited) for at in times]


def test_a_batch_that_comes_while_the_device_still_computes_is_not_waited_for():
    assert waited([0.1, 0.1], arrivals(0.0, 0.09)) == 0
    assert waited([0.1, 0.14], arrivals(0.0, 0.14)) == pytest.approx(0.02)
    assert waited([0.1, 0.14], arrivals(0.0, 0.14), last=1) == pytest.approx(0.04)
    assert waited([0.1, 0.1], []) == 0


def test_what_a_batch_takes_to_the_device_is_not_waiting_for_the_loader():
    assert waited([0.1, 0.105], arrivals(0.0, 0.105, waited=0.0)) == 0
