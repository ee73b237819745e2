"""Ratios over pairs, with intervals that cover the variation between processes."""

import math
import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.fake_switches import arm
from traindyno.analysis.switch_candidates import Candidate
from traindyno.analysis.switch_choice import choose
from traindyno.analysis.switch_effects import (
    effect_of,
    is_calm,
    is_noisy,
    memory_ratio,
    pair_apart,
    pooled_spread,
)
from traindyno.analysis.switch_findings import Findings, Tried
from traindyno.analysis.switch_losses import check_loss, final_loss, loss_fall, loss_spread
from traindyno.core.records import Arm, Block, Measurement, Memory, Pair

SWITCHES = 16


def pair(ratio: float, half: float = 1e-4, base: float = 0.1) -> Pair:
    ends = (ratio * math.exp(-half), ratio * math.exp(half)) if half < math.inf else (0.0, math.inf)
    return Pair(baseline=arm(base), candidate=arm(base / ratio), turns=(), ratio=ratio, ci95=ends)


def simulated_study(chance: random.Random, pairs: int, between: float) -> list[list[Pair]]:
    """Switches that all do nothing; blocks are far more precise than processes are alike."""
    return [[pair(math.exp(chance.gauss(0, between))) for _ in range(pairs)] for _ in range(SWITCHES)]


@pytest.mark.parametrize("pairs", [2, 3])
def test_intervals_hold_the_truth_about_95_times_in_100_although_each_switch_has_few_pairs(pairs: int) -> None:
    chance = random.Random(pairs)
    held = []
    for _ in range(250):
        study = simulated_study(chance, pairs, between=0.02)
        spread = pooled_spread(study)
        held += [low <= 1.0 <= high for low, high in (effect_of(each, spread)[1] for each in study)]
    assert 0.93 <= sum(held) / len(held) <= 0.98


def test_a_noisy_switch_among_calm_ones_is_rarely_taken_for_faster_after_its_third_pair() -> None:
    chance = random.Random(5)
    faster = calm_held = 0
    for _ in range(400):
        calm = [[pair(math.exp(chance.gauss(0, 0.002))) for _ in range(2)] for _ in range(15)]
        noisy = [pair(math.exp(chance.gauss(0, 0.02))) for _ in range(2)]
        if is_noisy(noisy, pooled_spread([*calm, noisy])):
            noisy.append(pair(math.exp(chance.gauss(0, 0.02))))
        spread = pooled_spread([*calm, noisy])
        faster += effect_of(noisy, spread)[1][0] > 1.0
        low, high = effect_of(calm[0], spread)[1]
        calm_held += low <= 1.0 <= high
    assert faster / 400 < 0.14, "without its own interval it is in a quarter of all cases"
    assert calm_held / 400 > 0.93


def test_a_lone_pair_of_a_noisy_switch_has_that_switch_s_spread() -> None:
    calm = [[pair(1.0), pair(1.001)], [pair(1.0), pair(0.999)], [pair(1.0), pair(1.0)]] * 3
    noisy = [pair(0.95), pair(1.05), pair(1.0)]
    spread = pooled_spread([*calm, noisy])
    assert effect_of([pair(1.05)], spread)[1][0] > 1.0
    assert effect_of([pair(1.05)], spread, kin=[calm[0]])[1][0] > 1.0
    assert effect_of([pair(1.05)], spread, kin=[noisy])[1][0] < 1.0


@pytest.mark.parametrize("between", [0.002, 0.05])
def test_three_pairs_with_a_noisy_kin_tell_by_themselves_and_hold_the_truth(between: float) -> None:
    """As a graph of bf16, which launched kernel by kernel is noisy; also where the graph is as noisy."""
    chance = random.Random(7)
    held, widths = 0, []
    for _ in range(1500):
        calm = [[pair(math.exp(chance.gauss(0, 0.002))) for _ in range(2)] for _ in range(15)]
        noisy = [pair(3.5 * math.exp(error)) for error in (-0.07, 0.06, 0.0)]
        fresh = [pair(8.3 * math.exp(chance.gauss(0, between))) for _ in range(3)]
        spread = pooled_spread([*calm, noisy, fresh])
        low, high = effect_of(fresh, spread, kin=[noisy])[1]
        held += low <= 8.3 <= high
        widths.append(high / low)
        low, high = effect_of(fresh[:2], spread, kin=[noisy])[1]
        assert high / low > 1.1, "two do not tell by themselves"
    assert held / 1500 > 0.935
    if between == 0.002:
        assert sorted(widths)[len(widths) // 2] < 1.02


@pytest.mark.parametrize(("between", "least"), [(0.003, 0.935), (0.03, 0.935), (0.1, 0.925)])
def test_calm_pairs_among_restless_ones_are_judged_by_themselves_and_hold_the_truth(
    between: float, least: float
) -> None:
    """As where the host limits all but what runs as a graph; and where they differ as much as others all the same."""
    chance = random.Random(3)
    held, gains = 0, 0
    for _ in range(1500):
        restless = [[pair(math.exp(chance.gauss(0, 0.1)), half=0.1) for _ in range(2)] for _ in range(15)]
        calm = [pair(1.03 * math.exp(chance.gauss(0, between)), half=0.003) for _ in range(3)]
        assert is_calm(calm, [each for group in restless for each in group])
        spread = pooled_spread([*restless, calm])
        low, high = effect_of(calm, spread, calm=True)[1]
        held += low <= 1.03 <= high
        gains += low > 1.0
        assert effect_of(calm[:2], spread, calm=True) == effect_of(calm[:2], spread)
    assert held / 1500 > least
    if between == 0.003:
        assert gains / 1500 > 0.9


def test_pairs_are_calm_only_if_all_are_and_others_are_there_to_compare_with() -> None:
    restless = [pair(1.0, half=0.1), pair(1.0, half=0.08), pair(1.0, half=0.12)]
    assert is_calm([pair(1.0, half=0.02)], restless)
    assert not is_calm([pair(1.0, half=0.02), pair(1.0, half=0.05)], restless)
    assert not is_calm([pair(1.0, half=math.inf)], restless)
    assert not is_calm([pair(1.0, half=0.02)], [])
    assert not is_calm([pair(1.0, half=0.02)], [pair(1.0, half=math.inf)])


def test_a_lone_calm_pair_still_has_the_spread_of_the_others() -> None:
    spread = pooled_spread([[pair(1.0, half=0.1), pair(1.1, half=0.1)], [pair(1.0, half=0.1), pair(0.95, half=0.1)]])
    assert effect_of([pair(1.05)], spread, calm=True) == effect_of([pair(1.05)], spread)


def test_processes_that_ran_apart_are_not_pooled_with_pairs_that_took_turns() -> None:
    turns = [Tried(pairs=(pair(1.0), pair(1.0 + 0.0005 * number))) for number in range(8)]
    apart = Tried(pairs=(pair(1.02), pair(1.05)), apart=True)
    found = tuple(Candidate(switch="threads", value=number) for number in range(9))
    findings = Findings(candidates=found, singles=dict(zip(found, [*turns, apart], strict=True)))
    effects = [findings.effect(candidate) for candidate in found]
    assert all(effect is not None and effect[1][1] < 1.02 for effect in effects[:-1])
    assert effects[-1] is not None
    assert effects[-1][1][0] < 1.0, "two of their kind say little"


def test_a_single_switch_replaces_the_combination_only_if_it_is_shown_to_be_faster() -> None:
    """Each member was shown to gain on top of the others; one disturbed pair must not overrule that."""
    single, other, *rest = (Candidate(switch="threads", value=number) for number in range(10))
    usual = Tried(pairs=(pair(0.91), pair(1.11)))
    found = Findings(candidates=(single, other, *rest), singles=dict.fromkeys(rest, usual), members=(single, other))
    found.singles |= {single: Tried(pairs=(pair(1.5), pair(2.4))), other: usual}
    found.finals = {(single, other): Tried(pairs=(pair(1.7), pair(1.72)))}
    alone = found.effect(single)
    assert alone is not None
    assert alone[0] > 1.72
    assert choose(found).members == (single, other)
    found.dropped = other
    assert choose(found).members == (single,), "what is left of a combination was compared with nothing"
    found.dropped, found.singles[single] = None, Tried(pairs=(pair(4.0), pair(4.1)))
    assert choose(found).members == (single,)


def test_one_disturbed_pair_widens_its_own_interval_and_no_other() -> None:
    chance = random.Random(0)
    study = simulated_study(chance, 2, between=0.005)
    disturbed = [[pair(0.3), study[0][1]], *study[1:]]
    for calm, spread in ((study[1], pooled_spread(disturbed)), (study[2], pooled_spread(disturbed))):
        low, high = effect_of(calm, spread)[1]
        assert high / low < 1.05
    low, high = effect_of(disturbed[0], pooled_spread(disturbed))[1]
    assert low <= 0.31
    assert high >= 0.99


def test_a_lone_pair_has_the_spread_that_the_other_switches_show() -> None:
    spread = pooled_spread([[pair(1.0), pair(1.05)], [pair(0.97), pair(1.0)]])
    low, high = effect_of([pair(1.1)], spread)[1]
    assert low < 1.0 < 1.1 < high


def test_with_one_pair_each_the_interval_is_that_of_the_pair_s_own_blocks() -> None:
    ratio, (low, high) = effect_of([pair(1.2, half=0.05)], pooled_spread([[pair(1.2)], [pair(0.9)]]))
    assert ratio == pytest.approx(1.2)
    assert low == pytest.approx(1.2 * math.exp(-0.05))
    assert high == pytest.approx(1.2 * math.exp(0.05))


def test_blocks_that_vary_widen_an_interval_that_chance_made_narrow() -> None:
    same = [pair(1.3, half=0.1), pair(1.3, half=0.1)]
    low, high = effect_of(same, pooled_spread([same]))[1]
    assert math.log(high / low) / 2 == pytest.approx(0.1 / math.sqrt(2))


def test_a_pair_too_short_for_an_interval_leaves_everything_open() -> None:
    assert effect_of([pair(2.0, half=math.inf)], pooled_spread([]))[1] == (0.0, math.inf)


@given(st.lists(st.floats(0.2, 5.0), min_size=1, max_size=6), st.floats(1e-6, 0.5))
def test_the_ratio_lies_in_its_interval_and_turning_arms_round_turns_it_round(ratios: list[float], half: float) -> None:
    there = [pair(ratio, half) for ratio in ratios]
    back = [pair(1 / ratio, half) for ratio in ratios]
    ratio, (low, high) = effect_of(there, pooled_spread([there]))
    _, (back_low, back_high) = effect_of(back, pooled_spread([back]))
    assert 0 <= low <= ratio <= high
    if low > 0:
        assert back_low == pytest.approx(1 / high, rel=1e-6)
        assert back_high == pytest.approx(1 / low, rel=1e-6)


def measurement(step_seconds: float, half: float) -> Measurement:
    return Measurement(
        batch_size=8,
        steps=10,
        step_seconds=step_seconds,
        ci95=(step_seconds * (1 - half), step_seconds * (1 + half)),
        steady=True,
        blocks=(Block(steps=1, seconds=step_seconds),),
        memory=Memory(peak_bytes=10),
        start_up_seconds=1.0,
        first_step_seconds=step_seconds,
        warm_up_seconds=0.0,
        warm_up_steps=0,
    )


def test_two_fresh_processes_make_a_pair_whose_ratio_is_above_1_where_the_candidate_is_faster() -> None:
    apart = pair_apart(measurement(0.2, 0.01), measurement(0.1, 0.01))
    assert apart.ratio == pytest.approx(2.0)
    assert apart.ci95[0] < 2.0 < apart.ci95[1]
    assert apart.baseline.step_seconds == 0.2


def test_memory_is_compared_at_the_peaks() -> None:
    taken = Pair(
        baseline=arm(0.1, peak_bytes=1000), candidate=arm(0.1, peak_bytes=600), turns=(), ratio=1.0, ci95=(1.0, 1.0)
    )
    assert memory_ratio([taken]) == 0.6


def reserving(reserved_bytes: int | None) -> Arm:
    memory = Memory(peak_bytes=1000, peak_reserved_bytes=reserved_bytes)
    return msgspec.structs.replace(arm(0.1), memory=memory)


def test_on_a_gpu_memory_is_what_the_allocator_took_from_the_device() -> None:
    graphed = Pair(baseline=reserving(1200), candidate=reserving(2400), turns=(), ratio=1.0, ci95=(1.0, 1.0))
    assert memory_ratio([graphed]) == 2.0
    unknown = msgspec.structs.replace(graphed, baseline=reserving(None))
    assert memory_ratio([unknown]) == 1.0


def test_a_loss_agrees_if_it_is_no_further_off_at_the_same_seed_than_seeds_are_apart() -> None:
    finals = [0.5, 0.62, 0.41]
    assert loss_spread(finals) == pytest.approx(0.21)
    assert check_loss(finals, [0.7]).agrees
    assert check_loss(finals, [0.72]).agrees is False
    assert check_loss(finals, [0.28]).agrees is False
    assert check_loss(finals, [math.nan]).agrees is False


def test_a_loss_that_differs_at_one_seed_may_agree_over_all_of_them() -> None:
    finals = [0.5, 0.62, 0.41]
    assert check_loss(finals, [0.8, 0.5, 0.45]).agrees
    assert check_loss(finals, [0.8, 0.9, 0.7]).agrees is False
    assert check_loss(finals, [0.8, 0.5, math.nan]).agrees is False


def test_near_zero_a_hundredth_of_what_the_loss_fell_means_nothing() -> None:
    finals = [0.0159, 0.0159, 0.0166]
    assert check_loss(finals, [0.019]).agrees is False
    assert check_loss(finals, [0.019], fall=7.0).agrees
    assert check_loss(finals, [0.2], fall=7.0).agrees is False
    assert loss_fall([7.0] + [0.5] * 20) == pytest.approx(6.5)
    assert loss_fall([1.0] + [2.0] * 20) == 0.0


def test_without_the_baseline_s_losses_nothing_is_said_about_a_loss() -> None:
    for finals in ([0.5, 0.6], [0.5, math.nan, 0.6]):
        assert check_loss(finals, [0.5]).agrees is None


def test_the_final_loss_is_that_of_the_last_steps_not_of_the_last_one() -> None:
    assert final_loss([9.0] * 90 + [1.0] * 9 + [2.0]) == pytest.approx(1.1)
    assert math.isnan(final_loss([]))
